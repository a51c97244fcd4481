"""An instructor's own lesson: built, verified, released and graded like ours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.cli import main
from autograder.grading.creating.course_folder import make_course
from autograder.lessons.collection import private
from support.course import Course, files_below, make_folder
from support.exercises import write_exercises
from support.submissions import Submission, read

pytestmark = pytest.mark.long(20)

LESSON = '''\
# %% [markdown] tags=["en"]
# # A private lesson
# %% [markdown] tags=["ru"]
# # Закрытый урок
# %% tags=["en"]
from autograder import start

start("private", language="en")
# %% tags=["ru"]
from autograder import start

start("private", language="ru")
# %%
from pathlib import Path

import torch

shift = float(Path("data/shift.txt").read_text())  # a file of the lesson's own
# %% answer="slope"
def slope(x):
    """The derivative of the sum of squares of `x`."""
    ### BEGIN SOLUTION
    return 2 * x + shift
    ### END SOLUTION
# %% alternative="slope"
def slope(x):
    return x + x + shift
# %% alternative="slope"
def slope(x):
    x = x.clone().requires_grad_()
    (x**2).sum().backward()
    return x.grad + shift
# %% alternative="slope"
def slope(x):
    return torch.func.grad(lambda x: (x**2).sum() + shift * x.sum())(x)
# %% check="slope"
from autograder import check

check("slope")
'''

MODULE = """\
import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text


@exercise(
    title=Text("The slope", "Производная"),
    kind="complete",
    core=True,
    aspects=[aspect("slope", 2, en="It is the derivative.", ru="Это производная.")],
    hints=[Text("One?", "Раз?"), Text("Two?", "Два?"), Text("return ...", "return ...")],
)
def slope(answer, case):
    return {"slope": answer.slope(case.x)}


@slope.cases
def _(rng):
    yield Case(x=torch.rand(3, generator=rng, dtype=torch.float64) + 1)
"""

MISTAKES = """\
# %% mistake="forgets_the_factor" theme="derivative"
# The factor 2 is missing.
# Потерян множитель 2.
def slope(x):
    return x
