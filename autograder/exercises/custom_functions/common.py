"""Parts shared by the exercises on custom Functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograder.checking.exercise import Case, aspect
from autograder.checking.inputs import signed, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import live_bytes

Function: Any = torch.autograd.Function  # its two passes take whatever an operation takes: no signature to hold to


def apply(function: Any, *arguments: object) -> Any:
    """`function.apply(*arguments)`; an error that speaks of the base class when there is no `apply` to call."""
    if not issubclass(function, torch.autograd.Function):
        raise TypeError("the class does not derive from torch.autograd.Function")
    return function.apply(*arguments)


def apply_amid(function: Any, *arguments: Any) -> Any:
    """`apply`, with a second call on other tensors and numbers right after it: each call has to keep its own."""
    y = apply(function, *arguments)
    others = [(1 - a.detach()).requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a + 1 for a in arguments]
    apply(function, *others)
    return y


def apply_own(function: Any, *arguments: object) -> Any:
    """`apply`; an error that says so when the result is torch's own operation and no custom Function's."""
    y = apply(function, *arguments)
    if isinstance(y, Tensor) and y.grad_fn is not None and not isinstance(y.grad_fn, BackwardCFunction):
        raise TypeError(f"the node of the result is {y.grad_fn.name()}, not that of a custom Function")
    return y


def gradients(y: object, inputs: list[Tensor], v: Tensor, create_graph: bool = False) -> list[Tensor | None]:
    """vᵀJ for each of `inputs`; None where there is no way back from `y`."""
    if not isinstance(y, Tensor) or not y.requires_grad or y.shape != v.shape:
        return [None for _ in inputs]
    return list(torch.autograd.grad(y, inputs, v, allow_unused=True, create_graph=create_graph))


def first_derivative(function: Any, case: Case, aspect: str) -> dict[str, object]:
    """Value and gradient of a Function of `case.x` alone under `aspect`, and what became of `grad_output`."""
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    with using_answer():
        each = own_state(function, x, v=v)
        y = apply(function, x)
        gradient = gradients(y, [x], v)[0]
    unchanged = {"grad_output unchanged": same_numbers(v, case.grad_output)}
    return {"each_call": each, aspect: {"value": y, "gradient": gradient}, "grad_output_after": unchanged}


def second_derivative(f: Callable[[Tensor], Any], x: Tensor, v: Tensor, w: Tensor) -> Tensor | None:
    """The second derivative of `f(x)**2 + x * f(x)`, both passes weighted at random.

    Taken of `f` alone, what reaches its backward is a constant, and half of the terms are never seen. The second pass is
    `backward()`, since `autograd.grad` goes only where `x` is and so walks past `once_differentiable`'s error.
    """
    x = x.clone().requires_grad_()
    (gradient,) = gradients(f(x) ** 2 + x * f(x), [x], v.clone(), create_graph=True)
    if gradient is None or not gradient.requires_grad:
        return None
    gradient.backward(w.clone())
    return x.grad


def own_state(function: Any, *arguments: Any, v: Tensor) -> dict[str, object]:
    """Does a call leave its inputs as they were, and has it its own state, whatever is called before its backward?

    Tried on the cases with more than one dimension: once is enough.
    """
    if arguments[0].dim() < 2:
        return {}

    def one(applied: Callable[..., Any]) -> tuple[list[Any], list[Tensor | None]]:
        given = [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in arguments]
        y = applied(function, *given)
        asked = [a for a in given if isinstance(a, Tensor) and a.requires_grad]
        return given, gradients(y[0] if isinstance(y, tuple) and y else y, asked, v.clone())

    given, alone = one(apply)
    amid = one(apply_amid)[1]
    pairs = [(a, b) for a, b in zip(given, arguments) if isinstance(b, Tensor)]
    return {
        "input unchanged": all(same_numbers(a, b) for a, b in pairs),
        "same gradient with a second call": all(same_numbers(a, b) for a, b in zip(alone, amid)),
    }


def same_numbers(a: object, b: object) -> bool:
    """Do two tensors hold the same numbers, NaN in the same places? Two None do as well."""
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return a is b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(a, b) or bool(torch.isclose(a, b, rtol=0, atol=0, equal_nan=True).all())


EACH_CALL = aspect(
    "each_call",
    0,
    en="`forward` leaves its input as it was, and a second call of `apply` does not touch what the first one needs.",
    ru="`forward` не меняет свой вход, а второй вызов `apply` не портит того, что нужно первому.",
)  # the condition on every Function that is no exercise on state or on work in place


KEPT_OUTSIDE = Text(
    "It looks as if what `backward` needs is kept on the class or in a global variable. All calls share those, so a "
    "second call overwrites what the first one needs; each call has its own `ctx`.",
    "Похоже, что нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех "
    "вызовов общее, и второй вызов затирает то, что нужно первому; `ctx` у каждого вызова свой.",
)


WRITES_OVER = Text(
    "It looks as if `forward` computes in place and writes over its input, a tensor that belongs to the caller.",
    "Похоже, что `forward` выполняет вычисление на месте и записывает результат поверх входа, а это чужой тензор.",
)


EDITS = Text(
    "It looks as if `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.",
    "Похоже, что `backward` выполняет вычисление на месте и тем самым меняет `grad_output`, а это чужой тензор.",
)


def or_error(call: Callable[[], object]) -> object:
    """What `call()` returns; the name of the error that it raises."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def gradient_after_edit(function: Any, x: Tensor, v: Tensor, *, edited: str) -> object:
    """The gradient when "input" or "result" was changed in place before backward; the error that says so instead."""
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


def bytes_kept(function: Any, n: int, *, drop_input: bool) -> int:
    """Bytes of what is alive after the forward pass, the input left out if the caller drops it."""
    x = torch.linspace(-1, 1, n, dtype=torch.float64).requires_grad_()
    with live_bytes() as live:
        h = x.neg() if drop_input else x
        y = apply(function, h)
        del h
        kept = live.now
    del y
    return kept


KEPT = 5000  # entries of the tensor on which memory is counted


_SECOND_ASPECTS = [
    EACH_CALL,
    aspect(
        "first",
        1,
        en="The value and the first derivative are right, and `grad_output` stays as it was.",
        ru="Значение и первая производная верны, а `grad_output` не меняется.",
    ),
    aspect(
        "second",
        2,
        en="The second derivative of an expression with the function `f` in it, here `f(x)**2 + x * f(x)`, is right. "
        "(`v` and `w` are what arrives in the first and in the second backward pass.)",
        ru="Верна вторая производная выражения, в которое входит функция `f`: здесь это `f(x)**2 + x * f(x)`. (`v` и "
        "`w` — то, что приходит в первый и во второй обратный проход.)",
    ),
]


def observe_both(function: Any, case: Case, applied: Callable[..., Any] = apply) -> dict[str, object]:
    """The aspects `each_call`, `first` and `second` of a Function of one input."""
    with using_answer():
        x, v = case.x.clone().requires_grad_(), case.v.clone()
        each = own_state(function, x, v=v)
        if not all(each.values()):
            return {"each_call": each}
        y = applied(function, x)
        first = {"value": y, "gradient": gradients(y, [x], v)[0]}
        first["grad_output unchanged"] = same_numbers(v, case.v)
        second = or_error(lambda: second_derivative(lambda t: apply(function, t), case.x, case.v, case.w))
    return {"each_call": each, "first": first, "second": {"second derivative": second}}


def second_cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), v=signed(rng, 2, 3), w=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), v=uniform(rng, 4).float(), w=uniform(rng, 4).float())
    yield Case(x=signed(rng), v=signed(rng), w=signed(rng))
