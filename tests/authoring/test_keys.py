"""Keys on disk, and observations that another processor has rounded otherwise."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from autograder.checking.expected import Expected
from autograder.checking.run import Run
from autograder.checking.values import AtMost
from autograder.exercises import find, key_in, path_of
from autograder.exercises.key import Key
from autograder.lessons.collection import COURSE
from autograder.lessons.keys import build_key

NAMES = [(name, lesson.name) for lesson in COURSE.read() for name in COURSE.exercises(lesson)]


def moved(value: Any, by: float) -> Any:
    """Return an observed value whose numbers have moved by the fraction `by`."""
    match value:
        case torch.Tensor() if value.is_floating_point():
            return value * (1 + by)
        case float():
            return value * (1 + by)
        case AtMost():
            return replace(value, used=moved(value.used, by), of=moved(value.of, by))
        case list():
            return [moved(each, by) for each in value]
        case dict():
            return {name: moved(each, by) for name, each in value.items()}
        case _:
            return value


def seen_elsewhere(expected: Expected, move: Callable[[Any], Any]) -> Expected:
    def runs(old: Any) -> list[Run]:
        return [replace(run, values={name: move(value) for name, value in run.values.items()}) for run in old]

    mistakes = {name: runs(old) for name, old in expected.mistakes.items()}
    return replace(expected, solution=runs(expected.solution), mistakes=mistakes)


@pytest.mark.parametrize(("name", "lesson"), NAMES)
def test_a_key_stays_as_it_is_where_a_processor_rounds_otherwise(name, lesson):
    exercise = find(name, lesson)
    path = key_in(path_of(exercise), exercise.name)
    text = path.read_text(encoding="utf-8")
    expected = Key.from_text(text).expected
    assert build_key(exercise, seen_elsewhere(expected, lambda value: moved(value, 1e-13)), path) == text


def test_a_key_is_written_anew_where_a_number_has_changed():
    exercise = find("hide_saved")
    path = key_in(path_of(exercise), exercise.name)
    expected = Key.from_text(path.read_text(encoding="utf-8")).expected
    text = build_key(exercise, seen_elsewhere(expected, lambda value: moved(value, 0.01)), path)
    assert text != path.read_text(encoding="utf-8")
