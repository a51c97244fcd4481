"""Questions for lectures: the choices are what the class and the known mistakes really give."""

from __future__ import annotations

from typing import Any

import pytest

from autograder import exercises
from autograder.checking.containment.surroundings import undisturbed
from autograder.checking.values import prediction
from autograder.grading.class_counts.counts import Answered, Graded, Wrong
from autograder.grading.report.lecture.lecture_question import lecture_question
from autograder.grading.report.lecture.question import Question
from autograder.lessons.collection import COURSE
from autograder.messages.report import WORDS


def asked(lesson: str, exercise: str, mistake: str, *tables: dict[str, tuple[str, str | None]]) -> Question | None:
    """The question for a class of two who made a mistake, and of others who filled in `tables`."""
    known = exercises.find(exercise, lesson)
    wrong = Wrong(known, mistake, None, True, students=["ann", "bo"])  # type: ignore[arg-type]
    answered = Answered(known, alike={mistake: wrong}, predicted=list(tables))
    return lecture_question(Graded("any", 1, COURSE.read([lesson]), exercises={exercise: answered}))


def question(*arguments: Any) -> Question:
    found = asked(*arguments)
    assert found
    return found


def value_of(code: str) -> str:
    """What the last line of a program gives, if it is pasted into an empty cell."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    *_, line = code.splitlines()
    with undisturbed([]):
        exec(code, namespace)
        value = eval(line, namespace)
    return prediction([*value] if isinstance(value, tuple) else value)


def test_a_table_is_asked_with_a_program_that_runs() -> None:
    found = question("gradient_accumulation", "predict_accumulation", "backward_overwrites")
    assert found.code.endswith('two_backward_passes()["w.grad after the second backward"]')
    assert found.choices[found.answer].en == f"`{value_of(found.code)}`" == "`-40`"
    assert found.comment
    assert found.comment.ru == "Студенты ожидали: `-8`"
    known = exercises.misconceptions_of(exercises.find("predict_accumulation"))
    assert found.reason == known["backward_overwrites"].says


def test_the_row_that_most_got_wrong_is_asked_with_their_values() -> None:
    wrong, right = {"copy": ("-32", "7")}, {"copy": ("-32", None)}
    found = question("gradient_accumulation", "predict_accumulation", "backward_overwrites", wrong, wrong, right)
    assert value_of(found.code) == "-32"
    votes = dict(zip((choice.en for choice in found.choices), found.votes))
    assert (votes["`-32`"], votes["`7`"], sum(votes.values())) == (1, 2, 3)
    assert found.tempting is not None
    assert found.choices[found.tempting].en == "`7`"
    assert '"first": ' not in found.code


def test_a_row_of_another_program_is_no_question() -> None:
    own = {"copy": ("5", "7")}
    found = question("gradient_accumulation", "predict_accumulation", "backward_overwrites", own, own, own)
    assert value_of(found.code) == "-40"


def test_a_function_is_asked_by_what_it_gives() -> None:
    found = question("gradient_accumulation", "accumulate_uneven", "multiplies_by_size")
    texts = [choice.en for choice in found.choices]
    assert "times the right value" in texts[found.answer]
    assert found.tempting is not None
    assert texts[found.tempting] == WORDS["choice_right"].en
    assert found.inputs
    assert found.code.startswith("from torch.nn.functional import mse_loss\n\ndef accumulate_uneven(model, batches):")


def test_other_mistakes_are_asked_by_their_sentences() -> None:
    found = question("first_gradient", "descend", "ascends")
    assert found.choices[-1] == WORDS["nothing_wrong"]
    known = exercises.misconceptions_of(exercises.find("descend"))
    assert found.choices[found.answer] == known["ascends"].says


@pytest.mark.parametrize("lesson", ["leaf_tensors", "saved_tensors", "grad_modes_and_in_place", "higher_order"])
def test_every_question_can_be_answered_and_its_program_runs(lesson: str) -> None:
    for exercise in exercises.load(lesson).values():
        for mistake in list(exercises.misconceptions_of(exercise))[:2] if exercise.core else []:
            found = asked(lesson, exercise.name, mistake)
            if found is None:
                assert exercise.asks_for != "dict", mistake
                continue
            assert 2 <= len(found.choices) <= 5
            assert len(set(found.choices)) == len(found.choices)
            assert found.tempting != found.answer
            assert found.choices[found.answer].en != WORDS["choice_other"].en
            if exercise.asks_for == "dict":
                assert found.choices[found.answer].en == f"`{value_of(found.code)}`"
            else:
                with undisturbed([]):
                    exec(found.code, namespace := {"__name__": "__main__"})
                assert exercise.asks in namespace
