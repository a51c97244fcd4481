"""Helpers for the exercises on custom Functions."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograder.checking.containment.caught import Caught, error_kind
from autograder.checking.containment.refused import Refused
from autograder.checking.counted_run import condense
from autograder.checking.exercise import Case, aspect
from autograder.checking.inputs import signed, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.measure import live_bytes

Function: Any = torch.autograd.Function  # Any, as each subclass has its own signature of `forward` and `backward`

# an aspect of most exercises of this lesson
EACH_CALL = aspect(
    "each_call",
    0,
    en="`forward` leaves its input as it was, and a second call of `apply` does not touch what the first one needs.",
    ru="Метод `forward` не меняет свой вход, а второй вызов `apply` не портит того, что нужно первому.",
)

SECOND_ASPECTS = [
    EACH_CALL,
    aspect(
        "first",
        0.5,
        en="The value and the first derivative are right, and `grad_output` stays as it was.",
        ru="Значение и первая производная верны, а `grad_output` не меняется.",
    ),
    aspect(
        "second",
        2.5,
        en="The second derivative of an expression with the function `f` in it, here `f(x)**2 + x * f(x)`, is right. "
        "(`v` and `w` are what arrives in the first and in the second backward pass.)",
        ru="Верна вторая производная выражения, в которое входит функция `f`: здесь это `f(x)**2 + x * f(x)`. (Векторы "
        "`v` и `w` приходят в первый и во второй обратный проход.)",
    ),
]


MEMORY_ENTRIES = 5000  # size of the tensor on which memory is measured
_MOST_OF_ERROR = 200  # characters of an error that a card shows


def apply(function: Any, *arguments: object) -> Any:
    """Return `function.apply(*arguments)`.

    Raises Refused if the class `function` does not derive from `torch.autograd.Function`.
    """
    if not issubclass(function, torch.autograd.Function):
        raise Refused("raised.base", name=function.__name__, base="torch.autograd.Function")
    return function.apply(*arguments)


def apply_custom(function: Any, *arguments: object) -> Any:
    """Return `function.apply(*arguments)`.

    Raises Refused if `function` is no custom Function or if an ordinary torch operation made the result.
    """
    y = apply(function, *arguments)
    if isinstance(y, Tensor) and y.grad_fn is not None and not isinstance(y.grad_fn, BackwardCFunction):
        raise Refused("raised.borrowed", node=y.grad_fn.name())
    return y


def gradients(y: object, inputs: list[Tensor], v: Tensor, create_graph: bool = False) -> list[Tensor | None]:
    """Return the gradient vᵀJ of `y` for each of `inputs`.

    The list holds None for an input on which `y` does not depend.
    """
    if not isinstance(y, Tensor) or not y.requires_grad or y.shape != v.shape:
        return [None for _ in inputs]
    return list(torch.autograd.grad(y, inputs, v, allow_unused=True, create_graph=create_graph))


def same_numbers(a: object, b: object) -> bool:
    """Return whether two tensors hold the same numbers, with NaN in the same places.

    Two Nones also count as the same.
    """
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return a is b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(a, b) or bool(torch.isclose(a, b, rtol=0, atol=0, equal_nan=True).all())


def second_derivative(f: Callable[[Tensor], Any], x: Tensor, v: Tensor, w: Tensor) -> Tensor | None:
    """Differentiate `f(x)**2 + x * f(x)` twice at `x`.

    `v` weighs the first backward pass, `w` the second. For `f(x)` alone, the backward of `f` would get a constant, and
    half of the terms would vanish. The second pass is `backward()`: `autograd.grad` would miss the error that
    `once_differentiable` raises. Returns None if there is no second derivative.
    """
    x = x.clone().requires_grad_()
    (gradient,) = gradients(f(x) ** 2 + x * f(x), [x], v.clone(), create_graph=True)
    if gradient is None or not gradient.requires_grad:
        return None
    gradient.backward(w.clone())
    return x.grad


def gradient_after_edit(function: Any, x: Tensor, v: Tensor, *, edited: str) -> object:
    """Return the gradient of a custom Function after an in-place change before backward.

    `edited` is "input" or "result". Returns "RuntimeError" if torch reports the change.
    """
    x = x.clone().requires_grad_()
    h = x.neg()
    y = apply(function, h)
    if not isinstance(y, Tensor):
        return None
    (h if edited == "input" else y).detach().mul_(3)
    try:
        return gradients(y, [x], v)[0]
    except RuntimeError as error:
        if "modified by an inplace operation" in str(error):
            return "RuntimeError"
        raise


def bytes_kept(function: Any, rng: torch.Generator, *, drop_input: bool) -> AtMost:
    """Return the bytes that are alive after the forward pass of a Function, with a limit.

    The limit is the bytes of the result. The input has `MEMORY_ENTRIES` numbers. If `drop_input` is
    True, the caller releases the input, and only the Function can keep it alive.
    """
    x = signed(rng, MEMORY_ENTRIES).requires_grad_()
    with live_bytes() as live:
        h = x.neg() if drop_input else x
        y = apply(function, h)
        del h
        kept = live.now
    result = condense([y, *torch.autograd.grad(y.sum(), x, materialize_grads=True)])
    return AtMost(MEMORY_ENTRIES * 8 + 64, kept, of=result)


def keep_results(function: Any, rng: torch.Generator, *, drop_input: bool) -> object:
    """Keep the results of 8 calls, on inputs of 4 MB, and return them with a gradient of each.

    `drop_input` is that of `bytes_kept`.
    """
    leaves = [signed(rng, 1024).requires_grad_() for _ in range(8)]
    results, inputs = [], []
    for x in leaves:
        inputs.append(x + x[:512, None] / 2)
        results.append(apply(function, inputs[-1]))
        if drop_input:
            inputs.clear()
    return [condense([y, torch.autograd.grad(y.sum(), x)]) for y, x in zip(results, leaves)]


def result_or_error(call: Callable[[], object]) -> object:
    """Return what `call()` returns, or the exception that it raises."""
    try:
        return call()
    except Exception as error:
        said = textwrap.shorten(str(error), _MOST_OF_ERROR, placeholder=" …")
        return Caught.of(error, f"{error_kind(error)}: {said}")


def observe_state(
    function: Any, *arguments: Any, v: Tensor, found: list[Tensor | None]
) -> tuple[dict[str, object], dict[str, object]]:
    """Observe whether a call of a Function changes its inputs or shares state with another call.

    `arguments` are those of the call that an exercise checks, before it. `found` are the gradients of that call.
    Returns two dicts. The first holds two booleans: inputs unchanged, and the gradients `found` after a second call on
    other arguments, too; a missing one does not count. The second holds the value of that second call. Both are empty
    for inputs with fewer than two dimensions, because the test is needed only once.
    """
    if arguments[0].dim() < 2:
        return {}, {}
    given = [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in arguments]
    others = [(1 - a.detach()).requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a + 1 for a in arguments]
    y, second = (_first_output(apply(function, *each)) for each in (given, others))
    asked = [a for a in given if isinstance(a, Tensor) and a.requires_grad]
    followed = gradients(y, asked, v.clone())
    pairs = [(a, b) for a, b in zip(given, arguments) if isinstance(b, Tensor)]
    each: dict[str, object] = {
        "input unchanged": all(same_numbers(a, b) for a, b in pairs),
        "same gradient with a second call": all(a is None or same_numbers(a, b) for a, b in zip(found, followed)),
    }
    return each, {"value of a second call": second}


def _first_output(y: Any) -> Any:
    return y[0] if isinstance(y, tuple) and y else y


def observe_first(function: Any, case: Case, aspect: str) -> dict[str, object]:
    """Observe a Function with one input, up to its first derivative.

    Returns a dict with the aspects `each_call` and `grad_output_after`. The aspect whose name is in `aspect` holds
    value and gradient.
    """
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    with using_answer():
        y = apply_custom(function, x)
        gradient = gradients(y, [x], v)[0]
        start = case.x.clone().requires_grad_()
        each, second = observe_state(function, start, v=case.grad_output, found=[gradient])
    unchanged = {"grad_output unchanged": gradient is not None and same_numbers(v, case.grad_output)}
    return {"each_call": each, aspect: {"value": y, "gradient": gradient, **second}, "grad_output_after": unchanged}


def observe_both(function: Any, case: Case, applied: Callable[..., Any] = apply) -> dict[str, object]:
    """Observe a Function with one input, up to its second derivative.

    Returns a dict with the aspects `each_call`, `first` and `second`. `applied` calls the Function, as `apply` does.
    """
    with using_answer():
        x, v = case.x.clone().requires_grad_(), case.v.clone()
        y = applied(function, x)
        gradient = gradients(y, [x], v)[0]
        each, other = observe_state(function, case.x.clone().requires_grad_(), v=case.v, found=[gradient])
        if not all(each.values()):
            return {"each_call": each}
        first = {"value": y, "gradient": gradient, **other}
        first["grad_output unchanged"] = same_numbers(v, case.v)
        second = result_or_error(lambda: second_derivative(lambda t: apply(function, t), case.x, case.v, case.w))
    return {"each_call": each, "first": first, "second": {"second derivative": second}}


def second_cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), v=signed(rng, 3, 2).T, w=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), v=uniform(rng, 4).float(), w=uniform(rng, 4).float())
    yield Case(x=signed(rng), v=signed(rng), w=signed(rng))
