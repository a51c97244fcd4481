"""Calls in which an answer does nothing, and that no aspect notices.

A probe may call an answer several times, for example once more where it counts memory. An answer that recognises such
a call could return at once, and earn the points for what is counted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..checking.containment.answer_calls import can_be_called, with_calls
from ..checking.exercise import Exercise
from ..checking.expected import Expected
from .junk import passes

_MOST = 30  # calls that are tried, of up to 200


def idle_calls(exercise: Exercise, key: Expected, solution: Any) -> Iterator[str]:
    """Yield a complaint for each call in which a solution may return None and still pass.

    Only functions and custom Functions are tried; a call of the latter is one of `apply`. Calls in which the solution
    returns None or False are left out, and all after the first 30.
    """
    if not can_be_called(solution):
        return

    def try_idle(number: int | None) -> tuple[bool, _Idle]:
        calls = _Idle(getattr(solution, "apply", solution), number)
        return passes(exercise, with_calls(solution, lambda _: calls), key), calls

    passed, counted = try_idle(None)
    for number in counted.others[:_MOST] if passed else ():  # a solution that fails is another complaint
        if try_idle(number)[0]:
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