"""

ANSWERS = {
    "right": "def slope(x):\n    return 2 * x + shift",
    "mistaken": "def slope(x):\n    return x + shift - shift",
    "blank": None,
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    folder = tmp_path_factory.mktemp("private") / "calculus"
    make_folder(folder)
    (folder / "lessons" / "20_private.py").write_text(LESSON, encoding="utf-8")
    write_exercises(folder, "private", {"slope": MODULE}, {"slope": MISTAKES})
    (folder / "lessons" / "20_private" / "data").mkdir(parents=True)
    (folder / "lessons" / "20_private" / "data" / "shift.txt").write_text("3.5", encoding="utf-8")
    assert main(["build", "--accept", "private", "--course", str(folder)]) == 0
    (lesson,) = private(folder).read()
    submissions = [
        Submission(name, language, {} if answer is None else {"slope": answer})
        for (name, answer), language in zip(ANSWERS.items(), ("en", "ru", "ru"))
    ]
    return Course(folder, lesson, submissions)


def test_it_passes_the_gate(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--json", "--course", str(course.folder)]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["lesson"], report["exercise"], report["solution"]) == ("private", "slope", "passed")
    assert report["mistakes"] == {"forgets_the_factor": "forgets_the_factor"}


def test_build_check_finds_what_is_stale(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--check", "--course", str(course.folder)]) == 0
    path = course.folder / "source" / course.name / "exercises" / "private" / "slope.py"
    path.write_text(MODULE + "\n", encoding="utf-8")
    assert main(["build", "--check", "--course", str(course.folder)]) == 1
    assert main(["build", "--course", str(course.folder)]) == 0
    assert path.read_text(encoding="utf-8") == MODULE
    assert capsys.readouterr().out == f"wrote {path}\n"
    assert main(["build", "--course", str(course.folder)]) == 0
    assert capsys.readouterr().out == "nothing changed\n"


def test_a_complaint_about_one_lesson_leaves_all_files_as_they_are(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("lessons", "exercises"):
        shutil.copytree(course.folder / folder, tmp_path / folder, ignore=shutil.ignore_patterns("key"))
    (tmp_path / "lessons" / "21_broken.py").write_text("# %%\n1 / 0\n", encoding="utf-8")
    write_exercises(tmp_path, "broken", {})
    before = files_below(tmp_path)
    assert main(["build", "--course", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "21_broken.py:1: this cell raises an error: ZeroDivisionError" in said
    assert said.endswith("no notebook and no key was written: mend the lines above\n")
    assert files_below(tmp_path) == before


SLIPS = {
    "another name in the call": ("lessons/20_private.py", 'check("slope")', 'check("slpoe")', "# %% check"),
    "no call at the end": ("lessons/20_private.py", 'check("slope")', "slope", "# %% check"),
    "an unknown exercise": ("lessons/20_private.py", 'alternative="slope"', 'alternative="slpoe"', "# %% alternative"),
    "an import that fails": (
        "exercises/private/slope.py",
        "import torch\n",
        "import torch\nimport no_such_module\n",
        "import no_such",
    ),
    "no Python": ("exercises/private/slope.py", "def _(rng):", "def _(rng)", "def _"),
    "no theme": ("exercises/private/mistakes/slope.py", ' theme="derivative"', "", "# %% mistake"),
}


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("command", ["build", "verify"])
def test_a_slip_is_refused_with_file_and_line(
    command: str, slip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, right, wrong, begins = SLIPS[slip]
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "20_private.py").write_text(LESSON, encoding="utf-8")
    write_exercises(tmp_path, "private", {"slope": MODULE}, {"slope": MISTAKES})
    written = (tmp_path / name).read_text(encoding="utf-8").replace(right, wrong, 1)
    (tmp_path / name).write_text(written, encoding="utf-8")
    line = next(n for n, each in enumerate(written.splitlines(), 1) if each.startswith(begins))
    (tmp_path / "lessons" / "20_private" / "data").mkdir(parents=True)
    (tmp_path / "lessons" / "20_private" / "data" / "shift.txt").write_text("3.5", encoding="utf-8")
    # As an instructor types it: from the folder above, with a relative path.
    monkeypatch.chdir(tmp_path.parent)
    assert main([command, "--course", tmp_path.name]) == 1
    said = capsys.readouterr().err
    assert f"{tmp_path.name}/{name}:{line}: " in said
    assert "Traceback" not in said


@pytest.mark.parametrize("command", ["build", "verify"])
def test_a_lesson_without_a_number_is_refused(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "private.py").write_text(LESSON, encoding="utf-8")
    assert main([command, "--course", str(tmp_path)]) == 1
    assert "private.py:1: " in (said := capsys.readouterr().err)
    assert "rename it to 50_private.py" in said


def test_it_is_released_graded_and_explained_like_ours(course: Course) -> None:
    course.release("en")
    course.release("ru")
    for submission in course.submissions:
        folder = course.folder / "submitted" / submission.student / course.name
        folder.mkdir(parents=True)
        _hand_out(course, submission.language, folder)
        nbformat.write(submission.notebook(read(course.released(submission.language))), folder / f"{course.name}.ipynb")
    # A submission that brings exercises of its own gets the instructor's.
    (folder / "exercises" / "private" / "slope.py").write_text("raise RuntimeError", encoding="utf-8")
    course.nbgrader("autograde", course.name)
    course.nbgrader("generate_feedback", course.name)

    with course.gradebook() as gradebook:
        scores = {student: gradebook.find_submission(course.name, student).score for student in ANSWERS}
    assert scores == {"right": 2, "mistaken": 0, "blank": 0}
    assert "Потерян множитель 2." in course.feedback("mistaken")
    assert "Производная" in course.feedback("blank")
    assert "The slope" in course.feedback("right")


@pytest.mark.nightly(twin="tests/authoring/test_private_lessons.py::test_it_is_released_graded_and_explained_like_ours")
@pytest.mark.usefixtures("quick_kernels")
def test_a_lesson_that_does_not_call_start_speaks_its_language(tmp_path: Path) -> None:
    folder = tmp_path / "calculus"
    make_folder(folder)
    begin, end = LESSON.index('# %% tags=["en"]\nfrom autograder import start'), LESSON.index("# %%\nfrom pathlib")
    (folder / "lessons" / "20_private.py").write_text(LESSON[:begin] + LESSON[end:], encoding="utf-8")
    write_exercises(folder, "private", {"slope": MODULE}, {"slope": MISTAKES})
    (folder / "lessons" / "20_private" / "data").mkdir(parents=True)
    (folder / "lessons" / "20_private" / "data" / "shift.txt").write_text("3.5", encoding="utf-8")
    assert main(["build", "--accept", "private", "--course", str(folder)]) == 0
    assert main(["build", "--course", str(folder)]) == 0
    (lesson,) = private(folder).read()
    course = Course(folder, lesson, [])
    course.release("en")
    course.release("ru")
    for language, state, other in (("en", "not attempted", "нет ответа"), ("ru", "нет ответа", "not attempted")):
        release = course.released(language)
        options = ["--to", "notebook", "--execute", "--allow-errors", "--output", "run"]
        subprocess.run([sys.executable, "-m", "jupyter", "nbconvert", *options, release.name], cwd=release.parent,
                       check=True, capture_output=True)  # fmt: skip
        (card,) = [
            output.data["text/html"]
            for cell in read(release.parent / "run.ipynb").cells
            if cell.cell_type == "code" and 'check("slope")' in cell.source
            for output in cell.outputs
        ]
        assert state in card
        assert other not in card


def test_learners_get_no_mistake(tmp_path: Path) -> None:
    """The lesson is built, released, checked by the learner, who reads a mistake's sentence, and graded."""
    folder = tmp_path / "calculus"
    make_folder(folder)
    (folder / "lessons" / "20_private.py").write_text(LESSON, encoding="utf-8")
    (folder / "lessons" / "20_private" / "data").mkdir(parents=True)
    (folder / "lessons" / "20_private" / "data" / "shift.txt").write_text("3.5", encoding="utf-8")
    module = MODULE.replace("float64) + 1", "float64) + LOWEST").replace(
        "from autograder.language import Text\n", "from autograder.language import Text\n\nfrom .common import LOWEST\n"
    )
    package = write_exercises(folder, "private", {"slope": module}, {"slope": MISTAKES})
    (package / "common.py").write_text("LOWEST = 1\n", encoding="utf-8")
    assert main(["build", "--accept", "private", "--course", str(folder)]) == 0
    assert main(["build", "--check", "--course", str(folder)]) == 0
    (lesson,) = private(folder).read()
    course = Course(folder, lesson)
    course.release("en")
    release = course.released("en").parent
    handed_out = {path.relative_to(release).as_posix() for path in release.rglob("*.*") if "exercises" in path.parts}
    names = ("__init__.py", "common.py", "key/slope.json", "slope.py")
    assert handed_out == {f"exercises/private/{name}" for name in names}

    learner = tmp_path / "learner"
    shutil.copytree(release, learner)
    check = f"shift = 3.5\n{ANSWERS['mistaken']}\nfrom autograder import check\nprint(check('slope'))"
    command = [sys.executable, "-c", f"from autograder import start\nstart('private')\n{check}"]
    said = subprocess.run(command, cwd=learner, capture_output=True, text=True, check=True).stdout
    assert "The factor 2 is missing." in said

    for student, answer in ANSWERS.items():
        course.hand_in(student, {} if answer is None else {"slope": answer})
    results = course.grade()
    assert {student: result["score"] for student, result in results.items()} == {"right": 2, "mistaken": 0, "blank": 0}
    assert results["mistaken"]["mistakes"] == {"slope": "forgets_the_factor"}


