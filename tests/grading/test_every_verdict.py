"""Report, feedback and return for classes in which every exercise gets every kind of verdict."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from autograder import exercises
from autograder.checking.exercise import Exercise
from autograder.checking.judge import judge, unobserved
from autograder.checking.verdict import Finding, Verdict, VerdictState
from autograder.cli import main
from autograder.grading.sandbox.grader.resource_watch import Ending
from autograder.grading.submission.judgement import Judgement, LessonJudge, unreached_verdict, without_inputs
from autograder.language import LANGUAGES, Note
from autograder.lessons.collection import COURSE
from support.course import Course

pytestmark = pytest.mark.long(60)

WAITS = "some answers wait for points from a person (formgrader)"
ID = re.compile(r"\b(?:card|differs|raised|absent|fault|run|note|state|kind)\.[a-z_]+\b")  # of a sentence
TRIVIAL = {"function": "def {0}(*args, **named): pass", "class": "class {0}: pass", "dict": "{0} = {{}}"}


def kinds_of(exercise: Exercise) -> list[Verdict]:
    """Return one verdict for each state, and for each kind that the exercise's mistakes can get."""
    expected = exercises.key_of(exercise).expected
    unnamed = replace(expected, mistakes={})
    judged = [judge(exercise, runs, each) for runs in expected.mistakes.values() for each in (expected, unnamed)]
    kinds: dict[object, Verdict] = {}
    for verdict in [*judged, judge(exercise, expected.solution, expected), *unjudged(exercise)]:
        got = verdict.finding.got if verdict.finding else ()
        kinds.setdefault((verdict.state, verdict.mistake is None, tuple(note.id for note in got)), verdict)
    return list(kinds.values())


def unjudged(exercise: Exercise) -> Iterator[Verdict]:
    """Yield the verdicts on answers that were not run, or that the checker failed on."""
    name = exercise.asks
    yield unobserved(exercise, VerdictState.NOT_ATTEMPTED, Note("absent.stub", {}))
    for why in ("absent.name", "absent.deleted"):
        yield unobserved(exercise, VerdictState.NOT_ATTEMPTED, Note(why, {"name": name}))
    kind = {"name": name, "expected": f"kind.{exercise.asks_for}", "got": "kind.nothing"}
    yield unobserved(exercise, VerdictState.NOT_YET, Note("absent.kind", kind))
    fault = Note("fault.probe", {"exercise": exercise.name, "error": "ValueError: an error of ours"})
    yield replace(unobserved(exercise, VerdictState.OUR_ERROR, fault), finding=Finding(got=(fault,)))
    yield from (unreached_verdict(exercise, why) for why in Ending)


@pytest.mark.nightly(twin="tests/grading/plugin/test_nbgrader_commands.py::test_feedback_shows_the_cards")
@pytest.mark.parametrize("name", [lesson.name for lesson in COURSE.read()])
def test_every_verdict_is_reported_fed_back_and_returned(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cells are run, and the verdicts on them are dealt out: each exercise's kinds in turn."""
    known = exercises.load(name)
    verdicts = {each: itertools.cycle(map(without_inputs, kinds_of(exercise))) for each, exercise in known.items()}
    students = max(len(kinds_of(exercise)) for exercise in known.values())
    really = LessonJudge.judge

    def deal(self: LessonJudge, asked: str, *observed: Any) -> Judgement:
        found = really(self, asked, *observed)
        is_own = found.verdict.state is VerdictState.PASSED  # of the self-test, which runs the solutions
        return found if is_own else Judgement(next(verdicts[asked]), "same")

    monkeypatch.setattr(LessonJudge, "judge", deal)
    course = Course.make(tmp_path / "course", name)
    answers = {each: TRIVIAL[exercise.asks_for].format(exercise.asks) for each, exercise in known.items()}
    for number in range(students):
        course.hand_in(f"s{number}", answers, language=LANGUAGES[number % 2])
    assert main(["grade", str(course.folder)]) == 0
    assert len(course.scores()) == students
    root = str(course.folder)
    for command in (*(["report", root, "--language", each] for each in LANGUAGES), ["feedback", root]):
        assert main(command) == 0, capsys.readouterr()
    capsys.readouterr()
    assert main(["return", root]) == 1  # where the checker failed, a person gives the points
    said = capsys.readouterr()
    assert said.err == ""
    assert set(re.findall(r"no grade: (.*)", said.out)) == {WAITS}
    shown = [*(course.folder / "report").rglob("*.html"), *(course.folder / "feedback").rglob("*.html")]
    projected = [page for page in shown if ".project." in page.name]  # if there is a question
    assert len(shown) - len(projected) == students + 2 * len(LANGUAGES)
    for page in shown:
        soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        for code in soup.select("pre, code"):
            code.decompose()
        assert not ID.findall(soup.get_text()), page
