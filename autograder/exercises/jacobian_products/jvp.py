"""Core exercise: Jacobian-vector products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad, functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.language import Text

from .common import NEAR, TO_ROUNDING, Function, neighbour_products, observe_jvp, steep, tracked


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
        aspect("exact", 0.5, *TO_ROUNDING),
        aspect(
            "passes",
            1,
            en="Calls of `f` and backward passes together are at most 3, whatever n and m (counted for n = m = 6).",
            ru="Вызовов `f` и обратных проходов вместе не больше 3 при любых n и m (подсчитано для n = m = 6).",
        ),
        aspect(
            "largest",
            0.5,
            en="No new tensor has more than 4·max(n, m) elements (counted for n = m = 6).",
            ru="Ни в одном новом тензоре нет больше 4·max(n, m) элементов (подсчитано для n = m = 6).",
        ),
    ],
    hints=[
        Text(
            "`backward` gives `vᵀJ`: rows. Which mode carries a direction *forward* through `f`?",
            "`backward` даёт `vᵀJ`, строки. Какой режим проводит направление *вперёд* через `f`?",
        ),
        Text(
            "Make a dual tensor of `x` and `v`, call `f`, read the tangent, all inside `dual_level()`. Or look at `torch.func`.",
            "Сделайте дуальный тензор из `x` и `v`, вызовите `f`, прочтите касательный вектор — всё внутри "
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
    en="It looks as if this is the other product, `vᵀJ`: `v` went in as the weight of the outputs.",
    ru="Похоже, что это другое произведение, `vᵀJ`: `v` использован как веса выходов.",
)
def other_product(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(f(x), x, v)[0]


@jvp.mistake(
    en="It looks as if nothing came back, or a tangent that was read after its level was closed: it is `None` there.",
    ru="Похоже, что либо не вернулось ничего, либо касательный вектор прочитан после закрытия уровня: там он равен "
    "`None`.",
)
def tangent_read_too_late(f: Function, x: Tensor, v: Tensor) -> object:
    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(x, v))
    return forward_ad.unpack_dual(y).tangent


@jvp.mistake(
    en="It looks as if a level of forward mode was entered and never left: the next call finds it still open.",
    ru="Похоже, что уровень прямого режима не закрыт: при следующем вызове он всё ещё открыт.",
)
def leaves_the_level_open(f: Function, x: Tensor, v: Tensor) -> object:
    forward_ad.enter_dual_level()  # type: ignore[no-untyped-call]
    return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent


@jvp.mistake(
    en="It looks as if the value `f(x)` came back. In a dual tensor the derivative is `unpack_dual(...).tangent`; "
    "in a pair it is the second entry.",
    ru="Похоже, что вернулось значение `f(x)`. В дуальном тензоре производная — это `unpack_dual(...).tangent`, "
    "в паре — второй элемент.",
)
def returns_the_value(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x)


@jvp.mistake(
    en="It looks as if what `unpack_dual` gives came back whole, value and tangent. Only the tangent is asked for.",
    ru="Похоже, что результат `unpack_dual` вернулся целиком, значение и касательный вектор. Нужен только второй.",
)
def returns_the_unpacked(f: Function, x: Tensor, v: Tensor) -> object:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v)))


@jvp.mistake(
    en="It looks as if a dual tensor was made outside any level: `make_dual` works inside `with forward_ad.dual_level():`.",
    ru="Похоже, что дуальный тензор создан вне уровня: `make_dual` работает внутри `with forward_ad.dual_level():`.",
)
def no_level(f: Function, x: Tensor, v: Tensor) -> object:
    return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent


@jvp.mistake(
    en="It looks as if `torch.func.jvp` was given bare tensors. It takes a tuple of inputs and a tuple of directions.",
    ru="Похоже, что в `torch.func.jvp` переданы сами тензоры. Она принимает кортеж входов и кортеж направлений.",
)
def without_tuples(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(f, x, v)[1]


@jvp.mistake(
    en="It looks as if the change of `f` over the whole step `v` came back. The derivative is only its linear part.",
    ru="Похоже, что вернулось изменение `f` на всём шаге `v`. Производная — только его линейная часть.",
)
def one_whole_step(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x + v) - f(x)


@jvp.mistake(
    en="It looks as if the whole matrix was built and multiplied by `v` from the left. In `J v` it stands on the right.",
    ru="Похоже, что построена вся матрица и умножена на `v` слева. В `J v` вектор стоит справа.",
)
def matrix_from_the_left(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return v @ functional.jacobian(f, x)  # type: ignore[no-any-return, operator]


@jvp.mistake(
    en="It looks as if the whole pair came back, value and product. Only the product is asked for.",
    ru="Похоже, что вернулась вся пара, значение и произведение. Нужно только произведение.",
)
def returns_the_pair(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(f, (x,), (v,))


@jvp.mistake(
    en="It looks as if the gradient of the summed outputs was multiplied by `v` entry by entry.",
    ru="Похоже, что градиент суммы выходов поэлементно умножен на `v`.",
)
def gradient_times_v(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] * v


@jvp.mistake(
    en="It looks as if the gradient of the summed outputs was multiplied by `v`: one number, the sum of all entries of `J v`.",
    ru="Похоже, что градиент суммы выходов скалярно умножен на `v`: получилось одно число, сумма элементов `J v`.",
)
def sum_of_the_product(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] @ v


@jvp.mistake(
    en="It looks as if what is to be differentiated has no graph. In the first call of `grad`: `x` does not require grad, "
    "take a copy that does. In the second: `create_graph=True` is missing in the first.",
    ru="Похоже, что дифференцируется тензор без графа. Если ошибка в первом вызове `grad`, `x` не требует градиента: "
    "возьмите копию, которая требует. Если во втором, то в первом не хватает `create_graph=True`.",
)
def no_graph_to_go_on(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    y = f(x)
    u = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u)
    return torch.autograd.grad(g, u, v)[0]


@jvp.mistake(
    en="It looks as if the gradient was asked for with respect to a tensor that does not require grad, "
    "say an auxiliary vector `u`.",
    ru="Похоже, что градиент берётся по тензору, который не требует градиента, например по вспомогательному вектору "
    "`u`.",
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
    "It looks as if the second call differentiates by `x`: that gives second derivatives of `f`. "
    "The first product depends on `u`, too: differentiate by `u`.",
    "Похоже, что второй вызов дифференцирует по `x`: получаются вторые производные `f`. "
    "Первое произведение зависит и от `u`: дифференцируйте по `u`.",
)


@jvp.mistake(*BY_X)
def by_x_with_zeros(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _second_by_x(f, x, v, 0.0)


@jvp.mistake(*BY_X)
def by_x_with_ones(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _second_by_x(f, x, v, 1.0)


@jvp.mistake(
    en="It looks as if `f` was called at other points than `x`: finite differences lose a third of the digits or more.",
    ru="Похоже, что `f` вызвана не только в точке `x`: конечные разности теряют треть знаков или больше.",
)
def finite_differences(f: Function, x: Tensor, v: Tensor) -> Tensor:
    h = 1e-6
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


@jvp.mistake(
    en="It looks as if there is a backward pass for each output: the rows are computed one by one and multiplied by `v`.",
    ru="Похоже, что на каждый выход приходится обратный проход: строки вычисляются по одной и умножаются на `v`.",
)
def all_rows_first(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return functional.jacobian(f, x) @ v  # type: ignore[no-any-return, operator]


@jvp.mistake(
    en="It looks as if the columns were computed one by one, a call of `f` for each input, and then mixed.",
    ru="Похоже, что столбцы вычислены по одному, по вызову `f` на каждый вход, и потом смешаны.",
)
def all_columns_first(f: Function, x: Tensor, v: Tensor) -> Tensor:
    units = torch.eye(len(x), dtype=x.dtype)
    columns = [torch.func.jvp(f, (x,), (unit,))[1] * share for unit, share in zip(units, v)]
    return torch.stack(columns).sum(0)


@jvp.mistake(
    en="It looks as if there are superfluous calls of `f` or backward passes: not one for each entry, but more than needed.",
    ru="Похоже, что есть лишние вызовы `f` или обратные проходы: не по одному на элемент, но больше, чем нужно.",
)
def wasted_calls(f: Function, x: Tensor, v: Tensor) -> Tensor:
    f(x)
    return functional.jvp(f, x, v)[1]  # type: ignore[no-any-return]


@jvp.mistake(
    en="It looks as if the whole matrix was built in one batched pass, as `jacrev` and `jacfwd` do. "
    "One pass it is, but of many vectors at once.",
    ru="Похоже, что вся матрица построена за один проход, как это делают `jacrev` и `jacfwd`. "
    "Проход один, но в нём сразу много векторов.",
)
def matrix_in_one_pass(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.jacrev(f)(x) @ v  # type: ignore[no-any-return]


@jvp.mistake(
    en="It looks as if the auxiliary vector `u` has the shape of the input. It stands on the side of the outputs.",
    ru="Похоже, что у вспомогательного вектора `u` форма входа. Он стоит на стороне выходов.",
)
def cotangent_like_the_input(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    u = torch.zeros_like(x, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]
