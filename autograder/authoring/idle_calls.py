"""Calls in which an answer does nothing, and that no aspect notices.

A probe may call an answer several times, for example once more where it counts memory. An answer that recognises such
a call could return at once, and earn the points for what is counted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..checking.exercise import Exercise
from ..checking.expected import Expected
from .junk import passes

_MOST = 30  # calls that are tried, of up to 200


def idle_calls(exercise: Exercise, key: Expected, solution: Any) -> Iterator[str]:
    """Yield a complaint for each call in which a solution may return None and still pass.

    Only functions are tried. Calls in which the solution returns None or False are left out, and all after the first
    30.
    """
    if exercise.asks_for != "function":
        return
    if not passes(exercise, counted := _Idle(solution, None), key):
        return  # another complaint
    for number in counted.others[:_MOST]:
        if passes(exercise, _Idle(solution, number), key):
            call = f"call {number + 1} of {counted.calls}"
            yield f"an answer that returns None in {call} passes: observe the result of that call"


class _Idle:
    """A solution that returns None in one of its calls.

    `idle` is the number of that call, or None. `others` are the numbers of calls with other results.
    """

    def __init__(self, solution: Callable[..., object], idle: int | None) -> None:
        self.calls = 0
        self.others: list[int] = []
        functools.update_wrapper(self, solution)
        self._solution, self._idle = solution, idle

    def __call__(self, *arguments: object) -> object:
        number, self.calls = self.calls, self.calls + 1
        if number == self._idle:
            return None
        result = self._solution(*arguments)
        if result is not None and result is not False:
            self.others.append(number)
        return result
