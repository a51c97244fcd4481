"""Slips of writing in a table of predictions: said, and not counted."""

import pytest

import autograder
from autograder import exercises, start
from autograder.checking.judge import judge
from autograder.checking.run import Run
from autograder.exercises import key_of
from autograder.history import standings, verdicts
from autograder.language import Note
from autograder.messages.learners import say

EXERCISE = exercises.find("predict_chain")
TRUTH = key_of(EXERCISE).expected.solution[0].values[EXERCISE.aspects[0].name]


def checked(table):
    namespace = {"check": autograder.check, EXERCISE.asks: table}
    exec(f"result = check({EXERCISE.name!r})", namespace)
    return namespace["result"]


@pytest.mark.parametrize(
    ("value", "note"),
    [((4, 5), "comma"), ("yes", "word"), (" Ошибка", "word"), ("2.0", "text"), (True, "number"), ({}, "kind")],
    ids=str,
)
def test_a_slip_is_said_and_not_counted(language, value, note):
    start(EXERCISE.lesson, language=language)
    (entry, *_) = (entry for entry, right in TRUTH.items() if type(right) in (int, float))
    verdict = checked(TRUTH | {entry: value})
    assert verdict.state == "not attempted"
    assert say(Note("absent.slips", {"entries": f"`{entry}`"}), language) in verdict.text(language)
    (said,) = (each for each in verdict.notes if each.id == f"note.entry_{note}")
    assert say(said, language) in verdict.text(language)
    assert standings(verdicts()) == {}
    wrong = checked(TRUTH | {entry: 123})
    assert wrong.state == "not yet"
    assert standings(verdicts())[EXERCISE.name].checks == 1
    assert checked(TRUTH).state == "passed"


def test_grading_counts_a_slip_as_wrong():
    entry = next(iter(TRUTH))
    key = key_of(EXERCISE)
    observed = Run({**key.expected.solution[0].values, EXERCISE.aspects[0].name: TRUTH | {entry: "yes"}})
    verdict = judge(EXERCISE, [observed], key.expected)
    assert verdict.state == "not yet"
    assert "note.entry_word" in [note.id for note in verdict.notes]
