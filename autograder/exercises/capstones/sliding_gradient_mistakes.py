"""Mistakes of the exercise `sliding_gradient`, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from .sliding_gradient import sliding_gradient


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
    """Carry gradients from link to link.

    The loss of step t goes back through `back(t)` calls; 0 leaves it out. If `counts_again`, the gradients of a
    step are added once more at each link. If `mean`, the losses are averaged.
    """
    weights, links = _weights(cell), []
    sums = [torch.zeros_like(w) for w in weights]
    for t, x_t in enumerate(x):
        start = h.detach().requires_grad_()
        prediction, h = cell(x_t, start)
        links.append((start, h))
        if back(t) == 0:
            continue
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


@sliding_gradient.mistake(
    en="The first `k - 1` losses are left out. They go back through as many calls as there are.",
    ru="Пропущены функции потерь первых `k - 1` шагов. От них градиент проходит через столько вызовов, сколько есть.",
)
def full_windows_only(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell, x, y, h, k, back=lambda t: k if t >= k - 1 else 0)


@sliding_gradient.mistake(
    en="At every step all losses of its window are differentiated. Windows overlap, so most losses count several times.",
    ru="На каждом шаге дифференцируются все функции потерь его окна. Окна перекрываются, и почти каждая учтена несколько "
    "раз.",
)
def windows_that_overlap(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    sums, weights, states = [torch.zeros_like(w) for w in _weights(cell)], _weights(cell), [h]
    for t in range(len(x)):
        first = max(0, t + 1 - k)
        state, loss = states[first], torch.zeros((), dtype=x.dtype)
        for each in range(first, t + 1):
            prediction, state = cell(x[each], state)
            loss = loss + mse_loss(prediction, y[each])
        states.append(state.detach())
        found = torch.autograd.grad(loss, weights, materialize_grads=True)
        sums = [a + b for a, b in zip(sums, found)]
    return sums


@sliding_gradient.mistake(
    en="Something is returned for frozen parameters as well. The list has an entry for each parameter that requires grad.",
    ru="Что-то возвращено и для замороженных параметров. В списке должно быть по элементу на каждый параметр, который "
    "требует градиента.",
)
def zeros_for_the_frozen(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    found = iter(_linked(cell, x, y, h, k, back=lambda t: k))
    return [next(found) if p.requires_grad else torch.zeros_like(p) for p in cell.parameters()]


@sliding_gradient.mistake(
    en="A dict is returned. Asked for is a list.",
    ru="Возвращён словарь, а нужен список.",
)
def returns_a_dict(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> dict[str, Tensor]:
    names = [name for name, p in cell.named_parameters() if p.requires_grad]
    return dict(zip(names, _linked(cell, x, y, h, k, back=lambda t: k)))


@sliding_gradient.mistake(
    en="`.grad` is empty at the end: what was there before is lost.",
    ru="В конце поля `.grad` пусты: то, что лежало в них раньше, потеряно.",
)
def clears_grad(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    found = _linked(cell, x, y, h, k, back=lambda t: k)
    cell.zero_grad()
    return found


@sliding_gradient.mistake(
    en="`detach_()` changes a state that the graph of a later step has saved. Cut a copy instead: `h.detach()`.",
    ru="Метод `detach_()` изменяет состояние, которое сохранено в графе следующего шага. Отсоединяйте копию: `h.detach()`.",
)
def detaches_in_place(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    sums: list[Tensor] = [torch.zeros_like(w) for w in _weights(cell)]
    states: list[Tensor] = []
    for t, x_t in enumerate(x):
        if t >= k:
            states[-k].detach_()
        prediction, h = cell(x_t, h)
        states.append(h)
        found = torch.autograd.grad(mse_loss(prediction, y[t]), _weights(cell), retain_graph=True)
        sums = [a + b for a, b in zip(sums, found)]
    return sums


@sliding_gradient.mistake(
    en="The list also has gradients of frozen parameters. Asked for are those of the parameters that require grad.",
    ru="В списке есть и градиенты замороженных параметров. А нужны градиенты тех, которые требуют градиента.",
)
def gradients_of_the_frozen(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell.requires_grad_(), x, y, h, k, back=lambda t: min(k, t + 1))


@sliding_gradient.mistake(
    en="The gradients of the calls are stacked: there is one for each step. They are to be summed.",
    ru="Градиенты по вызовам собраны в стопку, по одному на каждый шаг. А их нужно сложить.",
)
def stacks_the_steps(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    weights, losses = [], []
    for x_t, y_t in zip(x, y):
        weights.append({n: p.detach().requires_grad_() for n, p in cell.named_parameters() if p.requires_grad})
        prediction, h = torch.func.functional_call(cell, weights[-1], (x_t, h))
        losses.append(mse_loss(prediction, y_t))
    found = [
        torch.autograd.grad(
            torch.stack(losses[t : t + k]).sum(), list(w.values()), retain_graph=True, materialize_grads=True
        )
        for t, w in enumerate(weights)
    ]
    return [torch.stack(each) for each in zip(*found)]


@sliding_gradient.mistake(
    en="The squared errors of a step are summed over its entries. Its loss is `mse_loss`, their mean.",
    ru="Квадраты ошибок шага сложены по элементам. Функция потерь шага — `mse_loss`, их среднее.",
)
def sums_the_entries(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return [each * y[0].numel() for each in _linked(cell, x, y, h, k, back=lambda t: min(k, t + 1))]


@sliding_gradient.mistake(
    en="The passed hidden state `h` is not used: the first step begins with zeros.",
    ru="Переданное скрытое состояние `h` не используется: первый шаг начинается с нулей.",
)
def begins_with_zeros(cell: Any, x: Tensor, y: Tensor, h: Tensor, k: int) -> list[Tensor]:
    return _linked(cell, x, y, torch.zeros_like(h), k, back=lambda t: min(k, t + 1))
