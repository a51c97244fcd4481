"""Core exercise: a square root inside `where` without NaN gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import graph_nodes

from .common import FLOAT64


def _upstream(y: Tensor) -> Tensor:
    """Return the gradient from which the backward pass starts at `y`."""
    return torch.linspace(1, 2, y.numel(), dtype=y.dtype).reshape(y.shape)


def _compare_small(x: Tensor, value: Tensor, gradient: Tensor | None) -> dict[str, str]:
    """Return how value and gradient of an answer compare with the right ones: "right", "zero" or "wrong".

    A root of a small number is itself small. The comparison is therefore relative to each entry.
    """
    root = torch.where(x > 0, x, 0.0).sqrt()
    right = {"value": root, "gradient": torch.where(x > 0, _upstream(x) / (2 * root), 0.0)}

    def compared(name: str, got: Tensor | None) -> str:
        if got is None or got.shape != x.shape:
            return "wrong"
        if torch.allclose(got.to(x.dtype), right[name], rtol=2e-5, atol=0):
            return "right"
        return "wrong" if bool(got.any()) else "zero"

    return {name: compared(name, got) for name, got in (("value", value), ("gradient", gradient))}


@exercise(
    title=Text("A root that gives NaN", "Корень, который даёт NaN"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    shows_graph=True,
    rtol=2e-5,
    aspects=[
        aspect(
            "untouched",
            0,
            en="`x` is what it was: the same numbers, and no hook.",
            ru="Тензор `x` остался прежним: числа те же, хуков нет.",
        ),
        aspect(
            "value",
            1,
            en="The value is the root where `x > 0`, and 0 elsewhere.",
            ru="Значение равно корню при `x > 0` и нулю в остальных точках.",
        ),
        aspect(
            "gradient",
            1,
            en="The derivative is `1 / (2 * sqrt(x))` where `x > 0`, and 0 elsewhere.",
            ru="Производная равна `1 / (2 * sqrt(x))` при `x > 0` и нулю в остальных точках.",
            after=("untouched", "value"),
        ),
        aspect(
            "small",
            1,
            en="Both hold for small positive numbers as well.",
            ru="То и другое верно и для малых положительных чисел.",
            after=("untouched", "value", "gradient"),
        ),
    ],
    hints=[
        Text(
            "`where` sends 0 into the branch that was not taken. What does `SqrtBackward0` multiply this 0 by?",
            "В невыбранную ветвь `where` передаёт 0. На что умножает этот 0 узел `SqrtBackward0`?",
        ),
        Text(
            "No number may get into `sqrt` at which its derivative is infinite or undefined, not even in an entry that "
            "is thrown away.",
            "В `sqrt` не должно попасть ни одно число, при котором производная бесконечна или не определена, даже "
            "если этот элемент потом отбрасывается.",
        ),
        Text(
            "inside = torch.where(x > 0, x, ...)\nreturn torch.where(x > 0, ..., 0.0)",
            "inside = torch.where(x > 0, x, ...)\nreturn torch.where(x > 0, ..., 0.0)",
        ),
    ],
)
def safe_sqrt(answer: Any, case: Case) -> dict[str, object]:
    small = bool(case.x.abs().max() < 1e-6)
    y = answer.safe_sqrt(case.x)
    with using_answer():
        value, gradient = y.detach().clone(), None
        if y.requires_grad:
            upstream = _upstream(y)
            (gradient,) = torch.autograd.grad(y, case.x, upstream, allow_unused=True)
        names = [node.name() for node in graph_nodes(y)]
        about = _compare_small(case.x.detach(), value, gradient) if small else {}
    hooks = case.x._backward_hooks
    return {
        "untouched": {"x": case.x, "hooks": len(hooks or ())},
        "value": None if small else value,
        "gradient": None if small else gradient,
        "small": set(about.values()) <= {"right"},
        "about small numbers": about,
        "names": names,
    }


@safe_sqrt.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for shape in ((7,), (3, 4)):
        x = signed(rng, *shape)
        x.view(-1)[:5] = torch.tensor([0.0, 1e-4, -1.0, 4.0, 0.0], dtype=FLOAT64)
        yield Case(x=x.requires_grad_())
    for scale, dtype in (1e-200, torch.float64), (1e-36, torch.float32):
        x = scale * uniform(rng, 5)
        x[0], x[1] = 0.0, -x[1]
        yield Case(x=x.to(dtype).requires_grad_())
    yield Case(x=uniform(rng).requires_grad_())


@safe_sqrt.mistake(
    en="A small number was added to `x` inside `sqrt`. That changes the value where `x` is small, and below 0 `sqrt` "
    "is still undefined.",
    ru="Внутри `sqrt` к `x` прибавлено малое число. Это меняет значение при малых `x`, а ниже нуля `sqrt` по-прежнему "
    "не определён.",
)
def adds_a_little(x: Tensor) -> Tensor:
    return torch.where(x > 0, (x + 1e-5).sqrt(), 0.0)


@safe_sqrt.mistake(
    en="The root of a small positive number stands in place of 0.",
    ru="На месте нуля стоит корень из малого положительного числа.",
)
def clamps_at_a_little(x: Tensor) -> Tensor:
    return x.clamp(min=1e-6).sqrt()


@safe_sqrt.mistake(
    en="NaN was multiplied by 0. The product is NaN again, in the value itself.",
    ru="NaN умножается на 0. Произведение — снова NaN, уже в самом значении.",
)
def multiplies_by_a_mask(x: Tensor) -> Tensor:
    return x.sqrt() * (x > 0)


@safe_sqrt.mistake(
    en="Negative numbers were cut off, but the root of 0 is still taken: at 0 the gradient is infinite.",
    ru="Отрицательные числа отсечены, но корень из 0 по-прежнему вычисляется: в нуле градиент бесконечен.",
)
def clamps_at_zero(x: Tensor) -> Tensor:
    return x.clamp(min=0).sqrt()


@safe_sqrt.mistake(
    en="NaN was replaced in the value alone. The gradient still goes through the root: infinite at 0, NaN below.",
    ru="NaN заменён только в значении. Градиент по-прежнему идёт через корень: в нуле он бесконечен, а ниже нуля это "
    "NaN.",
)
def replaces_nan_in_the_value(x: Tensor) -> Tensor:
    return x.sqrt().nan_to_num()


@safe_sqrt.mistake(
    en="`sqrt` still gets 0 and negative numbers. What comes after it protects the value only.",
    ru="В `sqrt` по-прежнему попадают 0 и отрицательные числа. То, что идёт после него, защищает только значение.",
)
def protects_the_value_only(x: Tensor) -> Tensor:
    return torch.where(x > 0, x.sqrt(), 0.0).nan_to_num()


@safe_sqrt.mistake(
    en="1e-8 was added to `x` inside `sqrt`: 0 is safe now, but a small `x` gets a wrong value, and below 0 `sqrt` is "
    "still undefined.",
    ru="Внутри `sqrt` к `x` прибавлено 1e-8: в нуле теперь всё в порядке, но при малых `x` значение неверно, а ниже "
    "нуля `sqrt` по-прежнему не определён.",
)
def adds_a_hundred_millionth(x: Tensor) -> Tensor:
    return torch.where(x > 0, (x + 1e-8).sqrt(), 0.0)


@safe_sqrt.mistake(
    en="1e-12 was added to `x` inside `sqrt`: 0 is safe now, but a small `x` gets a wrong value, and below 0 `sqrt` is "
    "still undefined.",
    ru="Внутри `sqrt` к `x` прибавлено 1e-12: в нуле теперь всё в порядке, но при малых `x` значение неверно, а ниже "
    "нуля `sqrt` по-прежнему не определён.",
)
def adds_next_to_nothing(x: Tensor) -> Tensor:
    return torch.where(x > 0, (x + 1e-12).sqrt(), 0.0)


@safe_sqrt.mistake(
    en="Small positive numbers were taken for 0: the border is not at 0 but above it.",
    ru="Малые положительные числа приняты за ноль: граница проведена не в нуле, а выше.",
)
def draws_the_border_above_zero(x: Tensor) -> Tensor:
    inside = torch.where(x > 1e-6, x, 1.0)
    return torch.where(x > 1e-6, inside.sqrt(), 0.0)


@safe_sqrt.mistake(
    en="Only the wording has changed: `sqrt` still gets 0 and negative numbers, and a choice comes after it.",
    ru="Изменилась только запись: в `sqrt` по-прежнему попадают 0 и отрицательные числа, а выбор идёт после него.",
)
def words_it_otherwise(x: Tensor) -> Tensor:
    return torch.where(x <= 0, torch.zeros_like(x), torch.sqrt(x))


@safe_sqrt.mistake(
    en="The NaN appears as before and is then removed by a hook, which stays on the caller's `x`. There it hides every "
    "later NaN as well.",
    ru="NaN возникает, как и раньше, а потом убирается в хуке. Хук остаётся на `x` вызывающего кода и скроет любой "
    "следующий NaN.",
)
def wipes_the_nan_off(x: Tensor) -> Tensor:
    x.register_hook(lambda gradient: gradient.nan_to_num(0.0))
    return torch.where(x > 0, x.sqrt(), 0.0)


@safe_sqrt.mistake(
    en="The numbers of `x` itself were changed. `x` belongs to the caller.",
    ru="Изменены числа в самом `x`, а `x` принадлежит вызывающему коду.",
)
def changes_x_itself(x: Tensor) -> Tensor:
    with torch.no_grad():
        x.clamp_(min=0)
    return torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0)


@safe_sqrt.mistake(
    en="Only the positive entries were returned. The result should have the shape of `x`.",
    ru="Возвращены только положительные элементы, а форма результата должна быть та же, что у `x`.",
)
def keeps_positive_entries_only(x: Tensor) -> Tensor:
    return x[x > 0].sqrt()


@safe_sqrt.mistake(
    en="A negative number was taken by its magnitude, but the value there has to be 0.",
    ru="Отрицательное число взято по модулю, но значение там должно быть равно 0.",
)
def takes_the_root_of_the_magnitude(x: Tensor) -> Tensor:
    return x.abs().sqrt()


@safe_sqrt.mistake(
    en="Only negative numbers are kept out of `sqrt`. At 0 its derivative is infinite, and 0 times infinity is NaN.",
    ru="Отрицательные числа в `sqrt` больше не попадают, а ноль попадает. Производная в нём бесконечна, а 0, "
    "умноженный на бесконечность, — это NaN.",
)
def takes_the_magnitude(x: Tensor) -> Tensor:
    return torch.where(x > 0, x.abs().sqrt(), 0.0)


@safe_sqrt.mistake(
    en="`sqrt` was cut off from the graph: no NaN comes back, but no gradient either.",
    ru="Корень `sqrt` отсоединён от графа: NaN не появляется, но и градиента нет.",
)
def cuts_the_root_off(x: Tensor) -> Tensor:
    return torch.where(x > 0, x.detach().sqrt(), 0.0)


@safe_sqrt.mistake(
    en="The entries that are not positive were replaced by 1 and stay so: the value there is 1 instead of 0.",
    ru="Неположительные элементы так и остались единицами: значение там равно 1, а не 0.",
)
def forgets_the_outer_where(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, 1.0).sqrt()


@safe_sqrt.mistake(
    en="Small positive numbers are raised to a bound: below it the value is that of the bound and the derivative is 0.",
    ru="Малые положительные числа заменены некоторой границей: ниже неё значение такое же, как на границе, а "
    "производная равна 0.",
)
def raises_small_numbers(x: Tensor) -> Tensor:
    return torch.where(x > 0, x.clamp(min=1e-12).sqrt(), 0.0)


@safe_sqrt.mistake(
    en="Python's `if` is asked about a tensor of several numbers. The choice is needed for each entry: `torch.where`.",
    ru="В условие `if` попадает тензор из нескольких чисел. Выбирать нужно для каждого элемента: `torch.where`.",
)
def asks_with_if(x: Tensor) -> Tensor:
    return x.sqrt() if x > 0 else 0 * x


@safe_sqrt.mistake(
    en="The numbers of `x` were changed in place, and torch refuses: `x` is a leaf that requires grad.",
    ru="Числа в `x` меняются на месте, а torch этого не разрешает: `x` — лист, который требует градиента.",
)
def edits_the_leaf(x: Tensor) -> Tensor:
    positive = x > 0
    x[~positive] = 1.0
    return torch.where(positive, x.sqrt(), 0.0)


@safe_sqrt.mistake(
    en="The root is computed in float32, whatever the dtype of `x`.",
    ru="Корень вычислен в float32, каким бы ни был dtype тензора `x`.",
)
def computes_in_float32(x: Tensor) -> Tensor:
    return torch.where(x > 0, torch.where(x > 0, x, 1.0).float().sqrt(), 0.0)


@safe_sqrt.mistake(
    en="The value was divided by a detached root. The gradient then takes the root for a constant and is twice too "
    "large.",
    ru="Значение получено делением на отсоединённый корень. В градиенте корень считается постоянным, и градиент вдвое "
    "больше нужного.",
)
def divides_by_a_constant_root(x: Tensor) -> Tensor:
    root = torch.where(x > 0, x, 1.0).sqrt().detach()
    return torch.where(x > 0, x / root, 0.0)
