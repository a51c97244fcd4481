"""Short questions on all exercises of the course."""

import ast
import builtins
import re

import pytest

from autograder import exercises
from autograder.bound_names import bound_names
from autograder.learner.reviews.questions import Table, Why, question_on
from autograder.learner.reviews.wrong_answers import WhatIsWrong, wrong_answer
from autograder.lessons.mistakes import mistakes_of
from autograder.lessons.needed_code import used_names

CYCLE = 3  # questions on one exercise that are looked at


@pytest.mark.parametrize("lesson", exercises.lessons())
def test_what_counts_has_a_question_and_wrong_answers_can_be_read(lesson):
    for exercise in exercises.load(lesson).values():
        question = question_on(exercise, ())
        assert question or not exercise.core, exercise.name
        if isinstance(question, Table):
            continue
        assert isinstance(question, (WhatIsWrong, Why, type(None)))
        for each in filter(None, (wrong_answer(exercise, number) for number in range(CYCLE))):
            mistakes = mistakes_of(exercise)
            assert len(set(each.options)) == len(each.options) == 3, exercise.name
            assert mistakes.named[each.mistake].says == each.options[each.right - 1]
            assert each.mistake not in mistakes.plain
            for language in ("en", "ru"):
                text = each.text(language)
                (code,) = re.findall(r"~~~~python\n(.*)\n~~~~", text, re.S)
                assert used_names(code) <= bound_names(code) | vars(builtins).keys(), (exercise.name, each.mistake)
                assert not any(
                    ast.get_docstring(node) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef)
                )
                assert exercise.asks in bound_names(code)
                assert all(option.read(language) in text for option in each.options)
