"""Judgement of answers that behave alike: once, with the same result for each."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from autograder.cards.shown_verdict import ShownVerdict
from autograder.checking.run import Raised, Run
from autograder.checking.verdict import MIME
from autograder.grading.course.hidden_cases import expected_results
from autograder.grading.sandbox.wire.run_codec import pack_run
from autograder.grading.submission.judgement import LessonJudge
from autograder.lessons.collection import COURSE


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> LessonJudge:
    course: Path = tmp_path_factory.mktemp("course")
    (course / "secret").write_text("0123456789abcdef" * 2)
    (lesson,) = COURSE.read(["gradient_accumulation"])
    return LessonJudge(expected_results(course, lesson, COURSE.exercises(lesson)))


def observations(judge: LessonJudge) -> list[tuple[str, str | None, list[Any]]]:
    """List a child's observations of every solution and mistake: exercise, mistake (None: the solution), runs."""
    return [
        (name, mistake, [pack_run(run) for run in runs])
        for name, expected in judge.answers.expected.items()
        for mistake, runs in [(None, expected.solution), *expected.mistakes.items()]
    ]


def test_each_gets_the_judgement_that_it_would_get_alone(judge: LessonJudge) -> None:
    found = observations(judge)
    first = [judge.judge(name, copy.deepcopy(runs), "other") for name, _, runs in found]
    for (name, mistake, runs), known in zip(found, first):
        assert judge.judge(name, copy.deepcopy(runs), "other") is known
        alone = LessonJudge(judge.answers).judge(name, runs, "other")
        assert (known.verdict, known.observed) == (alone.verdict, alone.observed)
        assert (known.verdict.state, known.verdict.mistake) == ("not yet" if mistake else "passed", mistake)


def test_the_card_is_in_the_language_of_the_notebook(judge: LessonJudge) -> None:
    name, _, runs = observations(judge)[0]
    known = judge.judge(name, runs)
    for language in ("en", "ru", "en", None):
        shown = known.output(language, 7)
        assert shown.data["text/html"] == ShownVerdict.of(known.verdict).html(language)
        assert shown.data[MIME]["language"] == language
        assert shown.execution_count == 7
        shown.data["text/html"] = shown.metadata["observed"] = "edited in one notebook"
    assert "edited" not in str(known.output("en", 7))


def test_what_differs_at_all_is_judged_anew(judge: LessonJudge) -> None:
    name, _, runs = observations(judge)[0]
    known = judge.judge(name, runs)
    other = copy.deepcopy(runs)
    other[0]["notes"] = [["note.printed", {"count": 1, "text": "1"}]]
    assert judge.judge(name, other) is not known
    assert judge.judge(name, runs, "another") is not known


@pytest.mark.parametrize("runs", [None, [], [{}], [{"raised": 1}], "runs"])
def test_what_is_no_observation_is_an_error_each_time(judge: LessonJudge, runs: object) -> None:
    name = next(iter(judge.answers.expected))
    for _ in range(2):
        with pytest.raises((ValueError, TypeError)):
            judge.judge(name, runs)


@pytest.mark.parametrize("name", ["tensor([1.25, -3.5])", "E82367e9964be6a966129f2a5", "a b", "", "1.5"])
def test_the_name_of_a_type_tells_no_inputs(judge: LessonJudge, name: str) -> None:
    """`raise type(str(inputs), (Exception,), {})` in an answer, or a name out of digits of the inputs."""
    exercise, _, runs = observations(judge)[0]

    def card(kind: str) -> str:
        raised = Raised("answer", "raised.answer", {"type": kind, "message": name})
        known = judge.judge(exercise, [pack_run(Run({}, raised)) for _ in runs])
        return ShownVerdict.of(known.verdict).text("en")

    assert "…: …" in card(name)
    assert "RuntimeError: …" in card("RuntimeError")
