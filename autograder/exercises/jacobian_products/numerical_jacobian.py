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
    """A record of the steps and dtypes of a function's calls.

    An answer gets the attribute `function`, which autograd cannot differentiate. Only its closure leads to the probe.
    """

    def __init__(self, function: Function, x: Tensor) -> None:
        self.x = x.detach().clone()
        self.steps: list[float] = []
        self.several = False  # whether a call changed several entries at once
        self.dtypes: set[torch.dtype] = set()

        def call(point: Tensor) -> Tensor:
            with torch.no_grad():
                self.dtypes.add(point.dtype)
                with suppress(Exception):  # under vmap a tensor holds many points
                    apart = point.detach().to(self.x.dtype) - self.x
                    moved = [step for step in apart.flatten().tolist() if step]
                    self.steps += moved
                    self.several |= len(moved) > 1
                return function(point.detach())

        self.function = call

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
    x, box = case.x.clone(), BlackBox(case.f, case.x)
    found = answer.numerical_jacobian(box.function, case.x)
    truth = case.jacobian(x)  # not before: an answer may look for it among all tensors
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


def _wave(rng: torch.Generator, n: int, m: int) -> tuple[Formula, Function]:
    """Return a random function for which few step sizes give good differences, and its Jacobian.

    Its third derivatives are about ten times its first ones. Each input also affects the derivatives by its neighbours.
    An answer that moves an entry and does not move it back is therefore wrong.
    """
    a, b = uniform(rng, m, n), uniform(rng, m)

    def value(x: Tensor) -> Tensor:
        return 10 + (a.to(x.dtype) * (3 * x + x.roll(1)).sin()).sum(1) + b.to(x.dtype)

    def jacobian(x: Tensor) -> Tensor:
        slopes = a * (3 * x + x.roll(1)).cos()
        return 3 * slopes + slopes.roll(-1, 1)

    return Formula("x -> 10 + (a * (3 * x + x.roll(1)).sin()).sum(1) + b", value), jacobian


@numerical_jacobian.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    return {"jacobian": answer.numerical_jacobian(case.f, case.x)}


@numerical_jacobian.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(3, 4), (4, 2), (3, 1)]:
        f, jacobian = _wave(rng, n, m)
        yield Case(f=f, x=uniform(rng, n), jacobian=jacobian)
