"""Exercise: functions that hide or expose swapped products.

The products are vᵀJ and J v.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.checking.values import relative_error
from autograder.language import Text

from .common import Function

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
    aspects=[
        aspect(
            "square",
            0.5,
            en="Both functions take and return vectors of one length, two or more, and give the same at each call: "
            "`swapped` raises no error.",
            ru="Обе функции принимают и возвращают векторы одной длины, не меньше двух, и при повторном "
            "вызове дают то же самое; вызов `swapped` выполняется без ошибки.",
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
        Text.same(
            "S = torch.tensor([[2.0, 1.0], [1.0, 3.0]])\nM = torch.tensor(...)\n...\n"
            "return (lambda x: S @ x, x, v), (lambda x: M @ x, x, v)"
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
