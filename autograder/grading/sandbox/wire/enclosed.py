"""Functions of ours in the hands of student code."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

from ....measure import CountedCalls


def enclosed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `function`, and from which no attribute leads to it.

    The counter keeps `function` in a running generator. The audit hook refuses frames of generators to student code.
    """
    counted, one_at_a_time = CountedCalls(function).function, RLock()  # a generator serves one thread at a time

    def call(*arguments: object, **named: object) -> Any:
        __tracebackhide__ = True
        with one_at_a_time:
            return counted(*arguments, **named)

    return call
