"""Core exercise: the Jacobian, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, with_old_gradient
from autograder.checking.labels import ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import limited_error, relative_error
from autograder.language import Text

from .common import EXACT, EXACT_ROWS, LOSES_DIGITS, curved


@exercise(
    title=Text("The Jacobian, row by row", "Матрица Якоби по строкам"),
    kind="complete",
    core=True,
    minutes=10,
    aspects=[
        aspect(
            "jacobian",
            1.5,
            en="Row i is the gradient of `y[i]`: a tensor of shape (m, n) and of the dtype of `x`.",
            ru="Строка i — градиент `y[i]`; возвращается тензор формы (m, n) с тем же dtype, что у `x`.",
        ),
        aspect(
            "exact",
            0.5,
            *EXACT_ROWS,
            measured=ERROR,
        ),
        aspect(
            "grad",
            1,
            en="`x.grad` holds what it held before: the same tensor, or still `None`.",
            ru="В `x.grad` лежит то же, что и раньше: прежний тензор или по-прежнему `None`.",
        ),
    ],
    hints=[
        Text(
            "Which `v` makes `vᵀJ` the first row of `J`? And the second?",
            "При каком `v` произведение `vᵀJ` — первая строка `J`? А вторая?",
        ),
        Text(
            "One call of `torch.autograd.grad` for each output. The graph is needed again after each but the last.",
            "Один вызов `torch.autograd.grad` на каждый выход. После каждого, кроме последнего, граф ещё понадобится.",
        ),
        Text(
            "rows = [torch.autograd.grad(y[i], x, ...)[0] for i in range(len(y))]\nreturn torch.stack(rows)",
            "rows = [torch.autograd.grad(y[i], x, ...)[0] for i in range(len(y))]\nreturn torch.stack(rows)",
        ),
    ],
)
def jacobian_rows(answer: Any, case: Case) -> dict[str, object]:
    truth = torch.stack([torch.autograd.grad(output, case.x, retain_graph=True)[0] for output in case.y])
    found = answer.jacobian_rows(case.y, case.x)
    with using_answer():
        exact = limited_error(EXACT, relative_error(truth, found))
    return {"jacobian": found, "exact": exact, "grad": {"x.grad": case.x.grad}}


@jacobian_rows.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, m, old in [(3, 2, False), (2, 4, True)]:
        x = leaf(rng, n)
        y = curved(rng, n, m)(x)
        yield Case(y=y, x=with_old_gradient(x) if old else x)


def _rows_in_grad(y: Tensor, x: Tensor, before: Callable[[], None], between: Callable[[], None]) -> list[Tensor]:
    """Return copies of `x.grad` after a backward pass from each entry of `y`.

    `before` is called once at the start, `between` after each pass.
    """
    rows = []
    before()
    for i in range(len(y)):
        y[i].backward(retain_graph=True)
        assert x.grad is not None
        rows.append(x.grad.clone())
        between()
    return rows


def _do_nothing() -> None:
    pass


def _clearing(x: Tensor) -> Callable[[], None]:
    """Return a function that sets `x.grad` to None."""
    return lambda: setattr(x, "grad", None)


@jacobian_rows.mistake(
    en="`x.grad` was never cleared: each row holds all the rows before it, and what was there at the start.",
    ru="Градиент `x.grad` ни разу не обнулён: в каждую строку вошли все предыдущие и то, что лежало там вначале.",
)
def running_sums(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack(_rows_in_grad(y, x, _do_nothing, _do_nothing))


@jacobian_rows.mistake(
    en="`x.grad` was cleared once, before the loop: each row holds all the rows before it.",
    ru="Градиент `x.grad` обнулён один раз, до цикла: в каждую строку вошли все предыдущие.",
)
def cleared_once(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack(_rows_in_grad(y, x, _clearing(x), _do_nothing))


@jacobian_rows.mistake(
    en="The first row still holds what was in `x.grad` before.",
    ru="В первую строку вошло то, что лежало в `x.grad` раньше.",
)
def cleared_after_each(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack(_rows_in_grad(y, x, _do_nothing, _clearing(x)))


@jacobian_rows.mistake(
    en="Every row is the same tensor, `x.grad`, zeroed in place: all of them show the last row.",
    ru="Все строки — один и тот же тензор, `x.grad`, обнуляемый на месте: в каждой видна последняя.",
)
def all_rows_the_last(y: Tensor, x: Tensor) -> Tensor:
    rows = []
    x.grad = torch.zeros_like(x)
    for i in range(len(y)):
        x.grad.zero_()
        y[i].backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)


@jacobian_rows.mistake(
    en="The matrix is transposed: rows or columns were stacked along the other dimension.",
    ru="Матрица транспонирована: строки или столбцы собраны вдоль другого измерения.",
)
def transposed(y: Tensor, x: Tensor) -> Tensor:
    rows = [torch.autograd.grad(output, x, retain_graph=True)[0] for output in y]
    return torch.stack(rows, dim=1)


@jacobian_rows.mistake(
    en="The outputs were summed: the gradient of the sum is the sum of all rows.",
    ru="Выходы сложены: градиент суммы равен сумме всех строк.",
)
def sum_of_rows(y: Tensor, x: Tensor) -> Tensor:
    return torch.autograd.grad(y.sum(), x)[0]


@jacobian_rows.mistake(
    en="The first row's call frees what the second row needs of the graph.",
    ru="После вызова для первой строки сохранённое в графе освобождено, а оно нужно для второй.",
)
def graph_freed(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack([torch.autograd.grad(output, x)[0] for output in y])


@jacobian_rows.mistake(
    en="The rows of an identity matrix of the input's size were used as `v`. There is one row for each output.",
    ru="В качестве `v` взяты строки единичной матрицы размера входа. Нужна одна строка на каждый выход.",
)
def identity_of_the_input(y: Tensor, x: Tensor) -> Tensor:
    rows = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in rows])


@jacobian_rows.mistake(
    en="Every row is the same tensor, `x.grad`, and the results of all passes were added up in it.",
    ru="Все строки — один и тот же тензор, `x.grad`, и в нём сложились результаты всех проходов.",
)
def all_rows_the_sum(y: Tensor, x: Tensor) -> Tensor:
    for output in y:
        output.backward(retain_graph=True)
    assert x.grad is not None
    return torch.stack([x.grad for _ in y])


@jacobian_rows.mistake(
    en="Each row holds the sum of all rows: `y.sum()` was differentiated, or every row is `x.grad` itself, in which "
    "all passes were added up.",
    ru="В каждой строке стоит сумма всех строк: продифференцирована `y.sum()` или все строки — сам `x.grad`, в котором "
    "сложились результаты всех проходов.",
)
def sum_in_every_row(y: Tensor, x: Tensor) -> Tensor:
    return torch.autograd.grad(y.sum(), x)[0].expand(len(y), -1)


@jacobian_rows.mistake(
    en="A list of rows was returned. The rows still have to be stacked into one tensor.",
    ru="Возвращён список строк. Их ещё нужно собрать в один тензор.",
)
def list_of_rows(y: Tensor, x: Tensor) -> list[Tensor]:
    return [torch.autograd.grad(output, x, retain_graph=True)[0] for output in y]


@jacobian_rows.mistake(
    en="The rows were joined end to end into one long vector. `stack` gives them a dimension of their own.",
    ru="Строки соединены в один длинный вектор. Функция `stack` собирает их вдоль нового измерения.",
)
def joined_rows(y: Tensor, x: Tensor) -> Tensor:
    return torch.cat(list_of_rows(y, x))


@jacobian_rows.mistake(
    en="The tuples of `torch.autograd.grad` were stacked, not the tensors in them.",
    ru="В тензор собираются кортежи из `torch.autograd.grad`, а не тензоры в них.",
)
def tuples_stacked(y: Tensor, x: Tensor) -> Tensor:
    rows: list[Any] = [torch.autograd.grad(output, x, retain_graph=True) for output in y]
    return torch.stack(rows)


@jacobian_rows.mistake(
    en="The rows went into a float32 tensor, such as `torch.zeros(m, n)` makes: half of their digits are lost.",
    ru="Строки записаны в тензор float32, какой создаёт `torch.zeros(m, n)`: половина их знаков потеряна.",
)
def in_single_rows(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack(list_of_rows(y, x)).float()


@jacobian_rows.mistake(
    en="The matrix is right, but the rows were computed through `x.grad`, and it was left empty.",
    ru="Матрица верна, но строки вычислены через `x.grad`, и это поле осталось пустым.",
)
def leaves_grad_empty(y: Tensor, x: Tensor) -> Tensor:
    x.grad = None
    return torch.stack(_rows_in_grad(y, x, _do_nothing, _clearing(x)))


@jacobian_rows.mistake(
    en="The matrix is right, but the rows were computed through `x.grad`, and the last one stayed there.",
    ru="Матрица верна, но строки вычислены через `x.grad`, и последняя там осталась.",
)
def leaves_the_last_row(y: Tensor, x: Tensor) -> Tensor:
    rows: list[Any] = []
    for output in y:
        x.grad = None
        output.backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)


@jacobian_rows.mistake(
    en="The matrix is right, but `x.grad` was left full of zeros.",
    ru="Матрица верна, но в `x.grad` остались нули.",
)
def leaves_zeros(y: Tensor, x: Tensor) -> Tensor:
    x.grad = None
    rows = torch.stack(_rows_in_grad(y, x, _do_nothing, _clearing(x)))
    x.grad = torch.zeros_like(x)
    return rows


@jacobian_rows.mistake(*LOSES_DIGITS)
def through_float32(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack(list_of_rows(y, x)).float().to(x.dtype)


@jacobian_rows.mistake(
    en="All entries are zero: `functional.jacobian` calls its function with a new `x`, and `y` was computed from the old "
    "one.",
    ru="Все элементы нулевые: `functional.jacobian` передаёт функции новый `x`, а `y` вычислен по прежнему.",
)
def function_of_a_new_input(y: Tensor, x: Tensor) -> object:
    return functional.jacobian(lambda _: y, x)


@jacobian_rows.mistake(
    en="The loop runs over the inputs. There is one row for each output.",
    ru="Цикл идёт по входам. Нужна одна строка на каждый выход.",
)
def loops_over_the_inputs(y: Tensor, x: Tensor) -> Tensor:
    rows = torch.zeros(len(y), len(x), dtype=x.dtype)
    for i in range(len(x)):
        rows[i] = torch.autograd.grad(y[i], x, retain_graph=True)[0]
    return rows


@jacobian_rows.mistake(*jacobian_rows.mistakes["loops_over_the_inputs"].says)
def stacks_too_few(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack([torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(x))])


@jacobian_rows.mistake(
    en="The matrix is right, but the old gradient was kept as a second name of `x.grad`, not as a copy: the backward "
    "passes changed it too.",
    ru="Матрица верна, но прежний градиент сохранён как второе имя `x.grad`, без копии: обратные проходы изменили и его.",
)
def old_gradient_by_name(y: Tensor, x: Tensor) -> object:
    old, before = x.grad, torch.zeros_like(x) if x.grad is None else x.grad.clone()
    sums = torch.stack([before, *_rows_in_grad(y, x, _do_nothing, _do_nothing)])
    x.grad = old
    return sums[1:] - sums[:-1]


@jacobian_rows.mistake(
    en="The matrix is right, but zeros were put into `x.grad` where `None` had been.",
    ru="Матрица верна, но в `x.grad` записаны нули, хотя раньше там был `None`.",
)
def zeros_for_none(y: Tensor, x: Tensor) -> object:
    old = torch.zeros_like(x) if x.grad is None else x.grad.clone()
    rows = leaves_grad_empty(y, x)
    x.grad = old
    return rows
