"""Answers of independent trials, judged as the trial's readers agreed.

The files in `answers/` are in the form that `autograder/authoring/recorded_answers.py` describes. Answers are judged on
the public seed. The environment variable TRIAL_SEED names a hidden seed in its place.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from autograder import exercises
from autograder.authoring.recorded_answers import RecordedAnswer, never_made, recorded_answers
from autograder.cards.shown_verdict import ShownVerdict
from autograder.checking.exercise import PUBLIC_SEED
from autograder.checking.expected import Expected
from autograder.lessons.collection import COURSE
from autograder.lessons.execute import Ran, run
from autograder.lessons.source import read

pytestmark = pytest.mark.long(25)

ANSWERS = Path(__file__).parent / "answers"
SEED = os.environ.get("TRIAL_SEED", PUBLIC_SEED)
FOUND = [answer for path in sorted(ANSWERS.glob("*.py")) for answer in recorded_answers(path)]


@cache
def lesson_run(name: str) -> Ran:
    (path,) = COURSE.lessons.glob(f"??_{name}.py")
    return run(read(path), exercises.load(name), facts=False)


@cache
def expected(lesson: str, exercise: str) -> Expected:
    known = exercises.find(exercise, lesson)
    return exercises.key_of(known).expected if SEED == PUBLIC_SEED else lesson_run(lesson).expect(known, SEED)


@pytest.fixture(autouse=True)
def small_process() -> Iterator[None]:
    """Give an answer a process without garbage of before, and put back the recursion limit.

    Some answers collect garbage again and again: over all of torch and the tests before it takes more than 10 s. Under
    a raised limit, later tests of deep sources take minutes.
    """
    gc.freeze()
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize("answer", FOUND, ids=lambda answer: f"{answer.exercise}-line {answer.cell.line}")
def test_an_answer_gets_the_verdict_it_deserves(answer: RecordedAnswer, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    lesson, deserved = answer.path.stem, answer.cell.metadata
    exercise = exercises.find(answer.exercise, lesson)
    verdict = answer.judge(exercise, expected(lesson, answer.exercise))
    assert (verdict.state == "passed") == (deserved["verdict"] == "passed"), ShownVerdict.of(verdict).text("en")
    assert verdict.state in ("passed", "not yet"), ShownVerdict.of(verdict).text("en")
    if "mistake" in deserved:
        assert (verdict.mistake or "") == deserved["mistake"], ShownVerdict.of(verdict).text("en")


def test_mistakes_that_nobody_has_made_are_found() -> None:
    exercise = exercises.find("numerical_slope")
    found = never_made([exercise], ANSWERS / "first_gradient.py")[exercise.name]
    assert "moves_x" not in found
    assert {*found} < exercises.misconceptions_of(exercise).keys()
