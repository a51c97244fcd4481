"""Extra exercise: functions that hide or expose swapped products.

The products are vᵀJ and J v.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula
from autograder.checking.observe import using_answer
from autograder.checking.values import relative_error
from autograder.language import Text

from .common import Function, cube_without_jvp

Example = tuple[Function, Tensor, Tensor]


# What an answer must meet to be judged. `autograder.messages.measured` has the words for a card.
_CONDITIONS = ("one length", "same at each call", "no error")
_ALL_MET = {"a pair of triples": True} | {
    f"{condition}, {which} example": True for which in ("first", "second") for condition in _CONDITIONS
}


def _find_defect(f: Function, x: Tensor, v: Tensor) -> str:
    """Return the condition that a learner's example does not meet, or "".

    The example is a function `f` with a point and a vector.
    """
    x, v = x.detach(), v.detach()
    value = f(x)
    if not x.dim() == 1 < len(x) or not x.shape == v.shape == value.shape:
        return "one length"
    if not torch.equal(value, f(x)):
        return "same at each call"
    try:
        torch.func.jvp(f, (x,), (v,))  # as in the lesson's `swapped`
    except Exception:
        return "no error"
    return ""


def _is_pair_of_triples(answered: object) -> bool:
    return isinstance(answered, (tuple, list)) and [
        isinstance(each, (tuple, list)) and len(each) for each in answered
    ] == [3, 3]


def _jacobian_and_product(f: Function, x: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the Jacobian J, the vector `v`, and J v, all in float64.

    J v is what the wrong function in the lesson returns in place of vᵀJ.
    """
    x, v = x.detach(), v.detach()
    matrix: Any = functional.jacobian(f, x)
    product: Any = torch.func.jvp(f, (x,), (v,))[1]
    return matrix.double(), v.double(), product.double()


@exercise(
    title=Text("Where a wrong product looks right", "Где неверное произведение выглядит верным"),
    kind="write the counter-example",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "square",
            0.5,
            en="Both functions take and return vectors of one length, two or more, and give the same at each call: "
            "`swapped` raises no error.",
            ru="Обе функции принимают и возвращают векторы одной длины, не меньше двух, и при каждом вызове дают одно "
            "и то же; вызов `swapped` выполняется без ошибки.",
        ),
        aspect(
            "hides",
            1,
            en="In the first example `swapped` gives `vᵀJ`, to five digits.",
            ru="В первом примере `swapped` даёт `vᵀJ` с точностью до пяти знаков.",
        ),
        aspect(
            "full",
            0.5,
            en="In the first example no entry of `J` or `v` is zero, and each is at least a thousandth of the largest "
            "one in size.",
            ru="В первом примере среди элементов `J` и `v` нет нулей, и каждый по величине не меньше тысячной доли "
            "наибольшего.",
        ),
        aspect(
            "exposes",
            1,
            en="In the second example `swapped` is wrong by more than 1 %.",
            ru="Во втором примере результат `swapped` отличается от верного больше чем на 1 %.",
        ),
    ],
    hints=[
        Text(
            "For which matrices is `vᵀJ = J v`, whatever `v` is?",
            "Для каких матриц `vᵀJ = J v`, каким бы ни был `v`?",
        ),
        Text(
            "A linear function `lambda x: M @ x` has the Jacobian `M`, so you may choose it.",
            "У линейной функции `lambda x: M @ x` матрица Якоби — `M`, её можно выбрать.",
        ),
        Text(
            "S = torch.tensor([[2.0, 1.0], [1.0, 3.0]])\nM = torch.tensor(...)\n...\n"
            "return (lambda x: S @ x, x, v), (lambda x: M @ x, x, v)",
            "S = torch.tensor([[2.0, 1.0], [1.0, 3.0]])\nM = torch.tensor(...)\n...\n"
            "return (lambda x: S @ x, x, v), (lambda x: M @ x, x, v)",
        ),
    ],
)
def expose_swap(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        answered = answer.expose_swap()
        if isinstance(answered, (tuple, list)) and not _is_pair_of_triples(answered):
            return {"square": {**_ALL_MET, "a pair of triples": False}}
        hiding, exposing = answered
        for which, example in ("first", hiding), ("second", exposing):
            if missed := _find_defect(*example):
                return {"square": {**_ALL_MET, f"{missed}, {which} example": False}}
        (a, v, claimed), (b, w, claimed_too) = _jacobian_and_product(*hiding), _jacobian_and_product(*exposing)
        return {
            "square": _ALL_MET,
            "hides": relative_error(v @ a, claimed) < 1e-5,
            "full": all(bool((t.abs() >= 1e-3 * t.abs().max()).all() and t.any()) for t in (a, v)),
            "exposes": relative_error(w @ b, claimed_too) > 0.01,
            "zero direction": not w.any(),
            "symmetric": torch.allclose(b, b.T),
        }


def _linear(*rows: list[float], v: tuple[float, ...] = (1.0, 10.0)) -> Example:
    matrix = torch.tensor(rows)
    return Formula("x -> M @ x", lambda x: matrix @ x), torch.ones(matrix.shape[1]), torch.tensor(v)


@expose_swap.mistake(
    en="One triple was returned. Two are asked for, an example that hides the mistake and one that exposes it.",
    ru="Возвращена одна тройка. Нужны две: пример, где ошибка не видна, и пример, где она видна.",
)
def one_triple() -> Any:
    return _linear([2.0, 1.0], [1.0, 3.0])


NOT_SQUARE = Text(
    "The vector of an example has one entry only, or the lengths of input, output and `v` differ. With one entry both "
    "products are the same number, and different lengths give the mistake away.",
    "В векторе одного из примеров только один элемент, или длины входа, выхода и `v` различаются. При одном элементе "
    "оба произведения — одно и то же число, а разные длины сразу выдают ошибку.",
)


@expose_swap.mistake(*NOT_SQUARE)
def first_not_square() -> tuple[Example, Example]:
    return _linear([2.0, 1.0, 0.0], [1.0, 3.0, 1.0]), _linear([1.0, 2.0], [3.0, 4.0])


@expose_swap.mistake(*NOT_SQUARE)
def not_square() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([2.0, 1.0, 0.0], [1.0, 3.0, 1.0])


BY_CHANCE = Text(
    "`f` returns something else at each call: it uses random numbers or remembers. Then it has no Jacobian to compare "
    "with.",
    "Функция `f` при каждом вызове возвращает другое: использует случайные числа или что-то запоминает. Тогда нет "
    "матрицы Якоби, с которой можно сравнивать.",
)


@expose_swap.mistake(*BY_CHANCE)
def first_by_chance() -> tuple[Example, Example]:
    return (torch.rand_like, torch.ones(2), torch.tensor([1.0, 10.0])), _linear([1.0, 2.0], [3.0, 4.0])


@expose_swap.mistake(*BY_CHANCE)
def second_by_chance() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), (torch.rand_like, torch.ones(2), torch.tensor([1.0, 10.0]))


