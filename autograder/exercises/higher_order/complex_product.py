"""Extra exercise: a custom Function of complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

Function: Any = torch.autograd.Function


def _apply(function: Any, *arguments: Tensor) -> Any:
    """Return `function.apply(*arguments)`.

    Raises TypeError if an ordinary operation of torch made the result.
    """
    if not issubclass(function, torch.autograd.Function):
        raise TypeError("the class does not derive from torch.autograd.Function")
    result = function.apply(*arguments)
    if isinstance(result, Tensor) and result.grad_fn is not None and not isinstance(result.grad_fn, BackwardCFunction):
        raise TypeError(f"the node of the result is {result.grad_fn.name()}, not that of a custom Function")
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
        Text(
            "grad_a = grad_output * b.conj()\nif not a.is_complex():\n    grad_a = ...",
            "grad_a = grad_output * b.conj()\nif not a.is_complex():\n    grad_a = ...",
        ),
    ],
)
def complex_product(answer: Any, case: Case) -> dict[str, object]:
    a, b = (t.clone().requires_grad_() for t in (case.a, case.b))
    with using_answer():
        y = _apply(answer.ComplexProduct, a, b)
        if not isinstance(y, Tensor) or y.shape != case.v.shape or not y.requires_grad:
            return {"value": y}
        try:
            first: Any = torch.autograd.grad(y, (a, b), case.v.to(y.dtype), create_graph=True, allow_unused=True)
        except RuntimeError as error:
            first = f"RuntimeError: {str(error).splitlines()[0][:100]}"
        both_complex = case.a.is_complex() and case.b.is_complex()
        found: dict[str, object] = {"value": y, "complex" if both_complex else "real": _named(first)}
        if both_complex and isinstance(first, tuple):
            found["second"] = _named(_second(first, (a, b)))
        return {"complex": {}, "real": {}, "second": {}, **found}


def _named(gradients: Any) -> object:
    return dict(zip("ab", gradients)) if isinstance(gradients, tuple) else gradients


def _second(first: Any, inputs: tuple[Tensor, Tensor]) -> Any:
    """Return the gradients of the sum of squared magnitudes of the first derivatives."""
    parts = [g.abs().square().sum() for g in first if g is not None and g.requires_grad]
    if not parts:
        return None
    try:
        return torch.autograd.grad(torch.stack(parts).sum(), inputs, materialize_grads=True)
    except RuntimeError as error:
        return f"RuntimeError: {str(error).splitlines()[0][:100]}"


@complex_product.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def number(*shape: int) -> Tensor:
        return torch.complex(signed(rng, *shape), signed(rng, *shape))

    yield Case(a=number(2, 3), b=number(2, 3), v=number(2, 3))
    yield Case(a=signed(rng, 4), b=number(4), v=number(4))
    yield Case(a=number(3), b=signed(rng, 3), v=number(3))
    yield Case(a=number(), b=number(), v=number())


class _Product(Function):
    """The forward pass of a product that saves its inputs."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b


def _fit(gradient: Tensor, to: Tensor) -> Tensor:
    return gradient if to.is_complex() or not gradient.is_complex() else gradient.real


@complex_product.mistake(
    en="The conjugate is missing: the gradient that arrives was multiplied by the derivative itself.",
    ru="Пропущено сопряжение: пришедший градиент умножен на саму производную.",
)
class without_the_conjugate(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a, b)


@complex_product.mistake(
    en="The conjugate was taken of the wrong factor, of the gradient that arrives.",
    ru="Сопряжён не тот множитель: пришедший градиент, а не производная.",
)
class conjugates_what_arrives(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g.conj() * b, a), _fit(g.conj() * a, b)


@complex_product.mistake(
    en="The two gradients are swapped: the one for `a` contains `b`.",
    ru="Градиенты переставлены: в градиент по `a` входит `b`.",
)
class swaps_the_gradients(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * a.conj(), a), _fit(g * b.conj(), b)


@complex_product.mistake(
    en="Only the real part of each gradient was returned. A complex input has both parts.",
    ru="От каждого градиента возвращена только вещественная часть. У комплексного входа нужны обе.",
)
class real_parts_alone(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return (g * b.conj()).real.to(a.dtype), (g * a.conj()).real.to(b.dtype)


@complex_product.mistake(
    en="A real input gets a complex gradient, which torch refuses. Its gradient is the real part.",
    ru="Вещественный вход получает комплексный градиент, и torch от него отказывается. Нужна вещественная часть.",
)
class complex_for_the_real(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return g * b.conj(), g * a.conj()


@complex_product.mistake(
    en="A real input gets the magnitude of the gradient. Its gradient is the real part.",
    ru="Вещественный вход получает модуль градиента, а его градиент — вещественная часть.",
)
class magnitude_for_the_real(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        found = g * b.conj(), g * a.conj()
        return tuple(t if to.is_complex() else t.abs() for t, to in zip(found, (a, b)))


@complex_product.mistake(
    en="The gradient that arrives is missing: only the conjugates were returned.",
    ru="Потерян пришедший градиент: возвращены только сопряжённые числа.",
)
class conjugates_alone(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(b.conj().resolve_conj(), a), _fit(a.conj().resolve_conj(), b)


@complex_product.mistake(
    en="What `backward` computes with is cut off from the inputs, so the gradient counts as a constant: the factors were "
    "computed in `forward` or under `no_grad()`, detached, or the class refuses to be differentiated twice.",
    ru="Величины, с которыми работает `backward`, не связаны со входами, и градиент считается константой: множители "
    "вычислены в `forward` или внутри `no_grad()`, отсоединены, либо класс не допускает повторного дифференцирования.",
)
class conjugates_in_forward(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.conj().resolve_conj().clone(), b.conj().resolve_conj().clone())
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a, b)
