"""The mistakes in `has_second_derivative`, as programs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .has_second_derivative import has_second_derivative


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
    en="Every function is accepted. Is it `gradcheck`, which compares only the first derivative with numbers? The second "
    "one needs `gradgradcheck`. Or does an error count as True?",
    ru="Принимается любая функция. Не вызвана ли `gradcheck`, которая сверяет с конечными разностями только первую "
    "производную? Для второй нужна `gradgradcheck`. Или ответом True считается и ошибка?",
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
    en="Only the diagonal was compared, and so wrong mixed derivatives go unnoticed.",
    ru="Сравнивается только диагональ, поэтому ошибка в смешанных производных остаётся незамеченной.",
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


def _hessian(f: Any, x: Tensor) -> Tensor | None:
    """Return the Hessian by backward passes, or None if there is no second derivative."""
    try:
        found: Tensor = torch.autograd.functional.hessian(f, x)
        return found
    except RuntimeError:
        return None


def _by_differences(f: Any, x: Tensor, h: float = 1e-5) -> Tensor:
    """Return the Hessian by central differences of the gradient."""
    columns = []
    for step in h * torch.eye(len(x), dtype=x.dtype):
        there, back = ((x + sign * step).detach().requires_grad_() for sign in (1, -1))
        columns.append((_gradient(f, there, False) - _gradient(f, back, False)) / (2 * h))
    return torch.stack(columns, 1)


@has_second_derivative.mistake(
    en="Every function is accepted, and none is called.",
    ru="Принимается любая функция, причём ни одна не вызывается.",
)
def accepts_all(f: Any, x: Tensor) -> bool:
    return True


@has_second_derivative.mistake(
    en="Sums over the second derivatives were compared, such as $H$ times a vector of ones. Mixed derivatives can be "
    "wrong although their sums are right.",
    ru="Сравниваются суммы вторых производных, например $H$, умноженная на вектор из единиц. Смешанные производные бывают "
    "неверны и тогда, когда их суммы верны.",
)
def compares_the_sums(f: Any, x: Tensor) -> bool:
    found = _hessian(f, x)
    return found is not None and torch.allclose(found.sum(1), _by_differences(f, x).sum(1), atol=1e-4)


@has_second_derivative.mistake(
    en="What counts here is that the Hessian is symmetric. A wrong one can be symmetric, too.",
    ru="Здесь важно лишь, что матрица Гессе симметрична. Но симметричной бывает и неверная.",
)
def looks_at_the_symmetry(f: Any, x: Tensor) -> bool:
    found = _hessian(f, x)
    return found is not None and torch.allclose(found, found.T)


@has_second_derivative.mistake(
    en="The test was made at another point. Asked for are the second derivatives at `x`.",
    ru="Проверка сделана в другой точке. Нужны вторые производные в точке `x`.",
)
def at_another_point(f: Any, x: Tensor) -> bool:
    return checks_the_second(f, torch.full_like(x, 0.5))


def checks_the_second(f: Any, x: Tensor) -> bool:
    try:
        return torch.autograd.gradgradcheck(f, (x.detach().requires_grad_(),))
    except RuntimeError:
        return False


@has_second_derivative.mistake(
    en="A gradient without a graph was taken for that of a linear function. A wrong function can have such a gradient, "
    "too; only numbers tell.",
    ru="Градиент без графа сочтён градиентом линейной функции. Но такой градиент бывает и у неверной функции; отличить её "
    "можно только по числам.",
)
def no_graph_is_linear(f: Any, x: Tensor) -> bool:
    x = x.requires_grad_()
    return not _gradient(f, x).requires_grad or torch.autograd.gradgradcheck(f, (x,))


@has_second_derivative.mistake(
    en="Right functions are refused, though not all: differences have rounding errors. The comparison needs a tolerance, "
    "and the step must not be too small.",
    ru="Отвергаются и верные функции, хотя не все: у разностей есть ошибки округления. Сравнивать нужно с допуском, а шаг "
    "не должен быть слишком мал.",
)
def without_a_tolerance(f: Any, x: Tensor) -> bool:
    found = _hessian(f, x)
    return found is not None and torch.equal(found, _by_differences(f, x))


@has_second_derivative.mistake(
    en="The tolerance is so wide that second derivatives wrong by a tenth are accepted.",
    ru="Допуск так велик, что принимаются вторые производные с ошибкой в одну десятую.",
)
def too_wide(f: Any, x: Tensor) -> bool:
    found = _hessian(f, x)
    return found is not None and torch.allclose(found, _by_differences(f, x), rtol=0.5, atol=0.5)


@has_second_derivative.mistake(
    en="A linear function is refused: a second derivative of 0 counts as wrong. Wrong ones that are not 0 are accepted.",
    ru="Отвергается линейная функция: вторая производная, равная 0, сочтена неверной. А неверные, не равные 0, принимаются.",
)
def refuses_zeros(f: Any, x: Tensor) -> bool:
    try:
        return bool(torch.autograd.functional.hessian(f, x).any())  # type: ignore[no-untyped-call]
    except RuntimeError:
        return False


@has_second_derivative.mistake(
    en="A right function with a custom Function is refused: `torch.func` does not run a `forward(ctx, ...)`. "
    "`torch.autograd` does.",
    ru="Отвергается верная функция с пользовательской Function: средства `torch.func` не выполняют `forward(ctx, ...)`, а "
    "средства `torch.autograd` выполняют.",
)
def asks_torch_func(f: Any, x: Tensor) -> bool:
    try:
        found = torch.func.hessian(f)(x)
        steps = 1e-5 * torch.eye(len(x), dtype=x.dtype)
        rows = [(torch.func.grad(f)(x + step) - torch.func.grad(f)(x - step)) / 2e-5 for step in steps]
        return torch.allclose(found, torch.stack(rows), atol=1e-4)
    except RuntimeError:
        return False


@has_second_derivative.mistake(*has_second_derivative.mistakes["refuses_all"].says)
def calls_and_refuses_all(f: Any, x: Tensor) -> bool:
    f(x)
    return False


@has_second_derivative.mistake(*has_second_derivative.mistakes["asks_torch_func"].says)
def trips_over_torch_func(f: Any, x: Tensor) -> bool:
    found = torch.func.hessian(f)(x)
    return torch.allclose(found, _by_differences(f, x), atol=1e-4)


@has_second_derivative.mistake(
    en="`gradgradcheck` was given `x` as it came. Its input has to require grad.",
    ru="Функция `gradgradcheck` получила `x` как есть. А её вход должен требовать градиента.",
)
def without_the_flag(f: Any, x: Tensor) -> bool:
    return torch.autograd.gradgradcheck(f, (x,))


@has_second_derivative.mistake(*has_second_derivative.mistakes["at_another_point"].says)
def at_zero(f: Any, x: Tensor) -> bool:
    return checks_the_second(f, torch.zeros_like(x))