RAISES_IN_SWAPPED = Text(
    "`swapped` raises an error in one of the examples although the shapes fit: `f` has no forward mode or is not "
    "written for `torch.func`, or `x` and `v` differ in dtype.",
    "В одном из примеров вызов `swapped` заканчивается ошибкой, хотя формы верны: у `f` нет прямого режима, она "
    "написана не для `torch.func` или у `x` и `v` разные dtype.",
)


@expose_swap.mistake(*RAISES_IN_SWAPPED)
def first_raises_in_swapped() -> tuple[Example, Example]:
    return (cube_without_jvp, torch.ones(2), torch.tensor([1.0, 10.0])), _linear([1.0, 2.0], [3.0, 4.0])


@expose_swap.mistake(*RAISES_IN_SWAPPED)
def raises_in_swapped() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), (cube_without_jvp, torch.ones(2), torch.tensor([1.0, 10.0]))


@expose_swap.mistake(
    en="The two examples are in the wrong order: it is the first one that exposes the mistake.",
    ru="Примеры стоят не в том порядке: ошибку выдаёт первый.",
)
def changed_places() -> tuple[Example, Example]:
    return _linear([1.0, 2.0], [3.0, 4.0]), _linear([2.0, 1.0], [1.0, 3.0])


@expose_swap.mistake(
    en="In the first example `J` or `v` has entries that are zero or next to nothing, as with a function that works on "
    "each entry alone.",
    ru="В первом примере в `J` или в `v` есть нули или ничтожно малые элементы, как у функции, которая действует на "
    "каждый элемент отдельно.",
)
def entry_by_entry() -> tuple[Example, Example]:
    return (lambda x: (x + 1) ** 2, torch.ones(2), torch.tensor([1.0, 10.0])), _linear([1.0, 2.0], [3.0, 4.0])


@expose_swap.mistake(
    en="The second Jacobian is symmetric as well, so no `v` tells the products apart there.",
    ru="Вторая матрица Якоби тоже симметрична, и произведения на ней не различит ни один `v`.",
)
def symmetric_twice() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([2.0, 5.0], [5.0, 1.0])


@expose_swap.mistake(
    en="The second `v` is zero, and so are both products.",
    ru="Второй вектор `v` нулевой, поэтому оба произведения равны нулю.",
)
def zero_direction() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([1.0, 2.0], [3.0, 4.0], v=(0.0, 0.0))


@expose_swap.mistake(
    en="The second `J` is not symmetric, but for this `v` the two products agree to 1 %. Another `v`, or a `J` further "
    "from a symmetric one, tells them apart.",
    ru="Вторая `J` не симметрична, но для этого `v` два произведения совпадают с точностью до 1 %. Их различит другой "
    "`v` или `J`, которая дальше от симметричной.",
)
def almost_the_same() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([2.0, 5.0], [5.01, 1.0])