def _hand_out(course: Course, language: str, folder: Path) -> None:
    """Give a student the released files beside the notebook: exercise module and key, no solution."""
    release = course.released(language).parent
    beside = sorted(path.relative_to(release) for path in release.rglob("*") if path.suffix in (".py", ".json"))
    names = ("__init__.py", "key/slope.json", "slope.py")
    assert [path.as_posix() for path in beside] == [f"exercises/private/{name}" for name in names]
    beside.append(Path("data/shift.txt"))
    assert "2 * x" not in "".join((release / path).read_text(encoding="utf-8") for path in beside)
    for path in beside:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text((release / path).read_text(encoding="utf-8"), encoding="utf-8")


def test_our_lesson_is_untouched_by_private_ones(course: Course) -> None:
    before = {path: path.read_bytes() for path in (course.folder / "source").rglob("*") if path.is_file()}
    make_course(course.folder, None)
    assert {path: path.read_bytes() for path in (course.folder / "source").rglob("*") if path.is_file()} == before


def test_the_whole_lesson_of_the_guide_passes_the_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "course"
    make_folder(folder)
    guide = (folder / "lessons" / "README.md").read_text(encoding="utf-8")
    lesson, module, mistakes = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (folder / "lessons" / "20_my_lesson.py").write_text(lesson, encoding="utf-8")
    write_exercises(folder, "my_lesson", {"twice": module}, {"twice": mistakes})
    assert main(["build", "--accept", "my_lesson", "--course", str(folder)]) == 0
    assert main(["verify", "--course", str(folder), "--trials", "2"]) == 0, capsys.readouterr().err
    assert (folder / "source" / "20_my_lesson" / "20_my_lesson.ipynb").is_file()
