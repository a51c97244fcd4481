"""Core exercise: Hessian-vector products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR, LARGEST_TENSOR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error, relative_error
from autograder.language import Text

from .common import EXACT, NEAR, TO_ROUNDING, Cost, Function, Watched, tracked

_SMALL, _LARGE = 3, 6  # lengths of x for which the cost is counted


def _sum_of_products(x: Tensor) -> Tensor:
    """Return the sum of products of neighbouring entries, with a sine of one factor. No tensor is larger than `x`."""
    return (x[1:] * x[:-1].sin()).sum()


def _count_cost(hessian_vector: Callable[..., object], n: int) -> Cost:
    x = torch.linspace(-1, 1, n, dtype=torch.float64)
    return Cost(lambda counted: hessian_vector(counted, x, x.cos()), _sum_of_products)


@exercise(
    title=Text("H v without H", "H v без H"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=14,
    rtol=NEAR,
    aspects=[
        aspect(
            "product",
            2,
            en="What comes back is `H v`, of shape (n,) and of the dtype of `x`.",
            ru="Возвращается `H v` формы (n,) с тем же dtype, что у `x`.",
        ),
        aspect(
            "exact",
            0.5,
            *TO_ROUNDING,
            measured=ERROR,
        ),
        aspect(
            "passes",
            1,
            en="Calls of `f` and backward passes together are at most 4, whatever n (counted for n = 6).",
            ru="Вызовов `f` и обратных проходов вместе не больше 4 при любом n (подсчитано для n = 6).",
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            1,
            en="No new tensor has more than 4n elements (counted for n = 6).",
            ru="Ни в одном новом тензоре нет больше 4n элементов (подсчитано для n = 6).",
            measured=LARGEST_TENSOR,
        ),
        aspect(
            "operations",
            0.5,
            en="The number of operations does not grow with n (counted: how many more for n = 6 than for n = 3).",
            ru="Число операций не растёт с n (подсчитано, на сколько их больше для n = 6, чем для n = 3).",
            measured=Text("Additional operations", "Лишних операций"),
        ),
    ],
    hints=[
        Text(
            "`H` is the Jacobian of the gradient. Of which function is `H v` a product that you know already?",
            "`H` — матрица Якоби градиента. Для какой функции `H v` — уже знакомое вам произведение?",
        ),
        Text(
            "`H v` is the gradient of the scalar `g @ v`, with `v` held fixed. Does your `g` have a graph?",
            "`H v` — градиент скаляра `g @ v` при неизменном `v`. Есть ли у вашего `g` граф?",
        ),
        Text(
            "x = x.detach().requires_grad_()\n(g,) = torch.autograd.grad(f(x), x, create_graph=...)\n(product,) = torch.autograd.grad(..., x)",
            "x = x.detach().requires_grad_()\n(g,) = torch.autograd.grad(f(x), x, create_graph=...)\n(product,) = torch.autograd.grad(..., x)",
        ),
    ],
)
def hvp(answer: Any, case: Case) -> dict[str, object]:
    truth: Any = functional.hvp(case.f, case.x, case.v)[1]
    watched = Watched(case.f, case.x)
    product = answer.hvp(watched, case.x, case.v)
    with using_answer():
        error = relative_error(truth, product)
    small, large = Cost(), Cost()
    if error < 10 * NEAR:  # the cost of a wrong answer is not counted
        small, large = (_count_cost(answer.hvp, n) for n in (_SMALL, _LARGE))
    return {
        "product": product,
        "exact": limited_error(EXACT, error),
        "passes": AtMost(limit=4, used=large.passes),
        "largest": AtMost(limit=4 * _LARGE, used=large.largest),
        "operations": AtMost(limit=0, used=large.ops - small.ops),
        "many_calls": large.calls >= _LARGE,
        "many_runs": large.runs >= _LARGE,
        "matrix": large.largest >= _LARGE**2,
        "moved": watched.moved,
    }


def _steep_scalar(rng: torch.Generator, n: int) -> Function:
    """Return a random function from R^n to R with a slope around 10000.

    The Hessian depends on x and has no zero entry.
    """
    a, b = uniform(rng, n, n) / n, uniform(rng, n)

    def value(x: Tensor) -> Tensor:
        return 10000 * x.sum() + ((a @ x).square() * b).sum() + (3 * x * b).sin().sum() + x.prod() / 10

    return Formula("x -> 10000 * x.sum() + ((a @ x)**2 * b).sum() + ...", value)


@hvp.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(f=_steep_scalar(rng, 4), x=uniform(rng, 4), v=signed(rng, 4))


def _gradient(f: Function, x: Tensor) -> Tensor:
    """Return the gradient of `f` at `x`, itself with a graph."""
    return torch.autograd.grad(f(x), x, create_graph=True)[0]


@hvp.mistake(
    en="A tensor without a graph is differentiated. In the first call of `grad`: `x` does not require grad, so a copy "
    "is needed that does. In the second: the gradient has no graph without `create_graph=True` (`retain_graph=True` "
    "only keeps the old one).",
    ru="Дифференцируется тензор без графа. Если ошибка в первом вызове `grad`, то `x` не требует градиента и нужна "
    "копия, которая требует. Если во втором, то у градиента нет графа без `create_graph=True` (`retain_graph=True` "
    "лишь сохраняет старый).",
)
def no_graph_behind(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    (g,) = torch.autograd.grad(f(x), x, retain_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


@hvp.mistake(
    en="The gradient of `g @ g` was taken: that is `2 H g`, since `v` does not depend on x.",
    ru="Взят градиент `g @ g`, а это `2 H g`: ведь `v` от x не зависит.",
)
def gradient_of_its_square(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    g = _gradient(f, x)
    return torch.autograd.grad(g @ g, x)[0]


@hvp.mistake(
    en="The sum of the gradient's entries was differentiated: that gives the row sums of `H`, without `v`.",
    ru="Продифференцирована сумма элементов градиента: получились суммы строк `H`, без `v`.",
)
def row_sums(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x).sum(), x)[0]


@hvp.mistake(
    en="The row sums of `H` were taken for its diagonal and multiplied by `v` entry by entry.",
    ru="Суммы строк `H` приняты за её диагональ и поэлементно умножены на `v`.",
)
def row_sums_for_a_diagonal(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x).sum(), x)[0] * v


@hvp.mistake(
    en="One number was returned, `g @ v`. It still has to be differentiated.",
    ru="Возвращено одно число, `g @ v`. Его ещё нужно продифференцировать.",
)
def slope_along_v(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _gradient(f, tracked(x)) @ v


@hvp.mistake(
    en="The gradient itself was returned. It still has to be multiplied by `v` and differentiated.",
    ru="Возвращён сам градиент. Его ещё нужно умножить на `v` и продифференцировать.",
)
def plain_gradient(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _gradient(f, tracked(x))


@hvp.mistake(
    en="The gradient was multiplied by `v` entry by entry: no second derivative was taken.",
    ru="Градиент поэлементно умножен на `v`: вторая производная не взята.",
)
def gradient_weighed(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _gradient(f, tracked(x)) * v


@hvp.mistake(
    en="The value `f(x)` was returned. In the pair of `functional.hvp` the product is the second entry.",
    ru="Возвращено значение `f(x)`. В паре из `functional.hvp` произведение — второй элемент.",
)
def value_of_f(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x)


@hvp.mistake(
    en="The Hessian was replaced by `g gᵀ`, a product of first derivatives.",
    ru="Матрица Гессе заменена на `g gᵀ`, произведение первых производных.",
)
def outer_product(f: Function, x: Tensor, v: Tensor) -> Tensor:
    g = _gradient(f, tracked(x))
    return g * (g @ v)


@hvp.mistake(
    en="The results of both passes were added up in `.grad`: it holds the gradient plus `H v`.",
    ru="Результаты обоих проходов сложились в `.grad`: там градиент плюс `H v`.",
)
def both_in_grad(f: Function, x: Tensor, v: Tensor) -> object:
    x = tracked(x)
    f(x).backward(create_graph=True)  # type: ignore[no-untyped-call]
    assert x.grad is not None
    (x.grad @ v).backward()
    found, x.grad = x.grad, None  # or else the graph and the gradient keep each other alive
    return found.detach()


@hvp.mistake(
    en="The tuple of `torch.autograd.grad` was returned, not the tensor in it.",
    ru="Возвращён кортеж из `torch.autograd.grad`, а не тензор в нём.",
)
def returns_the_tuple(f: Function, x: Tensor, v: Tensor) -> object:
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x) @ v, x)


@hvp.mistake(
    en="The whole pair of `functional.hvp` was returned, value and product. Only the product is asked for.",
    ru="Возвращена вся пара из `functional.hvp`, значение и произведение, а нужно только произведение.",
)
def returns_value_and_product(f: Function, x: Tensor, v: Tensor) -> object:
    return functional.hvp(f, x, v)


@hvp.mistake(
    en="`f` was called at other points than `x`, and gradients were subtracted: a third of the digits is lost, or "
    "more.",
    ru="Функция `f` вызвана не только в точке `x`, и градиенты вычтены один из другого: теряется треть знаков или "
    "больше.",
)
def difference_of_gradients(f: Function, x: Tensor, v: Tensor) -> Tensor:
    h = 1e-6
    return (_gradient(f, tracked(x + h * v)) - _gradient(f, tracked(x - h * v))).detach() / (2 * h)


@hvp.mistake(
    en="The whole Hessian was built, with a backward pass for each row, as `functional.hessian` does.",
    ru="Построена вся матрица Гессе, по обратному проходу на строку, как в `functional.hessian`.",
)
def whole_hessian(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return functional.hessian(f, x) @ v  # type: ignore[no-any-return, operator]


@hvp.mistake(
    en="No matrix was built, but there is a backward pass for each of its rows.",
    ru="Матрица не построена, но на каждую её строку приходится обратный проход.",
)
def row_by_row(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    entries_of_g = _gradient(f, x)
    return torch.stack([torch.autograd.grad(entry, x, retain_graph=True)[0] @ v for entry in entries_of_g])


@hvp.mistake(
    en="There are superfluous calls of `f` or backward passes: not one for each entry, but more than needed.",
    ru="Есть лишние вызовы `f` или обратные проходы: не по одному на элемент, но больше, чем нужно.",
)
def wasted_passes(f: Function, x: Tensor, v: Tensor) -> Tensor:
    f(x), f(x), f(x)
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]  # type: ignore[no-any-return]


@hvp.mistake(
    en="The whole Hessian was built in a batched pass, as `torch.func.hessian` does: n vectors at once.",
    ru="Вся матрица Гессе построена проходом по батчу, как в `torch.func.hessian`: сразу n векторов.",
)
def whole_hessian_batched(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.hessian(f)(x) @ v  # type: ignore[no-any-return]


@hvp.mistake(
    en="`g @ v` was summed entry by entry in Python: each entry adds its own operations.",
    ru="Произведение `g @ v` вычисляется в Python по одному элементу, и на каждый приходятся свои операции.",
)
def sums_in_python(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    g = _gradient(f, x)
    slope = torch.stack([g[i] * v[i] for i in range(len(x))]).sum()
    return torch.autograd.grad(slope, x)[0]


@hvp.mistake(
    en="Only the diagonal of `H` was multiplied by `v`.",
    ru="На `v` умножена только диагональ `H`.",
)
def diagonal_alone(f: Function, x: Tensor, v: Tensor) -> Tensor:
    hessian: Any = functional.hessian(f, x)
    return hessian.diagonal() * v  # type: ignore[no-any-return]


@hvp.mistake(
    en="One number was returned, `vᵀH v`. Only the product `H v` is asked for.",
    ru="Возвращено одно число, `vᵀH v`, а нужно только произведение `H v`.",
)
def multiplies_twice(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1] @ v


@hvp.mistake(
    en="`torch.func.jvp` was given bare tensors. It takes a tuple of inputs and a tuple of directions.",
    ru="Функции `torch.func.jvp` переданы сами тензоры. Она принимает кортеж входов и кортеж направлений.",
)
def without_tuples(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(torch.func.grad(f), x, v)[1]


@hvp.mistake(
    en="The whole pair of `torch.func.jvp` was returned, gradient and product. Only the product is asked for.",
    ru="Возвращена вся пара из `torch.func.jvp`, градиент и произведение, а нужно только произведение.",
)
def returns_gradient_and_product(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))


@hvp.mistake(
    en="The gradient was not taken out of its tuple. `torch.autograd.grad` returns a tuple, even for one input.",
    ru="Градиент не вынут из кортежа. Функция `torch.autograd.grad` возвращает кортеж, даже если вход один.",
)
def gradient_in_its_tuple(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    g: Any = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


@hvp.mistake(
    en="Several numbers are differentiated at once, such as `g` or `g * v`. The scalar `g @ v` has to be differentiated.",
    ru="Дифференцируется сразу несколько чисел, например `g` или `g * v`. Дифференцировать нужно скаляр `g @ v`.",
)
def differentiates_a_vector(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x) * v, x)[0]
