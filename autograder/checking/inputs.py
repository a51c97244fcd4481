"""Inputs of cases, drawn so that nothing coincides: float64, far from 0, from the case's own generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import torch
from torch import Tensor


class Formula:
    """A function of tensors that reads as its formula on a card."""

    def __init__(self, text: str, function: Callable[..., Tensor]) -> None:
        self.text = text
        self.function = function

    def __call__(self, *arguments: Tensor) -> Tensor:
        return self.function(*arguments)

    def __repr__(self) -> str:
        return self.text


def uniform(rng: torch.Generator, *shape: int) -> Tensor:
    """Float64, uniform in [0.5, 2.5): far from 0, so that a forgotten term shows in every entry."""
    return torch.rand(shape, generator=rng, dtype=torch.float64) * 2 + 0.5


def signed(rng: torch.Generator, *shape: int) -> Tensor:
    """Float64, magnitude uniform in [0.5, 2.5), sign at random."""
    sign = torch.randint(0, 2, shape, generator=rng) * 2 - 1
    return uniform(rng, *shape) * sign


def leaf(rng: torch.Generator, *shape: int) -> Tensor:
    """A float64 leaf that requires grad, its `.grad` empty."""
    return uniform(rng, *shape).requires_grad_()


def with_old_gradient(tensor: Tensor) -> Tensor:
    """`tensor` with something in `.grad`, no two entries of it equal, as after an earlier backward pass."""
    tensor.grad = 100 + tensor.detach()
    return tensor


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
