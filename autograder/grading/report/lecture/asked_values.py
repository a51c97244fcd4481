"""Observed values that a question can ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....checking.exercise import Exercise
from ....checking.expected import Expected
from ....language import Text
from .choices import choice_for, is_telling

_Path = tuple[str, ...]


@dataclass(frozen=True)
class AskedValue:
    """A value in an observation that a question can ask for.

    `case` is the index of the case, `aspect` names the value. `mine` is the value that the mistake gives, `right` the
    solution's. `others` holds the values of all mistakes, by English text.
    """

    case: int
    aspect: str
    mine: Text
    right: Text
    others: Mapping[str, Text]


def best_place(exercise: Exercise, mistake: str, expected: Expected) -> AskedValue | None:
    """Return the value for which the mistakes of the exercise give the most different choices.

    Returns None if `mistake` gives no value that a short text can tell.
    """
    best = None
    for case, (run, right) in enumerate(zip(expected.mistakes[mistake], expected.solution)):
        for aspect in exercise.aspects:
            for path in _paths(right.values.get(aspect.name)):
                wanted = choice_for(right, right, aspect.name, path)
                mine = choice_for(run, right, aspect.name, path)
                if not mine or not wanted or mine.en == wanted.en or not is_telling(mine):
                    continue
                all_runs = [runs[case] for runs in expected.mistakes.values() if len(runs) > case]
                found = [choice_for(each, right, aspect.name, path) for each in all_runs]
                others = {each.en: each for each in (mine, wanted, *found) if each}
                if best is None or len(others) > len(best.others):
                    best = AskedValue(case, aspect.name, mine, wanted, others)
    return best


def _paths(value: object) -> Iterator[_Path]:
    """Yield the path of each entry of a nested dict: `("a", "b")` for `{"a": {"b": 1}}`.

    A value that is no dict has the path ().
    """
    if not isinstance(value, dict):
        yield ()
        return
    for key, each in value.items():
        for path in _paths(each):
            yield (str(key), *path)
