"""Answers of independent trials, judged as the trial's readers agreed.

A file `answers/LESSON.py` belongs to the lesson LESSON (without its number). It is written like a lesson, in cells:

    # %%
    import torch  # shared by the answers below

    # %% exercise="descend" verdict="refused" mistake="one_step"
    def descend(...): ...

`verdict` is "passed" or "refused". `mistake` is left out, or names the mistake that the check must recognise, or is ""
if the check must not name any.

Answers are judged on the public seed. The environment variable TRIAL_SEED names a hidden seed in its place.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from autograder import exercises
from autograder.authoring.build import COURSE
from autograder.authoring.execute import Ran, run
from autograder.authoring.source import read
from autograder.checking.exercise import PUBLIC_SEED
from autograder.checking.expected import Expected
from autograder.checking.judge import judge, screen
from autograder.checking.observe import code_digest, observe

ANSWERS = Path(__file__).parent / "answers"
SEED = os.environ.get("TRIAL_SEED", PUBLIC_SEED)
CELL = re.compile(r"^# %%(.*)\n", re.M)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


class Answer(NamedTuple):
    """One answer of a trial with the verdict that it deserves."""

    lesson: str
    source: str  # what all answers share, and the answer, at its lines in the file
    exercise: str
    verdict: str
    mistake: str | None = None


def answers_in(path: Path) -> Iterator[tuple[str, Answer]]:
    """Yields an id for pytest, and the answer."""
    text = path.read_text(encoding="utf-8")
    shared, line = "", 1
    _, *cells = CELL.split(text)
    for head, source in zip(cells[::2], cells[1::2]):
        line += 1
        attributes = dict(ATTRIBUTE.findall(head))
        if attributes:
            yield f"{attributes['exercise']}-line {line - 1}", Answer(path.stem, shared + source, **attributes)
        else:
            shared += source
        line += source.count("\n")


FOUND = [pair for path in sorted(ANSWERS.glob("*.py")) for pair in answers_in(path)]


@cache
def lesson_run(name: str) -> Ran:
    (path,) = COURSE.lessons.glob(f"??_{name}.py")
    return run(read(path), exercises.load(name), facts=False)


@cache
def expected(lesson: str, exercise: str) -> Expected:
    if SEED == PUBLIC_SEED:
        return Expected.from_json(exercises.keys(lesson)[exercise])
    return lesson_run(lesson).expect(exercises.find(exercise, lesson), SEED)


@pytest.mark.parametrize("answer", [answer for _, answer in FOUND], ids=[name for name, _ in FOUND])
def test_an_answer_gets_the_verdict_it_deserves(answer: Answer, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    exercise = exercises.find(answer.exercise, answer.lesson)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    name = f"<answer to {answer.exercise}>"
    lines = answer.source.splitlines(keepends=True)
    linecache.cache[name] = (len(answer.source), None, lines, name)  # as in a notebook: `code_digest` reads the source
    exec(compile(answer.source, name, "exec"), namespace)
    given = namespace.get(exercise.asks)
    known = expected(answer.lesson, answer.exercise)
    verdict = screen(exercise, namespace) or judge(exercise, observe(exercise, given, SEED), known, code_digest(given))
    assert (verdict.state == "passed") == (answer.verdict == "passed"), verdict.text("en")
    assert verdict.state in ("passed", "not yet"), verdict.text("en")
    if answer.mistake is not None:
        assert (verdict.mistake or "") == answer.mistake, verdict.text("en")
