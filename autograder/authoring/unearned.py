"""Programs that do nothing of an exercise, and their points.

A plain program calls the function that it is given, or its layers in turn. A mistake is one if its cell says so:
`plain="yes"`, for the program of the statement or a helper of the lesson.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from ..checking.exercise import PUBLIC_SEED, Exercise
from ..checking.expected import Expected
from ..checking.judge import judge
from ..checking.observe import observe
from ..checking.run import Run
from ..checking.verdict import VerdictState
from ..lessons.mistakes import mistakes_of

SHARE = 0.25  # of the points


def unearned_points(exercise: Exercise, key: Expected) -> Iterator[str]:
    """Yield a complaint for each plain program that earns more than a quarter of the points without passing.

    The given code counts as one, because a renamed variable makes another answer of it.
    """
    judged = replace(key, given=None)
    for name, runs in _plain_runs(exercise, key):
        verdict = judge(exercise, runs, judged)
        if verdict.state != VerdictState.PASSED and verdict.points > SHARE * exercise.points:
            most = f"at most {SHARE * exercise.points:g}: let aspects wait for what is asked"
            yield f"{name} earns {verdict.points:g} of {exercise.points:g} points; {most}"


def _plain_runs(exercise: Exercise, key: Expected) -> Iterator[tuple[str, Sequence[Run]]]:
    if key.given is not None:
        yield "the given code", key.given
    for name in mistakes_of(exercise).plain:
        yield f"the plain program {name}", key.mistakes[name]
    for name, program in PLAIN.items() if exercise.asks_for == "function" else ():
        yield name, observe(exercise, program, PUBLIC_SEED)


def _call(*arguments: Any) -> object:
    """Call the first argument that can be called with the others, or with as many of them as it takes."""
    function: Callable[..., object] = next(filter(callable, arguments))
    others = [each for each in arguments if each is not function]
    for count in range(len(others), 0, -1):
        try:
            return function(*others[:count])
        except TypeError:
            continue
    return function()


def _call_in_turn(*arguments: Any) -> object:
    """Call the layers in a list one after the other, beginning with the first tensor."""
    layers = next(each for each in arguments if isinstance(each, (list, tuple)) and each and callable(each[0]))
    x: object = next(each for each in arguments if isinstance(each, Tensor))
    for layer in layers:
        x = layer(x)
    return x


PLAIN: dict[str, Callable[..., object]] = {
    "a call of the given function": _call,
    "a call of the layers in turn": _call_in_turn,
}
