"""Growth of work with the size of its input, counted in lines of Python and not in seconds."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python code `work()` runs, those of comprehensions included."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    gc.collect()
    gc.disable()  # what ends because of it is not this work
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def growth(work: Callable[[Any], Callable[[], object]], sizes: Sequence[int]) -> float:
    """Return the exponent with which work grows between the last two of `sizes`: 1 is linear, 2 quadratic.

    A smaller size comes first, with what only a first run does. `work(size)` prepares an input and returns a function
    without parameters, whose lines are counted.
    """
    *_, (small, few), (large, many) = [(size, lines_run(work(size))) for size in sizes]
    return math.log(many / few) / math.log(large / small)
