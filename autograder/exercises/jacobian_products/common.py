"""Helpers for the exercises on Jacobian products."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.counted_run import recording_products
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
    return Formula("x -> 1000 + (3 * a @ x).cos() + ...", lambda x: 1000 + (a @ x * 3).cos() + f(x))


class Watched:
    """A record of whether a function was called anywhere but at `x`.

    An answer gets the attribute `function`. Only its closure leads to the probe, and to read that is conspicuous.
    `moved` is True after a call at another point, as finite differences make it.
    """

    def __init__(self, function: Function, x: Tensor) -> None:
        there, self.moved = x.detach().clone(), False

        def call(point: Tensor) -> Tensor:
            with suppress(Exception):  # under vmap a tensor holds many points, and under tracing no numbers
                self.moved |= not torch.equal(point.detach(), there)
            return function(point)

        self.function = call


class Cost:
    """The counted cost of `call(f)`.

    `calls` are calls of `f`, `runs` are backward passes. `passes` are both together, or more if more products ran: a
    recording of `f` may run again without a call. No call or pass needs more than three times the products of `f`.
    `ops` are torch's aten operations, and `largest` is the number of elements of the largest new tensor. `result` is
    what `call` returned. `Cost()` measures nothing: all its counts are 0.
    """

    calls = runs = passes = ops = largest = 0
    result: object = None

    def __init__(self, call: Callable[..., object] | None = None, f: Function | None = None, *inputs: Tensor) -> None:
        if call is None or f is None:
            return
        counted = CountedCalls(f)
        with recording_products() as of_one_call:
            f(inputs[0])
        with counting_backward_runs() as runs, counting_ops() as ops, recording_products() as products:
            self.result = call(counted.function, *inputs)
        self.calls, self.runs = counted.times, runs.times
        self.passes = max(self.calls + self.runs, len(products) // (3 * len(of_one_call)))
        self.ops, self.largest = ops.times, ops.largest


def with_lists(predicted: dict[str, object], former: Container[str] = ()) -> dict[str, object]:
    """Return a table of predictions with each tensor of several numbers as a list.

    The entries `former` are left out.
    """
    with using_answer():
        listed = {k: v.tolist() if isinstance(v, Tensor) and v.numel() > 1 else v for k, v in predicted.items()}
        return entries(listed, former)


COST_SIZE = 6  # number of inputs and of outputs of a function whose cost is counted


def observe_jvp(product_along: Callable[..., object], case: Case) -> dict[str, object]:
    """Observe an answer `product_along(f, x, v)`: its result on the case, and its cost.

    The cost is counted on `case.counted`, another function of the same kind from R^6 to R^6 with its arguments. It is
    None in cases in which nothing is counted. The cost of a wrong result is not counted, and stays 0.
    """
    x, v, watched = case.x.clone(), case.v.clone(), Watched(case.f, case.x)
    product = product_along(watched.function, case.x, case.v)
    truth: Any = functional.jvp(case.f, x, v)[1]  # not before: an answer may look for it among all tensors
    with using_answer():
        error = relative_error(truth, product)
    cost = Cost()
    if case.counted and error < 10 * NEAR:
        cost = Cost(product_along, *case.counted)
    return {
        "product": product,
        "exact": limited_error(EXACT, error),
        "passes": AtMost(limit=3, used=cost.passes, of=cost.result),
        "largest": AtMost(limit=4 * COST_SIZE, used=cost.largest, of=cost.result),
        "many_calls": cost.calls >= COST_SIZE,
        "many_runs": cost.runs >= COST_SIZE,
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
