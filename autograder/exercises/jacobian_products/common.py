"""Helpers for the exercises on Jacobian products."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.counted_run import number_from
from autograder.checking.exercise import Case
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, entries, limited_error, relative_error
from autograder.language import Text
from autograder.measure import CountedCalls, counting_backward_runs, counting_ops

Function = Callable[[Tensor], Tensor]


NEAR = 1e-4  # relative tolerance of a product; rounding is another aspect

EXACT = 1e-12  # the chain rule reaches about 1e-15, finite differences in float64 only 1e-11


TO_ROUNDING = Text(
    "The product is exact up to rounding: its error is at most 1e-12 of its largest entry.",
    "Произведение верно с точностью до округления: погрешность не больше 1e-12 от наибольшего элемента.",
)


EXACT_ROWS = Text(
    "The result is exact up to rounding: its error is at most 1e-12 of the largest entry.",
    "Результат верен с точностью до округления: погрешность не больше 1e-12 от наибольшего элемента.",
)


def curved(rng: torch.Generator, n: int, m: int) -> Function:
    """Return a random function from R^n to R^m.

    Its Jacobian depends on x, has no zero entry, and is not symmetric for n = m.
    """
    a, b = signed(rng, m, n) / n, uniform(rng, m, n) / n
    return Formula("x -> (a @ x).sin() + b @ x**2", lambda x: (a @ x).sin() + b @ x.square())


def steep(rng: torch.Generator, n: int, m: int) -> Function:
    """Return a random function from R^n to R^m with large values and large derivatives.

    Finite differences of its values lose more than half of their digits.
    """
    a, f = signed(rng, m, n), curved(rng, n, m)
    return Formula("x -> 1000 + (3 * a @ x).cos() + ...", lambda x: 1000 + (3 * a @ x).cos() + f(x))


class Watched:
    """A function that records whether it was called anywhere but at `x`.

    `moved` is True after a call at another point, as finite differences make it.
    """

    def __init__(self, function: Function, x: Tensor) -> None:
        self.function, self.x = function, x.detach().clone()
        self.moved = False

    def __call__(self, point: Tensor) -> Tensor:
        with suppress(Exception):  # under vmap a tensor holds many points, and under tracing no numbers
            self.moved |= not torch.equal(point.detach(), self.x)
        return self.function(point)


class Cost:
    """The counted cost of `call(f)`.

    `calls` are calls of `f`, `runs` are backward passes, `passes` are both together. `ops` are torch's aten operations,
    and `largest` is the number of elements of the largest new tensor. `result` is what `call` returned. `Cost()`
    measures nothing: all its counts are 0.
    """

    calls = runs = passes = ops = largest = 0
    result: object = None

    def __init__(self, call: Callable[[Function], object] | None = None, f: Function | None = None) -> None:
        if call is None or f is None:
            return
        counted = CountedCalls(f)
        with counting_backward_runs() as runs, counting_ops() as ops:
            self.result = call(counted.function)
        self.calls, self.runs, self.passes = counted.times, runs.times, counted.times + runs.times
        self.ops, self.largest = ops.times, ops.largest


def with_lists(predicted: dict[str, object], former: Container[str] = ()) -> dict[str, object]:
    """Return a table of predictions with each tensor of several numbers as a list.

    The entries `former` are left out.
    """
    with using_answer():
        listed = {k: v.tolist() if isinstance(v, Tensor) and v.numel() > 1 else v for k, v in predicted.items()}
        return entries(listed, former)


_COST_SIZE = 6  # number of inputs and of outputs of the function whose cost is counted


def neighbour_products(x: Tensor) -> Tensor:
    """Return tanh of each entry's product with its neighbour.

    No tensor is larger than `x`, and there is no matrix.
    """
    return (x.roll(1) * x).tanh()


def observe_jvp(product_along: Callable[..., object], case: Case, budget: Function) -> dict[str, object]:
    """Observe an answer `product_along(f, x, v)`: its result on the case, and its cost.

    The cost is counted on `budget`, a function from R^6 to R^6. The cost is the same for all cases, and is counted only
    for a case with a square Jacobian. The cost of a wrong result is not counted, and stays 0.
    """
    truth: Any = functional.jvp(case.f, case.x, case.v)[1]
    watched = Watched(case.f, case.x)
    product = product_along(watched, case.x, case.v)
    with using_answer():
        error = relative_error(truth, product)
    cost = Cost()
    if len(truth) == len(case.x) and error < 10 * NEAR:
        x = torch.linspace(0, 1, _COST_SIZE, dtype=torch.float64) + number_from(watched.x)
        cost = Cost(lambda counted: product_along(counted, x, x.cos()), budget)
    return {
        "product": product,
        "exact": limited_error(EXACT, error),
        "passes": AtMost(limit=3, used=cost.passes, of=cost.result),
        "largest": AtMost(limit=4 * _COST_SIZE, used=cost.largest, of=cost.result),
        "many_calls": cost.calls >= _COST_SIZE,
        "many_runs": cost.runs >= _COST_SIZE,
        "moved": watched.moved,
    }


def tracked(x: Tensor) -> Tensor:
    return x.detach().clone().requires_grad_()


class _CubeWithoutJvp(torch.autograd.Function):
    """A custom Function for x^3 with `backward`, but without forward mode."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        x: Tensor = ctx.saved_tensors[0]
        return 3 * x.square() * gradient


def cube_without_jvp(x: Tensor) -> Tensor:
    cubed: Tensor = _CubeWithoutJvp.apply(x)  # type: ignore[no-untyped-call]
    return cubed
