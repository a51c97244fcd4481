"""Core exercise: a Jacobian by finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, uniform
from autograder.checking.labels import ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import limited_error, relative_error
from autograder.language import Text

from .common import Function, columns_by_differences, tracked

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
    core=True,
    difficulty=2,
    minutes=15,
    rtol=1e-2,
    aspects=[
        aspect(
            "jacobian",
            2,
            en="Column j tells how the outputs change with `x[j]`: a float64 tensor of shape (m, n), right to 1 %.",
            ru="Столбец j показывает, как меняются выходы вместе с `x[j]`: тензор float64 формы (m, n), верный до 1 %.",
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
        Text(
            "for j in range(len(x)):\n    step = torch.zeros_like(x)\n    step[j] = h\n"
            "    columns.append((f(x + step) - ...) / ...)\nreturn torch.stack(columns, dim=...)",
            "for j in range(len(x)):\n    step = torch.zeros_like(x)\n    step[j] = h\n"
            "    columns.append((f(x + step) - ...) / ...)\nreturn torch.stack(columns, dim=...)",
        ),
    ],
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


@numerical_jacobian.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(3, 4), (4, 2)]:
        yield Case(f=Wave(rng, n, m), x=uniform(rng, n))


@numerical_jacobian.mistake(
    en="The columns were stacked as rows, so the matrix is transposed.",
    ru="Столбцы записаны строками, поэтому матрица транспонирована.",
)
def columns_as_rows(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-5).T


@numerical_jacobian.mistake(
    en="The difference over two steps was divided by one step: everything is twice as large.",
    ru="Разность значений, отстоящих на два шага, разделена на один шаг: всё вдвое больше нужного.",
)
def divides_by_one_step(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-5, over=1e-5)


@numerical_jacobian.mistake(
    en="A one-sided difference was divided by two steps: everything is half as large.",
    ru="Односторонняя разность разделена на два шага: всё вдвое меньше нужного.",
)
def divides_by_two_steps(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-7, back=False, over=2e-7)


@numerical_jacobian.mistake(
    en="All entries of `x` were moved at once: that gives one product with a vector of ones.",
    ru="Все элементы `x` сдвинуты сразу: получилось одно произведение с вектором из единиц.",
)
def moves_all_at_once(f: Function, x: Tensor) -> Tensor:
    return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5


@numerical_jacobian.mistake(
    en="All entries of `x` were moved at once for every column: all columns are the same, the sum of all.",
    ru="Для каждого столбца сдвинуты сразу все элементы `x`: столбцы одинаковы, и каждый равен сумме всех.",
)
def moves_all_each_time(f: Function, x: Tensor) -> Tensor:
    return torch.stack([moves_all_at_once(f, x) for _ in x], dim=1)


@numerical_jacobian.mistake(
    en="The step in one entry was not taken back before the next one was moved: each column holds the columns before "
    "it.",
    ru="Шаг в одном элементе не отменён до того, как сдвинут следующий: в каждый столбец вошли все предыдущие.",
)
def step_not_reset(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-5).cumsum(1)


TIMES_THE_STEP = Text(
    "The difference was divided by 2 and multiplied by `h`: `/ 2 * h` is not `/ (2 * h)`.",
    "Разность разделена на 2 и умножена на `h`: `/ 2 * h` — это не `/ (2 * h)`.",
)


@numerical_jacobian.mistake(*TIMES_THE_STEP)
def times_1e_4(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-4) * 1e-8


@numerical_jacobian.mistake(*TIMES_THE_STEP)
def times_1e_5(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-5) * 1e-10


@numerical_jacobian.mistake(*TIMES_THE_STEP)
def times_1e_6(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-6) * 1e-12


@numerical_jacobian.mistake(
    en="Autograd was used. The black box computes without a graph, so there is nothing to differentiate.",
    ru="Использован autograd. Но чёрный ящик вычисляет результат без графа, и дифференцировать там нечего.",
)
def asks_autograd(f: Function, x: Tensor) -> Tensor:
    x = tracked(x)
    return torch.stack([torch.autograd.grad(y, x, retain_graph=True)[0] for y in f(x)])


@numerical_jacobian.mistake(
    en="The step in one entry was not taken back before the next one moved: `f` was called where two entries or more "
    "had moved.",
    ru="Шаг в одном элементе не отменён до того, как сдвинут следующий: функция `f` вызвана там, где сдвинуты два "
    "элемента или больше.",
)
def drifts(f: Function, x: Tensor) -> Tensor:
    p, columns = x.clone(), []
    for j in range(len(x)):
        p[j] += 1e-5
        after = f(p)
        p[j] -= 2e-5
        columns.append((after - f(p)) / 2e-5)
    return torch.stack(columns, dim=1)


@numerical_jacobian.mistake(
    en="The differences go to one side only. Their error shrinks like `h`, and no step makes it small enough.",
    ru="Разности односторонние. Их погрешность убывает как `h`, и никакой шаг не сделает её достаточно малой.",
)
def one_sided(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-8, back=False)


@numerical_jacobian.mistake(
    en="The step is too short: the two values share most of their digits, and rounding is what is left.",
    ru="Шаг слишком мал: у двух значений совпадают почти все знаки, и в разности остаётся погрешность округления.",
)
def too_short(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-9)


@numerical_jacobian.mistake(
    en="The step is too long: the error of a central difference grows like `h²`.",
    ru="Шаг слишком велик: погрешность центральной разности растёт как `h²`.",
)
def too_long(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-3)


@numerical_jacobian.mistake(
    en="The step went through a float32 tensor: `x` was moved by a little more or less than the difference is divided "
    "by.",
    ru="Шаг прошёл через тензор float32: `x` сдвинут не совсем на то число, на которое делится разность.",
)
def another_step(f: Function, x: Tensor) -> Tensor:
    columns = [(f(x + step) - f(x - step)) / 2e-5 for step in 1e-5 * torch.eye(len(x))]
    return torch.stack(columns, dim=1)


@numerical_jacobian.mistake(
    en="The result is in float32, which has too few digits for differences: float64 was asked for.",
    ru="Результат в float32, где для разностей слишком мало знаков: нужен float64.",
)
def returns_float32(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x.float(), 1e-2)


@numerical_jacobian.mistake(
    en="All entries are zero: either `functional.jacobian` or `torch.func` was used, and there is no graph, or both "
    "values of `f` were taken at one point (`a = x` is not a copy).",
    ru="Все элементы нулевые: либо матрица получена от `functional.jacobian` или `torch.func`, а графа нет, либо оба "
    "значения `f` взяты в одной точке (`a = x` — не копия).",
)
def asks_functional(f: Function, x: Tensor) -> object:
    return functional.jacobian(f, x)


@numerical_jacobian.mistake(
    en="The differences were computed in float32, which has seven digits; after the subtraction three or four are "
    "left.",
    ru="Разности вычислены в float32, где семь знаков; после вычитания остаются три-четыре.",
)
def in_float32(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x.float(), 1e-2).double()


@numerical_jacobian.mistake(
    en="The points are half a step away, and the change was divided by two whole steps: everything is half as large.",
    ru="Точки отстоят на полшага, а приращение разделено на два полных шага: всё вдвое меньше.",
)
def halves_the_points(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 5e-6, over=2e-5)


@numerical_jacobian.mistake(
    en="The result was stored in float32, for example in a `torch.zeros(m, n)`: that leaves seven digits.",
    ru="Результат побывал в тензоре float32, например в `torch.zeros(m, n)`: там остаётся семь знаков.",
)
def stored_in_float32(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-5).float().double()


@numerical_jacobian.mistake(
    en="The matrix was made with as many rows as columns. It has one row for each output.",
    ru="В созданной матрице строк столько же, сколько столбцов. Нужна одна строка на каждый выход.",
)
def square_matrix(f: Function, x: Tensor) -> Tensor:
    matrix = torch.zeros(len(x), len(x), dtype=x.dtype)
    for j, step in enumerate(1e-5 * torch.eye(len(x), dtype=x.dtype)):
        matrix[:, j] = (f(x + step) - f(x - step)) / 2e-5
    return matrix


@numerical_jacobian.mistake(
    en="A list of columns was returned. They still have to be stacked into one tensor.",
    ru="Возвращён список столбцов. Их ещё нужно собрать в один тензор.",
)
def list_of_columns(f: Function, x: Tensor) -> object:
    return list(columns_by_differences(f, x, 1e-5).unbind(1))


@numerical_jacobian.mistake(
    en="The outputs were summed: that gives the sum of all rows, one number for each input.",
    ru="Выходы сложены: получилась сумма всех строк, по одному числу на вход.",
)
def sum_of_the_outputs(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-5).sum(0)
