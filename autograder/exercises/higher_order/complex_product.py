"""Extra exercise: a custom Function of complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.containment.caught import Caught
from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text


def _apply(function: Any, *arguments: Tensor) -> Any:
    """Return `function.apply(*arguments)`.

    Raises Refused if an ordinary operation of torch made the result.
    """
    if not issubclass(function, torch.autograd.Function):
        raise Refused("raised.base", name=function.__name__, base="torch.autograd.Function")
    result = function.apply(*arguments)
    if isinstance(result, Tensor) and result.grad_fn is not None and not isinstance(result.grad_fn, BackwardCFunction):
        raise Refused("raised.borrowed", node=result.grad_fn.name())
    return result


@exercise(
    title=Text("A complex product", "Произведение комплексных чисел"),
    kind="complete",
    asks="ComplexProduct",
    asks_for="class",
    difficulty=2,
    minutes=12,
    aspects=[
        aspect("value", 0.5, en="The value is `a * b`.", ru="Значение равно `a * b`."),
        aspect(
            "complex",
            1,
            en="The gradients for two complex inputs are torch's.",
            ru="Градиенты по двум комплексным входам такие же, как у torch.",
        ),
        aspect(
            "real",
            0.5,
            en="A real input beside a complex one gets a real gradient, and the right one.",
            ru="Вещественный вход рядом с комплексным получает вещественный градиент, причём верный.",
        ),
        aspect("second", 1, en="The second derivatives are right.", ru="Вторые производные верны.", after=("complex",)),
    ],
    hints=[
        Text(
            "For $w = az$ and a real loss, how does the loss change when $z$ moves in the direction 1, and how when it "
            "moves in the direction $i$?",
            "Пусть $w = az$, а функция потерь вещественна. Как она меняется при сдвиге $z$ в направлении 1 и как — в "
            "направлении $i$?",
        ),
        Text(
            "The gradient that arrives is multiplied by the *conjugate* of the derivative. A real number moves in one "
            "direction only: its gradient is a real part.",
            "Пришедший градиент умножается на *сопряжённую* производную. А вещественное число сдвигается только в одном "
            "направлении: его градиент — вещественная часть.",
        ),
        Text.same("grad_a = grad_output * b.conj()\nif not a.is_complex():\n    grad_a = ..."),
    ],
)
def complex_product(answer: Any, case: Case) -> dict[str, object]:
    a, b = (t.clone().requires_grad_() for t in (case.a, case.b))
    with using_answer():
        y = _apply(answer.ComplexProduct, a, b)
        if not isinstance(y, Tensor) or y.shape != case.v.shape or not y.requires_grad:
            return {"value": y}
        _ = call_with_other_numbers(y, answer.ComplexProduct.apply, a, b)
        try:
            first: Any = torch.autograd.grad(y, (a, b), case.v.to(y.dtype), create_graph=True, allow_unused=True)
        except RuntimeError as error:
            first = Caught.of(error, f"RuntimeError: {str(error).splitlines()[0][:100]}")
        both_complex = case.a.is_complex() and case.b.is_complex()
        found: dict[str, object] = {"value": y, "complex" if both_complex else "real": _named(first)}
        if both_complex and isinstance(first, tuple):
            found["second"] = _named(_second_of_all(y, first, (a, b), case.v))
        return {"complex": {}, "real": {}, "second": {}, **found}


def _named(gradients: Any) -> object:
    return dict(zip(("a", "b", "grad_output"), gradients)) if isinstance(gradients, tuple) else gradients


def _second_of_all(y: Tensor, first: Any, inputs: tuple[Tensor, Tensor], v: Tensor) -> Any:
    """Return second gradients by the inputs and, if there are any, by the gradient that arrives."""
    second = _second(first, inputs)
    if not isinstance(second, tuple):
        return second
    v = v.clone().requires_grad_()
    through = _second(torch.autograd.grad(y, inputs, v, create_graph=True, allow_unused=True), (v,))
    return *second, through[0] if isinstance(through, tuple) else through


def _second(first: Any, inputs: tuple[Tensor, ...]) -> Any:
    """Return the gradients of the sum of squared magnitudes of the first derivatives."""
    parts = [g.abs().square().sum() for g in first if g is not None and g.requires_grad]
    if not parts:
        return None
    try:
        return torch.autograd.grad(torch.stack(parts).sum(), inputs, materialize_grads=True)
    except RuntimeError as error:
        return Caught.of(error, f"RuntimeError: {str(error).splitlines()[0][:100]}")


@complex_product.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def number(*shape: int) -> Tensor:
        return torch.complex(signed(rng, *shape), signed(rng, *shape))

    a, b = number(2, 3), number(2, 3)
    a[0, 1] = b[1, 0] = 0.0
    yield Case(a=a, b=b, v=number(2, 3))
    yield Case(a=signed(rng, 4), b=number(4), v=number(4))
    yield Case(a=number(3), b=signed(rng, 3), v=number(3))
    yield Case(a=number(), b=number(), v=number())
