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


class _ProductOfNeighbours(Function):
    """A sum of products that loses its mixed derivatives."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (x * x.roll(1)).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        return gradient * (x.roll(1) + x.roll(-1)).detach()


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
    return (x * cubes).sum()


def _no_mixed(x: Tensor) -> Tensor:
    products: Tensor = _ProductOfNeighbours.apply(x)
    return products + (x**3).sum()


_NAME = "f"
_RIGHT_PROGRAMS = (_smooth, _linear, _partly_linear, _own_cube, _attention_by_formula)
RIGHT = tuple(nameless(function, _NAME) for function in _RIGHT_PROGRAMS)

WRONG = {
    "catches_fused": nameless(_fused, _NAME),
    "catches_once": nameless(_refuses, _NAME),
    "catches_constant": nameless(_constant_gradient, _NAME),
    "catches_half": nameless(_half_of_it, _NAME),
    "catches_mixed": nameless(_no_mixed, _NAME),
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
            "A function that loses one of the terms of the second derivative",
            "Функция, в которой теряется одно из слагаемых второй производной,",
        ),
        _refusal(
            "catches_mixed",
            "A function that loses mixed derivatives alone",
            "Функция, в которой теряются только смешанные производные,",
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
    with using_answer():
        accepts, refuses = case.others.tried(lambda function, right: _says(answer, function, case.x, right))
    return {"accepts_right": all(accepts), **refuses, "accepted": accepts, "refused": list(refuses.values())}


@has_second_derivative.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(others=Lineup(rng, RIGHT, WRONG), x=uniform(rng, 3))


def _gradient(f: Any, x: Tensor, create_graph: bool = True) -> Tensor:
    return torch.autograd.grad(f(x), x, create_graph=create_graph)[0]


@has_second_derivative.mistake(
    en="That the gradient requires grad was taken for a second derivative. The flag promises nothing: the operation may "
    "lack a derivative, or have a wrong one.",
    ru="Признаком второй производной сочтено то, что градиент сам требует градиента. Но этот флаг ничего не обещает: у "
    "операции может не быть производной, или она неверна.",
)
def looks_at_the_flag(f: Any, x: Tensor) -> bool:
    return _gradient(f, x.requires_grad_()).requires_grad


@has_second_derivative.mistake(
    en="What counts here is that no error is raised. A second derivative can be wrong without any.",
    ru="Здесь важно лишь, что не возникает ошибки. Но вторая производная бывает неверной и без ошибки.",
)
def waits_for_an_error(f: Any, x: Tensor) -> bool:
    g = _gradient(f, x.requires_grad_())
    if g.requires_grad:
        torch.autograd.grad(g.sum(), x)
    return True


@has_second_derivative.mistake(
    en="`gradcheck` compares the first derivative with numbers. The second one needs `gradgradcheck`.",
    ru="Функция `gradcheck` сравнивает с числами первую производную. Для второй нужна `gradgradcheck`.",
)
def checks_the_first(f: Any, x: Tensor) -> bool:
    return torch.autograd.gradcheck(f, (x.requires_grad_(),))


@has_second_derivative.mistake(
    en="Every function is refused.",
    ru="Отвергается любая функция.",
)
def refuses_all(f: Any, x: Tensor) -> bool:
    return False


@has_second_derivative.mistake(
    en="A linear function is refused. Its gradient has no graph, and rightly so: its second derivative is 0.",
    ru="Отвергается линейная функция. У её градиента нет графа, и это правильно: её вторая производная равна 0.",
)
def refuses_the_linear(f: Any, x: Tensor) -> bool:
    x = x.requires_grad_()
    return _gradient(f, x).requires_grad and torch.autograd.gradgradcheck(f, (x,))


@has_second_derivative.mistake(
    en="Only the diagonal was compared, and so the loss of mixed derivatives goes unnoticed.",
    ru="Сравнивается только диагональ, поэтому потеря смешанных производных остаётся незамеченной.",
)
def compares_the_diagonal(f: Any, x: Tensor) -> bool:
    x, h = x.requires_grad_(), 1e-5
    g = _gradient(f, x)
    for i, step in enumerate(h * torch.eye(len(x), dtype=x.dtype)):
        there, back = ((x + sign * step).detach().requires_grad_() for sign in (1, -1))
        slope = (_gradient(f, there, False)[i] - _gradient(f, back, False)[i]) / (2 * h)
        found = torch.zeros_like(x)
        if g.requires_grad:
            (found,) = torch.autograd.grad(g[i], x, retain_graph=True, materialize_grads=True)
        if abs(float(found[i] - slope)) > 1e-4:
            return False
    return True
