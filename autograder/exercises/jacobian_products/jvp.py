"""Core exercise: Jacobian-vector products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad, functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR, LARGEST_TENSOR
from autograder.language import Text

from .common import LOSES_DIGITS, NEAR, TO_ROUNDING, Function, neighbour_products, observe_jvp, steep, tracked


@exercise(
    title=Text("J v without J", "J v без J"),
    kind="design",
    core=True,
    minutes=8,
    rtol=NEAR,
    aspects=[
        aspect(
            "product",
            2,
            en="What comes back is `J v`, of shape (m,) and of the dtype of `x`.",
            ru="Возвращается `J v` формы (m,) с тем же dtype, что у `x`.",
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
            en="Calls of `f` and backward passes together are at most 3, whatever n and m (counted for n = m = 6).",
            ru="Вызовов `f` и обратных проходов вместе не больше 3 при любых n и m (подсчитано для n = m = 6).",
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            0.5,
            en="No new tensor has more than 4·max(n, m) elements (counted for n = m = 6).",
            ru="Ни в одном новом тензоре нет больше 4·max(n, m) элементов (подсчитано для n = m = 6).",
            measured=LARGEST_TENSOR,
        ),
    ],
    hints=[
        Text(
            "`backward` gives `vᵀJ`: rows. Which mode carries a direction *forward* through `f`?",
            "`backward` даёт `vᵀJ`, строки. Какой режим передаёт направление через `f` *вперёд*?",
        ),
        Text(
            "Make a dual tensor of `x` and `v`, call `f`, read the tangent, all inside `dual_level()`. Or look at "
            "`torch.func`.",
            "Сделайте дуальный тензор из `x` и `v`, вызовите `f`, прочтите касательный вектор — всё внутри "
            "`dual_level()`. Или загляните в `torch.func`.",
        ),
        Text(
            "with forward_ad.dual_level():\n    y = f(forward_ad.make_dual(x, v))\n    return forward_ad.unpack_dual(...).tangent",
            "with forward_ad.dual_level():\n    y = f(forward_ad.make_dual(x, v))\n    return forward_ad.unpack_dual(...).tangent",
        ),
    ],
)
def jvp(answer: Any, case: Case) -> dict[str, object]:
    return observe_jvp(answer.jvp, case, neighbour_products)


@jvp.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(4, 4), (2, 5)]:
        yield Case(f=steep(rng, n, m), x=uniform(rng, n), v=signed(rng, n))


@jvp.mistake(
    en="The other product was returned, `vᵀJ`: `v` went in as the weight of the outputs.",
    ru="Возвращено другое произведение, `vᵀJ`: вектор `v` использован как веса выходов.",
)
def other_product(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(f(x), x, v)[0]


@jvp.mistake(
    en="Either nothing was returned, or a tangent that was read after its level was closed: it is `None` there.",
    ru="Либо ничего не возвращено, либо касательный вектор прочитан после закрытия уровня: там он равен `None`.",
)
def tangent_read_too_late(f: Function, x: Tensor, v: Tensor) -> object:
    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(x, v))
    return forward_ad.unpack_dual(y).tangent


@jvp.mistake(
    en="A level of forward mode was entered and never left: the next call finds it still open.",
    ru="Уровень прямого режима не закрыт: при следующем вызове он всё ещё открыт.",
)
def leaves_the_level_open(f: Function, x: Tensor, v: Tensor) -> object:
    forward_ad.enter_dual_level()  # type: ignore[no-untyped-call]
    return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent


@jvp.mistake(
    en="The value `f(x)` was returned. In a dual tensor the derivative is `unpack_dual(...).tangent`; in a pair it is "
    "the second entry.",
    ru="Возвращено значение `f(x)`. В дуальном тензоре производная — это `unpack_dual(...).tangent`, в паре — второй "
    "элемент.",
)
def returns_the_value(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x)


@jvp.mistake(
    en="The whole result of `unpack_dual` was returned, value and tangent. Only the tangent is asked for.",
    ru="Результат `unpack_dual` возвращён целиком, значение и касательный вектор, а нужен только вектор.",
)
def returns_the_unpacked(f: Function, x: Tensor, v: Tensor) -> object:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v)))


@jvp.mistake(
    en="A dual tensor was made outside any level. `make_dual` works inside `with forward_ad.dual_level():`.",
    ru="Дуальный тензор создан вне уровня. Функция `make_dual` работает внутри `with forward_ad.dual_level():`.",
)
def no_level(f: Function, x: Tensor, v: Tensor) -> object:
    return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent


@jvp.mistake(
    en="`torch.func.jvp` was given bare tensors. It takes a tuple of inputs and a tuple of directions.",
    ru="Функции `torch.func.jvp` переданы сами тензоры. Она принимает кортеж входов и кортеж направлений.",
)
def without_tuples(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(f, x, v)[1]


@jvp.mistake(
    en="The change of `f` over the whole step `v` was returned. The derivative is only its linear part.",
    ru="Возвращено изменение `f` на всём шаге `v`. Производная — только его линейная часть.",
)
def one_whole_step(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x + v) - f(x)


@jvp.mistake(
    en="The whole matrix was built and multiplied by `v` from the left. In `J v` the vector stands on the right.",
    ru="Построена вся матрица и умножена на `v` слева. В `J v` вектор стоит справа.",
)
def matrix_from_the_left(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return v @ functional.jacobian(f, x)  # type: ignore[no-any-return, operator]


@jvp.mistake(
    en="The whole pair was returned, value and product. Only the product is asked for.",
    ru="Возвращена вся пара, значение и произведение, а нужно только произведение.",
)
def returns_the_pair(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(f, (x,), (v,))


@jvp.mistake(
    en="The gradient of the summed outputs was multiplied by `v` entry by entry.",
    ru="Градиент суммы выходов поэлементно умножен на `v`.",
)
def gradient_times_v(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] * v


@jvp.mistake(
    en="The gradient of the summed outputs was multiplied by `v`: one number, the sum of all entries of `J v`.",
    ru="Градиент суммы выходов скалярно умножен на `v`: получилось одно число, сумма элементов `J v`.",
)
def sum_of_the_product(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] @ v


@jvp.mistake(
    en="A tensor without a graph is differentiated. In the first call of `grad`: `x` does not require grad, so a copy "
    "is needed that does. In the second: `create_graph=True` is missing in the first.",
    ru="Дифференцируется тензор без графа. Если ошибка в первом вызове `grad`, то `x` не требует градиента и нужна "
    "копия, которая требует. Если во втором, то в первом не хватает `create_graph=True`.",
)
def no_graph_to_go_on(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    y = f(x)
    u = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u)
    return torch.autograd.grad(g, u, v)[0]


@jvp.mistake(
    en="The gradient is taken with respect to a tensor that does not require grad, for example an auxiliary vector "
    "`u`.",
    ru="Градиент берётся по тензору, который не требует градиента, например по вспомогательному вектору `u`.",
)
def untracked_cotangent(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    y = f(x)
    u = torch.ones_like(y)
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]


def _second_by_x(f: Function, x: Tensor, v: Tensor, u: float) -> Tensor:
    x = tracked(x)
    y = f(x)
    (g,) = torch.autograd.grad(y, x, torch.full_like(y, u, requires_grad=True), create_graph=True)
    return torch.autograd.grad(g, x, v)[0]


BY_X = Text(
    "The second call differentiates with respect to `x`: that gives second derivatives of `f`. The first product "
    "depends on `u` too, and it is `u` that has to be differentiated by.",
    "Второй вызов дифференцирует по `x`: получаются вторые производные `f`. Первое произведение зависит и от `u`, и "
    "дифференцировать нужно по `u`.",
)


@jvp.mistake(*BY_X)
def by_x_with_zeros(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _second_by_x(f, x, v, 0.0)


@jvp.mistake(*BY_X)
def by_x_with_ones(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _second_by_x(f, x, v, 1.0)


@jvp.mistake(
    en="`f` was called at other points than `x`: finite differences lose a third of the digits or more.",
    ru="Функция `f` вызвана не только в точке `x`: при конечных разностях теряется треть знаков или больше.",
)
def finite_differences(f: Function, x: Tensor, v: Tensor) -> Tensor:
    h = 1e-6
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


@jvp.mistake(
    en="There is a backward pass for each output: the rows are computed one by one and multiplied by `v`.",
    ru="На каждый выход приходится обратный проход: строки вычисляются по одной и умножаются на `v`.",
)
def all_rows_first(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return functional.jacobian(f, x) @ v  # type: ignore[no-any-return, operator]


@jvp.mistake(
    en="The columns were computed one by one, with a call of `f` for each input, and then mixed.",
    ru="Столбцы вычислены по одному, с вызовом `f` на каждый вход, и потом сложены с весами.",
)
def all_columns_first(f: Function, x: Tensor, v: Tensor) -> Tensor:
    units = torch.eye(len(x), dtype=x.dtype)
    columns = [torch.func.jvp(f, (x,), (unit,))[1] * share for unit, share in zip(units, v)]
    return torch.stack(columns).sum(0)


@jvp.mistake(
    en="There are superfluous calls of `f` or backward passes: not one for each entry, but more than needed.",
    ru="Есть лишние вызовы `f` или обратные проходы: не по одному на элемент, но больше, чем нужно.",
)
def wasted_calls(f: Function, x: Tensor, v: Tensor) -> Tensor:
    f(x)
    return functional.jvp(f, x, v)[1]  # type: ignore[no-any-return]


@jvp.mistake(
    en="The whole matrix was built in one batched pass, as `jacrev` and `jacfwd` do. It is one pass, but of many "
    "vectors at once.",
    ru="Вся матрица построена за один проход, как в `jacrev` и `jacfwd`. Проход один, но в нём сразу много векторов.",
)
def matrix_in_one_pass(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.jacrev(f)(x) @ v  # type: ignore[no-any-return]


@jvp.mistake(
    en="The auxiliary vector `u` has the shape of the input. It stands on the side of the outputs and needs their "
    "shape.",
    ru="У вспомогательного вектора `u` форма входа. Но он стоит на стороне выходов, и форма ему нужна их.",
)
def cotangent_like_the_input(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    u = torch.zeros_like(x, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]


@jvp.mistake(
    en="`x` and `v` are swapped: the derivative is that at `v`, in the direction `x`.",
    ru="Перепутаны `x` и `v`: производная взята в точке `v` по направлению `x`.",
)
def point_and_direction_swapped(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(f, (v,), (x,))[1]


@jvp.mistake(*jvp.mistakes["other_product"].says)
def asks_functional_vjp(f: Function, x: Tensor, v: Tensor) -> object:
    return functional.vjp(f, x, v)[1]


@jvp.mistake(
    en="The matrix was transposed before it was multiplied by `v`: `Jᵀv` is the other product, `vᵀJ`.",
    ru="Перед умножением на `v` матрица транспонирована: `Jᵀv` — это другое произведение, `vᵀJ`.",
)
def transposed_matrix(f: Function, x: Tensor, v: Tensor) -> object:
    matrix: Any = functional.jacobian(f, x)
    return matrix.T @ v


def _by_cotangent(f: Function, x: Tensor, v: Tensor, dtype: torch.dtype) -> Tensor:
    x = tracked(x)
    y = f(x)
    u = torch.zeros(len(y), dtype=dtype, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]


@jvp.mistake(
    en="The result has the dtype float32. A tensor made without `dtype`, such as `torch.zeros(m)`, brings that in.",
    ru="У результата dtype float32. Так бывает из-за тензора, созданного без `dtype`, например `torch.zeros(m)`.",
)
def result_in_float32(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _by_cotangent(f, x, v, torch.float32)


@jvp.mistake(*LOSES_DIGITS)
def through_float32(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _by_cotangent(f, x, v, torch.float32).to(x.dtype)
