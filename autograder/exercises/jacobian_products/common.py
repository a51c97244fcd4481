"""Parts shared by the exercises on Jacobian products."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.exercise import Case
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, entries
from autograder.language import Text
from autograder.measure import CountedCalls, counting_backward_runs, counting_ops

Function = Callable[[Tensor], Tensor]


def curved(rng: torch.Generator, n: int, m: int) -> Function:
    """A function from R^n to R^m whose Jacobian depends on x, has no zero entry and, for n = m, is not symmetric."""
    a, b = signed(rng, m, n) / n, uniform(rng, m, n) / n
    return Formula("x -> (a @ x).sin() + b @ x**2", lambda x: (a @ x).sin() + b @ x.square())


def steep(rng: torch.Generator, n: int, m: int) -> Function:
    """As `curved`, but large and bent: differences of its values, of whatever order, lose more than half their digits."""
    a, f = signed(rng, m, n), curved(rng, n, m)
    return Formula("x -> 1000 + (3 * a @ x).cos() + ...", lambda x: 1000 + (3 * a @ x).cos() + f(x))


def away_from(truth: Tensor, got: object) -> float:
    """The largest error of `got`, as a share of the largest entry of `truth`; infinite where it is no such tensor."""
    if not isinstance(got, Tensor) or got.shape != truth.shape:
        return math.inf
    error, largest = (got.detach() - truth).abs().max().item(), truth.abs().max().item()
    return error / largest if largest else math.inf if error else 0.0


_NEAR = 1e-4  # a product to which only its digits are to be objected


EXACT = 1e-12  # derivatives by the chain rule agree to 1e-15 or so; finite differences in float64 stop at 1e-11


def counted_in(unit: float, error: float) -> AtMost:
    """An error as a budget: at most one such unit."""
    share = error / unit
    return AtMost(limit=1, used=math.ceil(share) if share < 1e9 else 10**9)


TO_ROUNDING = Text(
    "The product is exact up to rounding: its error is at most 1e-12 of its largest entry (counted in units of 1e-12).",
    "Произведение точно до округления: погрешность не больше 1e-12 от наибольшего элемента (указана в единицах 1e-12).",
)


class Watched:
    """A function that notes whether it was called away from `x`, as finite differences do."""

    def __init__(self, function: Function, x: Tensor) -> None:
        self.function, self.x = function, x.detach().clone()
        self.moved = False

    def __call__(self, point: Tensor) -> Tensor:
        with suppress(Exception):  # inside vmap a tensor is many points at once, and tracing has no numbers
            self.moved |= not torch.equal(point.detach(), self.x)
        return self.function(point)


class Cost:
    """What `call(f)` costs, counted: calls of `f`, backward runs, both together, aten ops, the largest new tensor."""

    calls = runs = passes = ops = largest = 0

    def __init__(self, call: Callable[[Function], object] | None = None, f: Function | None = None) -> None:
        if call is None or f is None:  # nothing is measured
            return
        counted = CountedCalls(f)
        with counting_backward_runs() as runs, counting_ops() as ops:
            call(counted.function)
        self.calls, self.runs, self.passes = counted.times, runs.times, counted.times + runs.times
        self.ops, self.largest = ops.times, ops.largest


def _table(predicted: dict[str, object]) -> dict[str, object]:
    """A table of predictions in which a tensor may stand for a list of numbers."""
    with using_answer():
        listed = {k: v.tolist() if isinstance(v, Tensor) and v.numel() > 1 else v for k, v in predicted.items()}
        return entries(listed)


_SIZE = 6  # inputs and outputs of the function on which costs are counted


def neighbours(x: Tensor) -> Tensor:
    """A function from R^n to R^n that makes no tensor larger than its input, and holds no matrix."""
    return (x.roll(1) * x).tanh()


def _observe_jvp(product_along: Callable[..., object], case: Case, budget: Function) -> dict[str, object]:
    """What `product_along(f, x, v)` gives on the case, and what it costs on the function `budget` from R^6 to R^6.

    The cost is the same for every case, so it is counted only beside the one with as many outputs as inputs, and only
    for an answer that is right: the budgets wait for that.
    """
    truth: Any = functional.jvp(case.f, case.x, case.v)[1]
    watched = Watched(case.f, case.x)
    product = product_along(watched, case.x, case.v)
    with using_answer():
        error = away_from(truth, product)
    cost = Cost()
    if len(truth) == len(case.x) and error < 10 * _NEAR:
        x = torch.linspace(0, 1, _SIZE, dtype=torch.float64)
        cost = Cost(lambda counted: product_along(counted, x, x.cos()), budget)
    return {
        "product": product,
        "exact": counted_in(EXACT, error),
        "passes": AtMost(limit=3, used=cost.passes),
        "largest": AtMost(limit=4 * _SIZE, used=cost.largest),
        "many_calls": cost.calls >= _SIZE,
        "many_runs": cost.runs >= _SIZE,
        "moved": watched.moved,
    }


def tracked(x: Tensor) -> Tensor:
    return x.detach().clone().requires_grad_()


def _differences(f: Function, x: Tensor, h: float, *, back: bool = True, over: float | None = None) -> Tensor:
    """Columns by differences with the step `h`: central ones or, without `back`, to one side."""
    columns = []
    for step in h * torch.eye(len(x), dtype=x.dtype):
        before = f(x - step) if back else f(x)
        columns.append((f(x + step) - before) / (over or (2 * h if back else h)))
    return torch.stack(columns, dim=1)


class _Cube(torch.autograd.Function):
    """x^3 with a backward and no forward mode."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        x: Tensor = ctx.saved_tensors[0]
        return 3 * x.square() * gradient


def _cube(x: Tensor) -> Tensor:
    cubed: Tensor = _Cube.apply(x)  # type: ignore[no-untyped-call]
    return cubed
