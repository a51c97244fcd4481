"""Exercise: a Jacobian by finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, uniform
from autograder.checking.labels import ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import limited_error, relative_error
from autograder.language import Text

from .common import Function

_CLOSE = 1e-9  # relative error that central differences with a good step reach, unlike one-sided ones


class BlackBox:
    """A function that autograd cannot differentiate.

    It records the difference steps and dtypes with which it was called.
    """

    def __init__(self, function: Function, x: Tensor) -> None:
        self.function, self.x = function, x.detach().clone()
        self.steps: list[float] = []
        self.several = False  # whether a call changed several entries at once
        self.dtypes: set[torch.dtype] = set()

    def __call__(self, point: Tensor) -> Tensor:
        with torch.no_grad():
            self.dtypes.add(point.dtype)
            with suppress(Exception):  # under vmap a tensor holds many points
                apart = point.detach().to(self.x.dtype) - self.x
                moved = [step for step in apart.flatten().tolist() if step]
                self.steps += moved
                self.several |= len(moved) > 1
            return self.function(point.detach())

    def kind(self) -> str:
        """Return what the recorded calls say about the finite differences.

        The word is "float32", "several" (entries moved at once), "one side", "too short", "too long", "float32 step"
        or "good".
        """
        if torch.float32 in self.dtypes:
            return "float32"
        if self.several:
            return "several"
        if not self.steps or min(self.steps) > 0 or max(self.steps) < 0:
            return "one side"
        longest = max(map(abs, self.steps))
        if not 3e-7 <= longest <= 3e-5:
            return "too short" if longest < 3e-7 else "too long"
        single = torch.tensor(longest).item()
        return "float32 step" if abs(single - longest) < 1e-10 * longest else "good"


@exercise(
    title=Text("The Jacobian of a black box", "Матрица Якоби чёрного ящика"),
    kind="design",
    difficulty=2,
    rtol=1e-2,
    aspects=[
        aspect(
            "jacobian",
            1.5,
            en="Column j tells how the outputs change with `x[j]`: a float64 tensor of shape (m, n), right to 1 %.",
            ru="Столбец j показывает, как меняются выходы вместе с `x[j]`: это тензор float64 формы (m, n), верный с "
            "точностью до 1 %.",
        ),
        aspect(
            "accurate",
            1.5,
            en="The largest error is at most 1e-9 of the largest entry.",
            ru="Наибольшая погрешность не больше 1e-9 от наибольшего элемента.",
            measured=ERROR,
        ),
        aspect(
            "x",
            0.5,
            en="`x` holds what it held before, up to rounding.",
            ru="В `x` лежит то же, что и раньше, с точностью до округления.",
        ),
        works_on(0.5, after=("jacobian",)),
    ],
    hints=[
        Text(
            "Which entries of the Jacobian can you learn by moving only `x[j]`: a row or a column?",
            "Какие элементы матрицы Якоби можно узнать, сдвигая только `x[j]`: строку или столбец?",
        ),
        Text(
            "Step to both sides: the error is of the order of `h²` then, not of `h`. Then read the best step off the "
            "table above.",
            "Шагните в обе стороны: тогда погрешность порядка `h²`, а не `h`. Затем найдите лучший шаг в таблице выше.",
        ),
        Text.same(
            "for j in range(len(x)):\n    step = torch.zeros_like(x)\n    step[j] = h\n"
            "    columns.append((f(x + step) - ...) / ...)\nreturn torch.stack(columns, dim=...)"
        ),
    ],
    why=Why(
        Text(
            "Why does a smaller step not always make the difference more accurate?",
            "Почему меньший шаг не всегда даёт более точную разность?",
        ),
        Text(
            "Two values that lie close agree in most digits, and subtracting leaves their rounding error, which "
            "is then divided by a small step. The best step balances it against the formula's own error.",
            "У близких значений совпадают почти все цифры, и после вычитания остаётся ошибка округления, которую "
            "ещё и делят на малый шаг. Лучший шаг уравновешивает её с ошибкой самой формулы.",
        ),
    ),
)
def numerical_jacobian(answer: Any, case: Case) -> dict[str, object]:
    truth = case.f.jacobian(case.x)
    box = BlackBox(case.f, case.x)
    found = answer.numerical_jacobian(box, case.x)
    with using_answer():
        accurate = limited_error(_CLOSE, relative_error(truth, found))  # type: ignore[arg-type]
        single = isinstance(found, Tensor) and torch.equal(found.float().to(found.dtype), found)
    return {
        "jacobian": found,
        "accurate": accurate,
        "x": relative_error(box.x, case.x) < 1e-12,
        "how": box.kind(),
        "float32 numbers": single,
    }


class Wave(Formula):
    """A random function for which few step sizes give good differences.

    Its third derivatives are about ten times its first ones. Each input also affects the derivatives by its neighbours.
    An answer that moves an entry and does not move it back is therefore wrong.
    """

    def __init__(self, rng: torch.Generator, n: int, m: int) -> None:
        self.a, self.b = uniform(rng, m, n), uniform(rng, m)
        super().__init__("x -> 10 + (a * (3 * x + x.roll(1)).sin()).sum(1) + b", self.value)

    def value(self, x: Tensor) -> Tensor:
        return 10 + (self.a.to(x.dtype) * (3 * x + x.roll(1)).sin()).sum(1) + self.b.to(x.dtype)

    def jacobian(self, x: Tensor) -> Tensor:
        slopes = self.a * (3 * x + x.roll(1)).cos()
        return 3 * slopes + slopes.roll(-1, 1)


@numerical_jacobian.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    return {"jacobian": answer.numerical_jacobian(case.f, case.x)}


@numerical_jacobian.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(3, 4), (4, 2), (3, 1)]:
        yield Case(f=Wave(rng, n, m), x=uniform(rng, n))
