"""Inputs of cases: float64 values, formulas, and lineups of programs.

All of them draw from the case's own generator. Values are far from 0, so that a wrong result is not right by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import torch
from torch import Tensor


class Formula:
    """A function of tensors with its formula as `repr`, for cards."""

    def __init__(self, text: str, function: Callable[..., Tensor]) -> None:
        self.text = text
        self.function = function

    def __call__(self, *arguments: Tensor) -> Tensor:
        return self.function(*arguments)

    def __repr__(self) -> str:
        return self.text


def uniform(rng: torch.Generator, *shape: int) -> Tensor:
    """Draw float64 values, uniform in [0.5, 2.5): far from 0, so that a forgotten term shows in every entry."""
    return torch.rand(shape, generator=rng, dtype=torch.float64) * 2 + 0.5


def signed(rng: torch.Generator, *shape: int) -> Tensor:
    """Draw float64 values with magnitude uniform in [0.5, 2.5) and random sign."""
    sign = torch.randint(0, 2, shape, generator=rng) * 2 - 1
    return uniform(rng, *shape) * sign


def leaf(rng: torch.Generator, *shape: int) -> Tensor:
    """Draw a float64 leaf that requires grad and has an empty `.grad`."""
    return uniform(rng, *shape).requires_grad_()


def with_old_gradient(tensor: Tensor) -> Tensor:
    """Fill `.grad` of `tensor`, as after an earlier backward pass, and return `tensor`.

    Equal entries of `.grad` occur only where those of `tensor` are equal.
    """
    tensor.grad = 100 + tensor.detach()
    return tensor


class Lineup:
    """Right and wrong programs in a seeded random order.

    Used by exercises that ask for a test. `wrong` maps the property that a rejecting test shows to the wrong program.
    """

    def __init__(self, rng: torch.Generator, right: Sequence[Any], wrong: Mapping[str, Any]) -> None:
        self._programs = [*right, *wrong.values()]
        self._right, self._names = len(right), list(wrong)
        self._order = torch.randperm(len(self._programs), generator=rng).tolist()

    def __repr__(self) -> str:
        return f"{len(self._programs)} × ..."

    def tried(self, accepts: Callable[[Any, bool], object]) -> tuple[list[object], dict[str, bool]]:
        """Call `accepts(program, is_right)` for each program in the random order.

        Returns the results for the right programs, and by name whether each wrong program was rejected.
        """
        said = {index: accepts(self._programs[index], index < self._right) for index in self._order}
        right = [said[index] for index in range(self._right)]
        return right, {name: not said[self._right + index] for index, name in enumerate(self._names)}


def nameless(function: Any, name: str) -> Any:
    """Return a copy of a function under the neutral name `name`, so that its name gives nothing away."""
    code = function.__code__.replace(co_name=name, co_qualname=name)
    made = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    made.__annotations__, made.__module__ = function.__annotations__, "__main__"
    return made
