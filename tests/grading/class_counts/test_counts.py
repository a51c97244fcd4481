"""Counts of the report: answers of which the same is said are one row."""

from __future__ import annotations

from dataclasses import replace

from nbformat.v4 import new_output

from autograder import exercises
from autograder.checking.judge import unobserved
from autograder.checking.verdict import MIME
from autograder.grading.class_counts.counts import Answered, Graded
from autograder.language import Note
from support.report import EXERCISE


def test_answers_of_which_the_same_is_said_are_one_row() -> None:
    """An endless loop is noticed at a case that depends on how busy the machine was."""
    asked = exercises.find(EXERCISE)
    graded = Graded("any", 1, exercises={EXERCISE: Answered(asked)})
    for student, case in (("ann", 0), ("boris", 1)):
        verdict = unobserved(asked, "not yet", Note("raised.time", {"seconds": 10}))
        assert verdict.finding is not None
        verdict = replace(verdict, finding=replace(verdict.finding, case=case))
        output = new_output("execute_result", data={MIME: verdict.to_json()}, metadata={"observed": student})
        graded.add(student, {f"check-{EXERCISE}": {"outputs": [output]}}, {})
    (row,) = graded.exercises[EXERCISE].wrong(recognised=False)
    assert row.students == ["ann", "boris"]


def test_mistakes_that_one_sentence_names_are_one() -> None:
    zeroed = exercises.find("predict_zero_grad")
    graded = Graded("any", 1, exercises={zeroed.name: Answered(zeroed)})
    for mistake in ("none_counts_as_zero", "default_leaves_zeros", "both_leave_zeros"):
        verdict = replace(unobserved(zeroed, "not yet", Note("absent.stub", {})), mistake=mistake)
        output = new_output("execute_result", data={MIME: verdict.to_json()}, metadata={"observed": mistake})
        graded.add(mistake, {f"check-{zeroed.name}": {"outputs": [output]}}, {})
    found = [each.students for each in graded.exercises[zeroed.name].wrong(recognised=True)]
    assert found == [["default_leaves_zeros", "both_leave_zeros"], ["none_counts_as_zero"]]
