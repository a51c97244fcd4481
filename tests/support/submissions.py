"""Submissions as students might hand them in, and their expected points."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import linecache
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import nbformat
from nbformat.notebooknode import NotebookNode

import autograder
from autograder import exercises
from autograder.checking.exercise import Exercise
from autograder.checking.judge import judge, screen
from autograder.checking.observe import code_digest, observe
from autograder.lessons.source import Lesson, solutions
from support.exercises import mistakes_in, typed

Edit = Callable[[NotebookNode], None]

ENDLESS = "import time\nwhile True:\n    time.sleep(1)"


@dataclass(frozen=True)
class Submission:
    """One student's answers by exercise, an answer in words, and edits of the notebook."""

    student: str
    language: str
    answers: dict[str, str]
    words: str = ""
    edit: Edit | None = None
    nothing_for: tuple[str, ...] = ()  # checks that cannot be tried here (loops) or are gone: they earn nothing
    waiting: tuple[str, ...] = ()  # grade ids that wait for a person
    mistakes: dict[str, str] = field(default_factory=dict)  # by exercise

    def notebook(self, released: NotebookNode) -> NotebookNode:
        """The released notebook with all this in it."""
        made = copy.deepcopy(released)
        for cell in made.cells:
            role, _, name = cell.metadata.get("nbgrader", {}).get("grade_id", "").partition("-")
            if role == "answer" and name in self.answers:
                cell.source = self.answers[name]
            if role == "written" and self.words:
                cell.source = self.words
        if self.edit:
            self.edit(made)
        return made


def all_of(lesson: Lesson) -> list[Submission]:
    """Return submissions that are right, blank, with every mistake of the core, and with mishaps."""
    known = exercises.load(lesson.name)
    core = {name: exercise for name, exercise in known.items() if exercise.core}
    solved = {name: solutions(exercise)[0] for name, exercise in known.items()}
    return [
        Submission(
            "solved-en", "en", solved, words="Both forget half of every window.", waiting=tuple(written(lesson))
        ),
        Submission("solved-ru", "ru", solved),
        Submission("blank-en", "en", {}),
        Submission("blank-ru", "ru", {}),
        *_mistakes(core, solved),
        *_accidents(core, solved),
    ]


def written(lesson: Lesson) -> Iterator[str]:
    """Grade ids of the questions that a person grades."""
    for name, _ in lesson.with_role("written"):
        yield f"written-{name}"


def _mistakes(core: dict[str, Exercise], solved: dict[str, str]) -> Iterator[Submission]:
    """Every mistake once, each submission with at most one to an exercise and the rest of it solved."""
    count = max(15, *(len(mistakes_in(exercise).cells) for exercise in core.values()))
    made: list[dict[str, str]] = [{} for _ in range(count)]
    for shift, (name, exercise) in enumerate(core.items()):
        for number, mistake in enumerate(mistakes_in(exercise).cells):
            made[(number + 3 * shift) % count][name] = mistake
    for number, mistakes in enumerate(made):
        answers = {name: _use_mistake(core[name], mistake, solved[name]) for name, mistake in mistakes.items()}
        yield Submission(f"mistakes-{number}", ("en", "ru")[number % 2], {**solved, **answers}, mistakes=mistakes)


def _use_mistake(exercise: Exercise, mistake: str, solution: str) -> str:
    """The mistake as a student would write it."""
    code = typed(exercise, mistake)
    return f"{solution}\nsolution = {exercise.asks}\n{code}" if exercise.asks_for == "dict" else code


