"""What a learner's test is tried on: right and wrong programs, one at a time, nameless, in an order nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import torch


class Lineup:
    """Right programs, and wrong ones by what a test shows that refuses them. The order follows from `rng`."""

    def __init__(self, rng: torch.Generator, right: Sequence[Any], wrong: Mapping[str, Any]) -> None:
        self._programs = [*right, *wrong.values()]
        self._right, self._names = len(right), list(wrong)
        self._order = torch.randperm(len(self._programs), generator=rng).tolist()

    def __repr__(self) -> str:
        return f"{len(self._programs)} × ..."

    def tried(self, accepts: Callable[[Any, bool], object]) -> tuple[list[object], dict[str, bool]]:
        """What `accepts(program, is right)` says of the right programs, and whether it refuses each wrong one."""
        said = {index: accepts(self._programs[index], index < self._right) for index in self._order}
        right = [said[index] for index in range(self._right)]
        return right, {name: not said[self._right + index] for index, name in enumerate(self._names)}


def nameless(function: Any, name: str) -> Any:
    """The same function under another name, which tells nothing about it."""
    code = function.__code__.replace(co_name=name, co_qualname=name)
    made = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    made.__annotations__, made.__module__ = function.__annotations__, "__main__"
    return made
