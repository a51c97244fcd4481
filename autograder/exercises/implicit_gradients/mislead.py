"""Exercise: a system whose one-step gradient points the wrong way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.values import AtMost, limited_error
from autograder.language import Text

_LARGEST = 0.9  # of the magnitudes of eigenvalues
_COSINE = -0.05


@exercise(
    title=Text("One step the wrong way", "Один шаг не в ту сторону"),
    kind="write the counter-example",
    difficulty=2,
    aspects=[
        aspect(
            "usable",
            0,
            en="A pair came back: `a` of shape (n, n) and `g` of shape (n,), float64 and finite, `g` not all zeros.",
            ru="Возвращена пара: `a` формы (n, n) и `g` формы (n,), float64, числа конечны, в `g` не все нули.",
        ),
        aspect(
            "settles",
            1,
            en=f"The iteration settles: no eigenvalue of `a` has a magnitude above {_LARGEST}.",
            ru=f"Итерации сходятся: модуль любого собственного значения `a` не больше {_LARGEST}.",
            after=("usable",),
        ),
        aspect(
            "misleads",
            2,
            en="The one-step gradient and the true one have a cosine of -0.05 at most.",
            ru="Косинус угла между градиентом одного шага и настоящим не больше −0.05.",
            after=("usable", "settles"),
        ),
    ],
    hints=[
        Text(
            "For which matrices is the inverse of $I - A$ easy to write down? What happens if all eigenvalues are 0?",
            "Для каких матриц легко записать обратную к $I - A$? А если все собственные значения равны 0?",
        ),
        Text(
            "If $A^2 = 0$, then $(I - A)^{-1} = I + A$. A triangular matrix with zeros on the diagonal may have any large "
            "number beside it.",
            "Если $A^2 = 0$, то $(I - A)^{-1} = I + A$. У треугольной матрицы с нулями на диагонали рядом с диагональю может "
            "стоять сколь угодно большое число.",
        ),
        Text.same(
            "a = torch.zeros(n, n, dtype=torch.float64)\na[0, 1] = ...\ng = torch.zeros(n, dtype=torch.float64)\n"
            "g[:2] = ...\nreturn a, g"
        ),
    ],
)
def mislead(answer: Any, case: Case) -> dict[str, object]:
    found = answer.mislead(case.n)
    seen: dict[str, object] = {"usable": False, "settles": False, "misleads": False}
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        return seen
    flaws = _flaws(found[0], found[1], case.n)
    if any(flaws.values()):
        return seen | flaws
    a, g = (each.detach() for each in found)
    largest = torch.linalg.eigvals(a).abs().max().item()
    settles = {"largest magnitude of an eigenvalue": AtMost(_LARGEST + 1e-6, largest)}
    if largest > _LARGEST + 1e-6:
        return seen | {"usable": True, "settles": settles}
    true = torch.linalg.solve(torch.eye(case.n, dtype=a.dtype) - a.T, g)
    g, true = (each / each.abs().max() for each in (g, true))
    cosine = (g @ true / (g.norm() * true.norm())).item()
    short = torch.linalg.matrix_norm(a, 2).item() < 1
    return {
        "usable": True,
        "settles": settles,
        "misleads": {"cosine of the angle": limited_error(_COSINE, cosine)},
        "shortens every vector": short,
        "the same": cosine > 1 - 1e-9,
        "at a right angle": abs(cosine) <= -_COSINE,
    }


def _flaws(a: object, g: object, n: int) -> dict[str, bool]:
    """Return a dict from what may be wrong with a pair to whether it is."""
    if not isinstance(a, Tensor) or not isinstance(g, Tensor):
        return {"no tensor": True}
    if a.shape != (n, n) or g.shape != (n,):
        return {"wrong shape": True}
    return {
        "not float64": a.dtype != torch.float64 or g.dtype != torch.float64,
        "not finite": not bool(a.isfinite().all() and g.isfinite().all()),
        "all zeros": not g.any(),
    }


@mislead.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n in (2, 3, 5):
        yield Case(n=n)
