"""Senseless answers, and helpers of the exercises, that no check may accept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import torch

from ..cards.shown_verdict import ShownVerdict
from ..checking.exercise import PUBLIC_SEED, Exercise
from ..checking.expected import Expected
from ..checking.judge import judge
from ..checking.observe import observe
from ..checking.verdict import VerdictState
from ..exercises import modules_in, path_of


def accepted_junk(exercise: Exercise, key: Expected) -> Iterator[str]:
    """Yield a complaint for each senseless answer that earns a point or makes the checker itself fail."""
    for junk, answer in JUNK.get(exercise.asks_for, {}).items():
        verdict = judge(exercise, observe(exercise, answer, PUBLIC_SEED), key)
        shown = " ".join(ShownVerdict.of(verdict).text("en").split())
        if verdict.state in (VerdictState.OUR_ERROR, VerdictState.PASSED):
            yield f"{junk} as an answer gives “{verdict.state}”: {shown}"
        elif verdict.points:
            yield f"{junk} as an answer earns {verdict.points:g} points: {shown}"


def helpers(exercise: Exercise) -> dict[str, Any]:
    """Return the functions and classes that the modules of an exercise's lesson define, by name."""
    return {
        name: value
        for module in modules_in(path_of(exercise))
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    }


def accepted_helpers(exercise: Exercise, key: Expected, others: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each helper of the lesson's modules that passes as an answer."""
    # Nearly all fail on the first case: trying it alone takes 22 s in the whole course, not 62 s.
    first = replace(exercise, generate=lambda *given: islice(exercise.generate(*given), 1))
    start = replace(key, solution=key.solution[:1], given=None, mistakes={})
    for name, program in others.items() if exercise.asks_for != "dict" else ():
        fits = isinstance(program, type) == (exercise.asks_for == "class")
        if fits and passes(first, program, start) and passes(exercise, program, key):
            yield f"{name}, a helper of its module, passes: let it take or return something else"


def passes(exercise: Exercise, answer: object, key: Expected) -> bool:
    """Return whether an answer passes on the public cases."""
    return judge(exercise, observe(exercise, answer, PUBLIC_SEED), key).state == VerdictState.PASSED


def _raises(*_: object) -> None:
    raise ValueError("junk")


def _poisons(*arguments: Any) -> None:
    for argument in arguments:
        if isinstance(argument, torch.nn.Module):
            for parameter in argument.parameters():
                parameter.grad = torch.full_like(parameter, float("nan"))


class _Empty:
    """A class without members, as a senseless answer."""


class _RaisingFunction(torch.autograd.Function):
    """A custom Function that raises in forward and in backward."""

    @staticmethod
    def forward(ctx: Any, *_: Any) -> Any:
        raise ValueError("junk")

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise ValueError("junk")


class _WordyFunction(torch.autograd.Function):
    """A custom Function that returns strings."""

    @staticmethod
    def forward(ctx: Any, *_: Any) -> Any:
        return "gradient"

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        return "a", "b"


class _ForwardAlone(torch.autograd.Function):
    """A custom Function without `backward`."""

    @staticmethod
    def forward(ctx: Any, x: Any, *_: Any) -> Any:
        return x * 2


# The checker must survive these answers, and the card must attribute the failure to the answer.
FUNCTIONS: dict[str, Callable[..., object]] = {
    "nothing": lambda *_: None,
    "a word": lambda *_: "gradient",
    "a pair of words": lambda *_: ("a", "b"),
    "a generator without end": lambda *_: iter(int, 1),
    "NaN": lambda *_: torch.tensor(float("nan")),
    "a tensor on meta": lambda *_: torch.ones(2, device="meta"),
    "an exception": _raises,
    "NaN gradients": _poisons,
    "a function of no argument": lambda: None,
}
JUNK: dict[str, dict[str, Any]] = {
    "function": FUNCTIONS,
    "class": {
        "an empty class": _Empty,
        "a Function that raises": _RaisingFunction,
        "a Function of words": _WordyFunction,
        "a Function without backward": _ForwardAlone,
    },
}
