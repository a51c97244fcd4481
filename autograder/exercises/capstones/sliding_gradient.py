"""Extra exercise: from every loss a fixed number of steps back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import batch_sizes

from .common import copies, fill_gradients
from .recurrent import Cell


@exercise(
    title=Text("A window that slides", "Скользящее окно"),
    kind="design",
    difficulty=3,
    minutes=18,
    aspects=[
        aspect(
            "gradients",
            2,
            en="From every loss the gradient goes through at most `k` calls of the cell, and no further.",
            ru="От каждой функции потерь градиент проходит самое большее через `k` вызовов ячейки, и не дальше.",
        ),
        aspect(
            "calls",
            1,
            en="The cell is called once for each step.",
            ru="На каждом шаге ячейка вызвана один раз.",
            measured=Text("Calls of the cell", "Вызовов ячейки"),
        ),
        aspect(
            "rest",
            0,
            en="Every `.grad` is as before.",
            ru="Все поля `.grad` остались прежними.",
            after=(),
        ),
    ],
    hints=[
        Text(
            "Step 5 with $k = 3$: through which calls does its gradient go? Through which does that of step 6?",
            "Шаг 5 при $k = 3$: через какие вызовы проходит его градиент? А градиент шага 6?",
        ),
        Text(
            "Cut the graph at every hidden state into links: a leaf at the beginning, a tensor at the end. Then carry a "
            "gradient from link to link by hand, with `torch.autograd.grad(end, (..., start), v, retain_graph=True)`.",
            "Разрежьте граф на каждом скрытом состоянии на звенья: в начале лист, в конце тензор. Затем вручную передавайте "
            "градиент от звена к звену: `torch.autograd.grad(end, (..., start), v, retain_graph=True)`.",
        ),
        Text(
            "start = h.detach().requires_grad_()\n"
            "prediction, h = cell(x_t, start)\n"
            "links.append((start, h))\n"
            "*found, v = torch.autograd.grad(loss, (*weights, start), retain_graph=True, materialize_grads=True)\n"
            "for start, end in reversed(links[-k:-1]):\n"
            "    ...",
            "start = h.detach().requires_grad_()\n"
            "prediction, h = cell(x_t, start)\n"
            "links.append((start, h))\n"
            "*found, v = torch.autograd.grad(loss, (*weights, start), retain_graph=True, materialize_grads=True)\n"
            "for start, end in reversed(links[-k:-1]):\n"
            "    ...",
        ),
    ],
)
def sliding_gradient(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.cell.parameters())
    before = copies(p.grad for p in parameters)
    with batch_sizes(case.cell) as sizes:
        found = answer.sliding_gradient(case.cell, case.x, case.y, case.h, case.k)
    kept = all(
        a is b or (a is not None and b is not None and torch.equal(a, b))
        for a, b in zip(before, (p.grad for p in parameters))
    )
    listed = list(found) if isinstance(found, (list, tuple)) else found
    return {"gradients": listed, "calls": AtMost(limit=len(case.x), used=len(sizes)), "rest": kept}


@sliding_gradient.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for length, k in [(5, 2), (7, 3), (3, 5)]:
        cell = Cell(rng, 2, 3, 1)
        if k == 3:
            fill_gradients(cell)
        yield Case(cell=cell, x=signed(rng, length, 2, 2), y=signed(rng, length, 2, 1), h=signed(rng, 2, 3) / 3, k=k)


def _weights(cell: Any) -> list[Tensor]:
    return [p for p in cell.parameters() if p.requires_grad]


def _again(cell: Any, x: Tensor, y: Tensor, h: Tensor, back: Callable[[int], int]) -> list[Tensor]:
    """Run the cell anew for each loss, from `back(t)` calls before step t on; return the summed gradients."""
    states = [h]
    with torch.no_grad():
        for x_t in x:
            states.append(cell(x_t, states[-1])[1])
    sums = [torch.zeros_like(w) for w in _weights(cell)]
    for t in range(len(x)):
        first = max(0, t + 1 - back(t))
        state = states[first]
        for x_t in x[first : t + 1]:
            prediction, state = cell(x_t, state)
        found = torch.autograd.grad(mse_loss(prediction, y[t]), _weights(cell), materialize_grads=True)
        sums = [a + b for a, b in zip(sums, found)]
    return sums


def _linked(
    cell: Any,
    x: Tensor,
    y: Tensor,
    h: Tensor,
    k: int,
    *,
    back: Callable[[int], int],
    counts_again: bool = False,
    mean: bool = False,
) -> list[Tensor]:
    """Carry gradients from link to link. The loss of step t goes back through `back(t)` calls.

    If `counts_again`, the gradients of a step are added once more at each link. If `mean`, the losses are averaged.
    """
    weights, links = _weights(cell), []
    sums = [torch.zeros_like(w) for w in weights]
    for t, x_t in enumerate(x):
        start = h.detach().requires_grad_()
        prediction, h = cell(x_t, start)
        links.append((start, h))
        loss = mse_loss(prediction, y[t]) / (len(x) if mean else 1)
        *first, v = torch.autograd.grad(loss, (*weights, start), retain_graph=True, materialize_grads=True)
        sums = [a + b for a, b in zip(sums, first)]
        reach = back(t)
        for start, end in reversed(links[-reach:-1] if reach > 1 else []):
            *found, v = torch.autograd.grad(end, (*weights, start), v, retain_graph=True, materialize_grads=True)
            sums = [a + b for a, b in zip(sums, found)]
            if counts_again:
                sums = [a + b for a, b in zip(sums, first)]
    return sums


@sliding_gradient.mistake(
    en="This is the full gradient: from every loss it goes back to the beginning.",
    ru="Это полный градиент: от каждой функции потерь он идёт до самого начала.",
)
def goes_all_the_way(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell, x, y, h, k, back=lambda t: t + 1)


@sliding_gradient.mistake(
    en="The state is cut at every step: from each loss the gradient goes through one call.",
    ru="Состояние отсоединено на каждом шаге: от каждой функции потерь градиент проходит через один вызов.",
)
def one_call(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell, x, y, h, k, back=lambda t: 1)


@sliding_gradient.mistake(
    en="The windows lie side by side and do not slide: a loss at the start of a window goes back through one call only.",
    ru="Окна стоят рядом, а не скользят: от функции потерь в начале окна градиент проходит только через один вызов.",
)
def side_by_side(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell, x, y, h, k, back=lambda t: t % k + 1)


@sliding_gradient.mistake(
    en="The history is cut once, `k` steps before the end: from the losses before the cut the gradient goes to the very "
    "beginning.",
    ru="История оборвана один раз, за `k` шагов до конца: от функций потерь до этого места градиент идёт до самого начала.",
)
def one_cut(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    cut = max(0, len(x) - k)
    return _linked(cell, x, y, h, k, back=lambda t: t + 1 if t < cut else t - cut + 1)


@sliding_gradient.mistake(
    en="The gradient goes one call too far: through `k + 1` of them.",
    ru="Градиент проходит на один вызов дальше нужного: через `k + 1` вызов.",
)
def one_too_far(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell, x, y, h, k, back=lambda t: k + 1)


@sliding_gradient.mistake(
    en="The gradient stops one call too early: after `k - 1` of them.",
    ru="Градиент останавливается на один вызов раньше: после `k - 1`.",
)
def one_too_short(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell, x, y, h, k, back=lambda t: k - 1)


@sliding_gradient.mistake(
    en="The gradients of a step's own call are added again at each link.",
    ru="Градиенты собственного вызова шага прибавлены ещё раз на каждом звене.",
)
def counts_twice(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell, x, y, h, k, back=lambda t: k, counts_again=True)


@sliding_gradient.mistake(
    en="The losses are averaged. Their sum is asked for.",
    ru="Значения функции потерь усреднены, а нужна сумма.",
)
def averages(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell, x, y, h, k, back=lambda t: k, mean=True)


@sliding_gradient.mistake(
    en="Only the loss of the last step is differentiated.",
    ru="Дифференцируется только функция потерь последнего шага.",
)
def last_loss_alone(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    with torch.no_grad():
        for x_t in x[:-k]:
            _, h = cell(x_t, h)
    for x_t in x[-k:]:
        prediction, h = cell(x_t, h)
    return list(torch.autograd.grad(mse_loss(prediction, y[-1]), _weights(cell)))


@sliding_gradient.mistake(
    en="The gradients are right, but the cell runs anew for every loss, up to `k` times for each step.",
    ru="Градиенты верны, но для каждой функции потерь ячейка выполняется заново, до `k` раз на шаг.",
)
def runs_anew(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _again(cell, x, y, h, back=lambda t: k)


@sliding_gradient.mistake(
    en="The gradients went into `.grad`. They are to be returned, and `.grad` stays as it was.",
    ru="Градиенты попали в `.grad`. Их нужно вернуть, а поле `.grad` не меняется.",
)
def into_grad(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    found = _linked(cell, x, y, h, k, back=lambda t: k)
    for weight, gradient in zip(_weights(cell), found):
        weight.grad = gradient
    return found


@sliding_gradient.mistake(
    en="Nothing is returned.",
    ru="Функция ничего не возвращает.",
)
def returns_nothing(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> None:
    _linked(cell, x, y, h, k, back=lambda t: k)
