"""Extra exercise: write a test for second derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.autograd.gradcheck import GradcheckError
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from autograder.checking.exercise import Aspect, Case, aspect, exercise
from autograder.checking.inputs import Lineup, nameless, uniform
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

Function: Any = torch.autograd.Function
_WRONG_ABOVE = 2.0  # one of the wrong functions is wrong in this part alone


class _Cube(Function):
    """A right Function for x^3, without `setup_context`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * gradient


class _CubeOnce(_Cube):
    """A Function for x^3 that refuses to be differentiated twice."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * gradient


class _CubeConstant(_Cube):
    """A Function for x^3 whose gradient is a constant to autograd."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        with torch.no_grad():
            return 3 * ctx.saved_tensors[0] ** 2 * gradient


class _CubeRoughly(_Cube):
    """A Function for x^3 whose second derivative is wrong by a tenth."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        slope = 3 * ctx.saved_tensors[0] ** 2
        return gradient * (1.1 * slope - 0.1 * slope.detach())


class _Products(Function):
    """Twice the sum of the products of neighbours, without its mixed derivatives."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return 2 * (x * x.roll(1)).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        return gradient * 2 * (x.roll(1) + x.roll(-1)).detach()


class _ProductsShifted(_Products):
    """The same sum with wrong mixed derivatives that have the right sums."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        shift = 0.2 * (x.roll(1) - x.roll(-1))
        return gradient * (2 * (x.roll(1) + x.roll(-1)) + shift - shift.detach())


def _smooth(x: Tensor) -> Tensor:
    return (x.sin() * x.roll(1)).sum()


def _linear(x: Tensor) -> Tensor:
    return (3 * x).sum()


def _partly_linear(x: Tensor) -> Tensor:
    return x[0] ** 3 + 5 * x[1] - x[2]


def _own_cube(x: Tensor) -> Tensor:
    cubes: Tensor = _Cube.apply(x)
    return cubes.sum()


def _attention_by_formula(x: Tensor) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        return _fused(x)


def _fused(x: Tensor) -> Tensor:
    heads = x.view(1, 1, -1, 1)
    return scaled_dot_product_attention(heads, heads, heads).square().sum()


def _refuses(x: Tensor) -> Tensor:
    cubes: Tensor = _CubeOnce.apply(x)
    return cubes.sum()


def _constant_gradient(x: Tensor) -> Tensor:
    cubes: Tensor = _CubeConstant.apply(x)
    return cubes.sum()


def _half_of_it(x: Tensor) -> Tensor:
    cubes: Tensor = _CubeConstant.apply(x)
    return (x * torch.where(x > _WRONG_ABOVE, cubes, x**3)).sum()


def _shifted_mixed(x: Tensor) -> Tensor:
    products: Tensor = _ProductsShifted.apply(x)
    return products + (x**3).sum()


def _no_mixed(x: Tensor) -> Tensor:
    products: Tensor = _Products.apply(x)
    return products + (x**3).sum()


def _roughly(x: Tensor) -> Tensor:
    cubes: Tensor = _CubeRoughly.apply(x)
    return cubes.sum()


_NAME = "f"
_RIGHT_PROGRAMS = (_smooth, _linear, _partly_linear, _own_cube, _attention_by_formula)
RIGHT = tuple(nameless(function, _NAME) for function in _RIGHT_PROGRAMS)

WRONG = {
    "catches_fused": nameless(_fused, _NAME),
    "catches_once": nameless(_refuses, _NAME),
    "catches_constant": nameless(_constant_gradient, _NAME),
    "catches_half": nameless(_half_of_it, _NAME),
    "catches_mixed": nameless(_shifted_mixed, _NAME),
    "lost_mixed": nameless(_no_mixed, _NAME),
    "rough": nameless(_roughly, _NAME),  # evidence alone
}


def _refusal(name: str, en: str, ru: str) -> Aspect:
    return aspect(name, 0.5, en=f"{en} is refused.", ru=f"{ru} отвергается.")


def _says(answer: Any, function: Any, x: Tensor, right: bool) -> object:
    """Return what the learner's test says of `function`.

    A failed assertion or gradcheck is a refusal. A RuntimeError on a wrong function is a refusal, too: torch has found that there is no second derivative.
    """
    try:
        return bool(answer.has_second_derivative(function, x.clone()))
    except AnswerRaised as raised:
        if isinstance(raised.__cause__, (AssertionError, GradcheckError) if right else (AssertionError, RuntimeError)):
            return False
        raise


@exercise(
    title=Text("Is there a second derivative?", "Есть ли вторая производная?"),
    kind="write the test",
    difficulty=3,
    minutes=15,
    aspects=[
        aspect(
            "accepts_right",
            0.5,
            en="Every function with a right second derivative is accepted, a linear one included.",
            ru="Любая функция с верной второй производной принимается, в том числе линейная.",
        ),
        _refusal(
            "catches_fused",
            "A function whose second derivative is not implemented",
            "Функция, вторая производная которой не реализована,",
        ),
        _refusal(
            "catches_once",
            "A function that may be differentiated once only",
            "Функция, которую можно дифференцировать только один раз,",
        ),
        _refusal(
            "catches_constant",
            "A function whose gradient has no graph although it depends on `x`",
            "Функция, у градиента которой нет графа, хотя он зависит от `x`,",
        ),
        _refusal(
            "catches_half",
            "A function that loses a term of the second derivative at `x`, though not everywhere",
            "Функция, в которой в точке `x`, хотя и не всюду, теряется одно из слагаемых второй производной,",
        ),
        _refusal(
            "catches_mixed",
            "A function whose mixed derivatives alone are wrong",
            "Функция, у которой неверны только смешанные производные,",
        ),
    ],
    hints=[
        Text(
            "A test needs a truth that does not come from the second derivative itself. What can be had from the first "
            "one, at two points?",
            "Тесту нужен эталон, который получен не из самой второй производной. Что можно узнать по первой в двух "
            "точках?",
        ),
        Text(
            "The gradient of a linear function has no graph, and rightly so; the gradient of a wrong one may have none "
            "either. Only the numbers tell them apart. torch has a function for such comparisons: lesson 04.",
            "У градиента линейной функции графа нет, и это правильно; но графа может не быть и у неправильной. "
            "Различить их можно только по числам. Для таких сравнений в torch есть готовая функция: см. урок 04.",
        ),
        Text(
            "x = x.detach().requires_grad_()\ntry:\n    return torch.autograd.gradgradcheck(...)\nexcept RuntimeError:\n    ...",
            "x = x.detach().requires_grad_()\ntry:\n    return torch.autograd.gradgradcheck(...)\nexcept RuntimeError:\n    ...",
        ),
    ],
)
def has_second_derivative(answer: Any, case: Case) -> dict[str, object]:
    calls = 0

    def judged(function: Any, right: bool) -> object:
        def counted(x: Tensor) -> Any:
            nonlocal calls
            calls += 1
            return function(x)

        return _says(answer, nameless(counted, _NAME), case.x, right)

    with using_answer():
        accepts, refuses = case.others.tried(judged)
    mixed = refuses["catches_mixed"] and refuses["lost_mixed"]
    found = {"accepted": accepts, "refused": list(refuses.values()), "calls": calls > 0}
    return {"accepts_right": all(accepts), **refuses, "catches_mixed": mixed, **found}


@has_second_derivative.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(others=Lineup(rng, RIGHT, WRONG), x=_WRONG_ABOVE + uniform(rng, 3))
