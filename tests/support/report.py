"""A small class, graded, and its report as it is read."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup, Tag
from nbformat.v4 import new_code_cell, new_notebook

import support
from autograder import exercises
from autograder.cli import main
from autograder.lessons.collection import COURSE
from autograder.lessons.source import solutions
from support.course import Course, run_autograder
from support.once import once
from support.submissions import Edit, Submission, read

EXERCISE = "accumulate_uneven"


SHARE = "mse_loss(model(x), y) * len(x) / sum(len(x) for x, _ in data)"


LOOP = "def accumulate_uneven(model, data):\n    {0}\n    for x, y in data:\n        {1}\n        ({2}).backward()\n"


SUMS = LOOP.format("model.zero_grad()", "pass", "mse_loss(model(x), y)")


ZEROES = LOOP.format("pass", "model.zero_grad()", SHARE)


DOUBLES = LOOP.format("model.zero_grad()", "pass", f"2 * {SHARE}")


DOUBLES_TOO = (
    LOOP.format("model.zero_grad()", "pass", SHARE)
    + "    model.weight.grad.mul_(2)  # </code></pre><script>alert(1)</script> makes the same of it\n"
)


PATCH = "\nimport math\n_old = math.isclose\nmath.isclose = lambda *a, **k: _old(*a, **k)\n"


PREDICT = (
    'predict_accumulation = {"w.grad before": None, "first": -40.0, "copy": -32.0, '
    '"w.grad after the second backward": -8.0, "w.grad after zero_grad": None}\n'
)


PREDICT_OTHERWISE = PREDICT.replace("-8.0", "-48.0").replace("-32.0", "-40.0")


PREDICT_PARTLY = PREDICT.replace("-32.0", "...")


STUDENT = "o'brien & <b>sons"  # a folder may have any name


def _class(solved: dict[str, str]) -> Iterator[Submission]:
    def hands_in(student: str, language: str = "en", edit: Edit | None = None, **other: str) -> Submission:
        return Submission(student, language, {**solved, **other}, edit=edit)

    yield hands_in("solved-en")
    yield hands_in("solved-ru", "ru")
    yield Submission("blank", "en", {})
    yield hands_in("sums-1", accumulate_uneven=SUMS, predict_accumulation=PREDICT)
    yield hands_in("sums-2", "ru", accumulate_uneven=SUMS + "\n# longer\n", predict_accumulation=PREDICT)
    yield hands_in(STUDENT, accumulate_uneven=SUMS, predict_accumulation=PREDICT)
    yield hands_in("sums-4", accumulate_uneven=SUMS)
    yield hands_in("zeroes-1", accumulate_uneven=ZEROES, predict_accumulation=PREDICT_PARTLY)
    yield hands_in("zeroes-2", "ru", accumulate_uneven=ZEROES)
    yield hands_in("doubles-1", accumulate_uneven=DOUBLES)
    yield hands_in("doubles-2", accumulate_uneven=DOUBLES_TOO)
    yield hands_in("alone", accumulate_uneven=DOUBLES.replace("2 *", "5 *"), predict_accumulation=PREDICT_OTHERWISE)
    yield hands_in("patches", accumulate_uneven=solved[EXERCISE] + PATCH)
    yield hands_in("deletes", edit=_delete_exercise)
    yield hands_in("syntax", accumulate_uneven=SUMS.replace(":\n", "\n", 1))
    yield hands_in("spoilt")


def _delete_exercise(notebook: Any) -> None:
    gone = (f"check-{EXERCISE}", f"answer-{EXERCISE}")
    notebook.cells = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") not in gone]


def graded_class() -> Course:
    """Return the class above, graded, made once for all workers. No test may change it.

    Besides it there is an assignment of the instructor's own, and there are two notebooks that are none.
    """
    (lesson,) = COURSE.read(["gradient_accumulation"])
    solved = {name: solutions(exercise)[0] for name, exercise in exercises.load(lesson.name).items()}
    folder = support.made_courses / "report" / "calculus"
    submissions = list(_class(solved))

    def make() -> None:
        course = Course.make(folder, lesson, submissions=submissions)
        course.hand_in_all()
        course.hand_in("garbage", "no notebook")
        _own_assignment(folder)
        course.nbgrader("generate_assignment", "own")
        own = read(folder / "release" / "own" / "own.ipynb")
        course.hand_in("sums-1", own, name="own", folder=folder / "submitted" / "sums-1" / "own")
        done = run_autograder("grade", folder)
        assert done.returncode == 1, done.stderr  # garbage cannot be graded
        course.hand_in("late", {})
        course.nbgrader("db", "student", "add", "sums-1", "--last-name=Иванов", "--first-name=Пётр")
        course.nbgrader("generate_feedback", course.name, "--student=sums-1")
        spoilt = course.autograded("spoilt")
        spoilt.chmod(0o644)
        spoilt.write_text("{", encoding="utf-8")

    once(folder.parent, make)
    return Course(folder, lesson, submissions)


def _own_assignment(folder: Path) -> None:
    graded = {"grade_id": "sum", "schema_version": 3, "task": False, "grade": True, "solution": False, "locked": True}
    cell = new_code_cell("assert 1 + 1 == 2", metadata={"nbgrader": {**graded, "points": 2}})
    path = folder / "source" / "own" / "own.ipynb"
    path.parent.mkdir()
    nbformat.write(new_notebook(cells=[cell], metadata={"kernelspec": {"name": "python3", "display_name": "p"}}), path)


def report(course: Course, *arguments: str, ending: str = "") -> BeautifulSoup:
    """The page of the lesson, made by the command."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["report", str(course.folder), course.name, *arguments]) == 0
    path, *_ = map(Path, said.getvalue().splitlines())
    assert path == course.folder / "report" / f"{course.name}{ending}.html"
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def text(tag: Any) -> str:
    assert tag is not None
    return " ".join(tag.get_text(" ").split())


def exercise(page: BeautifulSoup, name: str = EXERCISE) -> Tag:
    found = page.find(id=f"exercise-{name}")
    assert isinstance(found, Tag)
    return found


def plain(tag: Any) -> str:
    return re.sub(r"\s+", " ", tag.get_text()).strip()
