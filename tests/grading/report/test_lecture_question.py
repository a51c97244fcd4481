"""Questions for lectures: the choices are what the mistakes really give."""

from __future__ import annotations

import pytest

from autograder import exercises
from autograder.grading.report.counts import Wrong
from autograder.grading.report.lecture_question import Question, lecture_question
from autograder.lessons.collection import COURSE
from autograder.messages.report import WORDS


def question(lesson: str, exercise: str, mistake: str) -> Question:
    known = exercises.find(exercise, lesson)
    found = lecture_question([Wrong(known, mistake, None, True, code="def f(): ...")], COURSE.read([lesson]))  # type: ignore[arg-type]
    assert found
    return found


def test_a_table_is_asked_with_the_code_of_the_lesson() -> None:
    found = question("gradient_accumulation", "predict_accumulation", "backward_overwrites")
    assert "def two_backward_passes" in found.code
    assert found.prompt.en == "What is `w.grad after the second backward` after this code?"
    texts = [choice.en for choice in found.choices]
    assert texts[found.answer] == "-40"
    assert found.comment
    assert found.comment.ru == "Студенты ожидали: -8"


def test_a_function_is_asked_by_what_it_gives() -> None:
    found = question("gradient_accumulation", "accumulate_equal", "sums_the_means")
    texts = [choice.en for choice in found.choices]
    assert "times the right value" in texts[found.answer]
    assert found.tempting is not None
    assert texts[found.tempting] == WORDS["choice_right"].en
    assert found.inputs


def test_other_mistakes_are_asked_by_their_sentences() -> None:
    found = question("compiled_code", "costly_node", "keeps_the_prefix")
    assert found.choices[-1] == WORDS["nothing_wrong"]
    known = exercises.misconceptions_of(exercises.find("costly_node"))
    assert found.choices[found.answer] == known["keeps_the_prefix"].says


@pytest.mark.parametrize("lesson", ["leaf_tensors", "saved_tensors", "higher_order"])
def test_every_mistake_gives_a_question_that_can_be_answered(lesson: str) -> None:
    lessons = COURSE.read([lesson])
    for exercise in exercises.load(lesson).values():
        for mistake in list(exercises.misconceptions_of(exercise))[:3]:
            found = lecture_question([Wrong(exercise, mistake, None, True, code="x")], lessons)  # type: ignore[arg-type]
            if found is None:
                assert exercise.asks_for == "dict", mistake
                continue
            assert 2 <= len(found.choices) <= 5
            assert len(set(found.choices)) == len(found.choices)
            assert found.tempting != found.answer
            assert found.choices[found.answer].en != WORDS["choice_other"].en