def _accidents(core: dict[str, Exercise], solved: dict[str, str]) -> Iterator[Submission]:
    """Yield mishaps of honest students, each in the first exercise that asks for a function."""
    functions = [exercise for exercise in core.values() if exercise.asks_for == "function"]
    exercise = functions[0]
    name, right = exercise.name, solved[exercise.name]

    def answer(student: str, source: str, language: str = "en", **more: Any) -> Submission:
        return Submission(student, language, {**solved, name: source}, **more)

    def inside(first: str) -> str:
        """The right answer with another first line in its body."""
        head, rest = re.split(r"(?<=:)\n", right, maxsplit=1)
        return f"{head}\n    {first}\n{rest}"

    fewest = min(functions, key=lambda e: len(e.draw("public")))
    # Endless loops that sleep cost a limit's time, but no processor.
    body = f"def {fewest.asks}(*args):\n    import time\n    while True:\n        time.sleep(1)"
    yield Submission("loop-in-function", "ru", {**solved, fewest.name: body}, nothing_for=(fewest.name,))
    yield answer("loop-in-cell", f"{right}\n\n{ENDLESS}", "ru")
    yield answer("syntax-error", right.replace(":\n", "\n", 1))
    yield answer("raises", inside('raise ValueError("<b>no</b> idea")'), "ru")
    yield answer("raises-in-cell", f'{right}\n\nraise ValueError("after the answer")')
    yield answer("warns", inside('import warnings; warnings.warn("a warning of mine")'))
    yield answer("warns-in-cell", f'{right}\nimport sys\nprint("careful", file=sys.stderr)', "ru")
    yield answer("prints-10-mb", inside('print("x" * 10_000_000)'))
    yield answer("prints-10-mb-in-cell", f'{right}\nfor _ in range(10):\n    print("x" * 1_000_000)', "ru")
    yield answer("wrong-kind", f"{exercise.asks} = 42")
    yield answer("no-answer-cell-text", "")
    yield answer("wrong-arguments", f"def {exercise.asks}():\n    pass", "ru")
    yield answer("nan", f"def {exercise.asks}(*args):\n    return float('nan')")
    yield answer(
        "nan-gradient",
        f"def {exercise.asks}(model, *args):\n    for p in model.parameters():\n        p.grad = p.detach() / 0",
    )
    yield answer("exits", inside("raise SystemExit"), "ru")
    yield answer("replaces-check", f"{right}\ncheck = print")
    yield answer("silences-checks", f"{right}\nimport autograder\nautograder.check = print")
    for language in ("en", "ru"):
        yield Submission(f"no-start-{language}", language, solved, edit=_delete_start)
    gone = f"check-{name}"
    yield Submission("no-check", "en", solved, edit=_delete(gone))
    both = _delete(gone, f"answer-{name}")
    yield Submission("no-exercise", "en", solved, edit=both, nothing_for=(name,))
    yield Submission("no-language", "ru", solved, edit=lambda notebook: notebook.metadata.pop("autograder"))
    yield Submission("edited-check", "en", {}, edit=_edit_check(gone))


def _delete_start(notebook: NotebookNode) -> None:
    notebook.cells = [cell for cell in notebook.cells if "\nstart(" not in cell.source]


def _delete(*grade_ids: str) -> Edit:
    def edit(notebook: NotebookNode) -> None:
        notebook.cells = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") not in grade_ids]

    return edit


def _edit_check(grade_id: str) -> Edit:
    def edit(notebook: NotebookNode) -> None:
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id:
                cell.source = "100"

    return edit


def expected_scores(submission: Submission, released: NotebookNode, lesson: Lesson) -> dict[str, float]:
    """Points by grade id: the cells run here one after another, each check by screen, observe and judge.

    What a person grades is 0. An answer named in `nothing_for` is not run.
    """
    known = exercises.load(lesson.name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    scores = dict.fromkeys(written(lesson), 0.0)
    cells = submission.notebook(released).cells
    there = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells}
    for cell in cells:
        if cell.cell_type != "code":
            continue
        role, _, name = cell.metadata.get("nbgrader", {}).get("grade_id", "").partition("-")
        if role == "check":
            if known[name].core:
                scores[f"check-{name}"] = 0.0 if name in submission.nothing_for else points(known[name], namespace)
        elif not (role == "answer" and name in submission.nothing_for):
            _run(cell.source, namespace)
        if role == "answer" and known[name].core and f"check-{name}" not in there:  # the grader puts it back here
            scores[f"check-{name}"] = points(known[name], namespace)
    for name, exercise in known.items():
        if exercise.core:
            scores.setdefault(f"check-{name}", 0.0)
    return scores


def points(exercise: Exercise, namespace: dict[str, Any]) -> float:
    """Return the points of the verdict on the public cases for the answer in `namespace`."""
    verdict = screen(exercise, namespace)
    if verdict is None:
        expected = exercises.key_of(exercise).expected
        answer = namespace[exercise.asks]
        verdict = judge(exercise, observe(exercise, answer, expected.seed), expected, lambda: code_digest(answer))
    return verdict.points


def _run(source: str, namespace: dict[str, Any]) -> None:
    """A student's cell, as a kernel runs it: what it raises ends the cell and nothing else."""
    source = source.replace(ENDLESS, "raise TimeoutError")  # the loop in a cell, without the wait
    place = f"<cell {hashlib.sha256(source.encode()).hexdigest()}>"
    # As IPython does it, so that the source of an answer can be told from that of the given code.
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception), mock.patch.object(autograder, "check", autograder.check):
            exec(compile(source, place, "exec"), namespace)


def read(path: Any) -> NotebookNode:
    return nbformat.read(path, as_version=4)
