"""Mistakes of the exercise `fix_hidden_state`, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from .fix_hidden_state import Optimizer, fix_hidden_state

State = Any


def _each(change: Callable[[Tensor], Tensor], state: State) -> State:
    return tuple(map(change, state)) if isinstance(state, tuple) else change(state)


def _run(
    cell: Any,
    optimizer: Optimizer,
    x: Tensor,
    y: Tensor,
    state: State,
    k: int,
    *,
    between: Callable[[State], State],
    inside: Callable[[State], State] = lambda state: state,
    retain: bool = False,
    clears: Literal["before", "too late", "afterwards", "never"] = "before",
    steps: Literal["each", "once", "by hand"] = "each",
    alone: bool = False,
    factor: Callable[[int, int], float] = lambda steps, entries: 1,
) -> State:
    """Train in windows; the arguments after `k` choose the faults.

    `between` changes the state after a window, `inside` before each step of it. `clears` says when `.grad` is cleared;
    "too late" is after the backward pass. `steps` says when the optimizer makes a step. If `alone`, only the loss of a
    window's last step counts. `factor` multiplies the loss of a window; it gets the numbers of its steps and of the
    entries in a step.
    """
    for start in range(0, len(x), k):
        loss: Any = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, inside(state))
            loss = mse_loss(prediction, y_t) + (0.0 if alone else loss)
        if clears == "before":
            optimizer.zero_grad()
        (factor(len(x[start : start + k]), y[0].numel()) * loss).backward(retain_graph=retain)
        if clears == "too late":
            optimizer.zero_grad()
        if steps == "each":
            optimizer.step()
        elif steps == "by hand":
            with torch.no_grad():
                for group in optimizer.param_groups:
                    for p in group["params"]:
                        p -= group["lr"] * p.grad
        if clears == "afterwards":
            optimizer.zero_grad()
        state = between(state)
    if steps == "once":
        optimizer.step()
    return state


def _cut(state: State) -> State:
    return _each(Tensor.detach, state)


@fix_hidden_state.mistake(
    en="`retain_graph=True` is gone, and the first error is back: the state still carries the freed graph of its window.",
    ru="Аргумента `retain_graph=True` больше нет, и вернулась первая ошибка: состояние по-прежнему тянет за собой "
    "освобождённый граф своего окна.",
)
def only_frees(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=lambda state: state)


@fix_hidden_state.mistake(
    en="The graph is still kept and walked again, after a step has overwritten the weights that it has saved.",
    ru="Граф по-прежнему сохраняется и проходится снова, уже после шага, который перезаписал сохранённые в нём веса.",
)
def still_retains(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=lambda state: _each(Tensor.clone, state), retain=True)


@fix_hidden_state.mistake(
    en="`detach()` was called on a tuple. The state of an LSTM is a pair of tensors, and each has to be cut.",
    ru="Метод `detach()` вызван у кортежа. Состояние LSTM — пара тензоров, и отсоединить нужно каждый.",
)
def detaches_the_tuple(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=lambda state: state.detach())


@fix_hidden_state.mistake(
    en="Only the first tensor of the pair is cut. The second carries the graph on.",
    ru="Отсоединён только первый тензор пары. Второй по-прежнему тянет граф за собой.",
)
def cuts_the_first(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    def between(state: State) -> State:
        return (state[0].detach(), state[1]) if isinstance(state, tuple) else state.detach()

    return _run(cell, o, x, y, state, k, between=between, retain=True)


@fix_hidden_state.mistake(
    en="The state is cut at every step. Between windows is enough; inside one the gradient goes back in time.",
    ru="Состояние отсоединяется на каждом шаге. Достаточно делать это между окнами: внутри окна градиент идёт назад по "
    "времени.",
)
def cuts_every_step(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=_cut, inside=_cut)


@fix_hidden_state.mistake(
    en="Every window begins with zeros. The values of the state have to go on.",
    ru="Каждое окно начинается с нулей. Значения состояния должны переходить дальше.",
)
def begins_with_zeros(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=lambda state: _each(torch.zeros_like, state))


@fix_hidden_state.mistake(
    en="Every window begins with the state that was passed at the start.",
    ru="Каждое окно начинается с того состояния, которое было передано вначале.",
)
def begins_with_the_first(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    first = state
    for start in range(0, len(x), k):
        state = _run(cell, o, x[start : start + k], y[start : start + k], first, k, between=_cut)
    return state


@fix_hidden_state.mistake(
    en="There is one window: a single backward pass and a single step for the whole sequence.",
    ru="Окно одно: один обратный проход и один шаг на всю последовательность.",
)
def one_window(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, len(x), between=_cut)


@fix_hidden_state.mistake(
    en="The gradients are no longer cleared: a step uses those of the windows before it as well.",
    ru="Градиенты больше не обнуляются: в шаг входят и градиенты предыдущих окон.",
)
def never_clears(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=_cut, clears="never")


@fix_hidden_state.mistake(
    en="The losses of a window are averaged. Their sum is asked for.",
    ru="Значения функции потерь в окне усреднены, а нужна сумма.",
)
def averages(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    for start in range(0, len(x), k):
        window = list(zip(x[start : start + k], y[start : start + k]))
        loss: Any = 0.0
        for x_t, y_t in window:
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t) / len(window)
        o.zero_grad()
        loss.backward()
        o.step()
        state = _cut(state)
    return state


@fix_hidden_state.mistake(
    en="The weights are right, but the returned state still has a graph.",
    ru="Веса верны, но у возвращённого состояния остался граф.",
)
def returns_a_graph(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _each(lambda part: part.requires_grad_(), _run(cell, o, x, y, state, k, between=_cut))


@fix_hidden_state.mistake(
    en="The weights are right, but nothing is returned.",
    ru="Веса верны, но ничего не возвращается.",
)
def returns_nothing(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> None:
    _run(cell, o, x, y, state, k, between=_cut)


@fix_hidden_state.mistake(
    en="A tuple came, and a list is returned. The state goes back in the form in which it came.",
    ru="Состояние пришло кортежем, а возвращён список. Вернуть его нужно в том же виде, в каком оно пришло.",
)
def returns_a_list(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    last = _run(cell, o, x, y, state, k, between=_cut)
    return list(last) if isinstance(last, tuple) else last


@fix_hidden_state.mistake(
    en="A last window with fewer than `k` steps is left out.",
    ru="Последнее окно, в котором меньше `k` шагов, пропущено.",
)
def drops_the_last_window(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    full = len(x) - len(x) % k
    return _run(cell, o, x[:full], y[:full], state, k, between=_cut)


@fix_hidden_state.mistake(
    en="A state that is a single tensor was turned into a tuple: its rows became the items.",
    ru="Состояние из одного тензора превращено в кортеж: элементами стали строки этого тензора.",
)
def always_a_tuple(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=lambda state: tuple(part.detach() for part in state))


@fix_hidden_state.mistake(
    en="The gradients are cleared after a step only. What was in `.grad` at the start gets into the first step.",
    ru="Градиенты обнуляются только после шага. То, что лежало в `.grad` вначале, попадает в первый шаг.",
)
def clears_only_afterwards(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=_cut, clears="afterwards")


@fix_hidden_state.mistake(
    en="The weights do not move: there is no gradient in `.grad` when the optimizer makes its step. Is `zero_grad()` "
    "called after `backward()`?",
    ru="Веса не меняются: к шагу оптимизатора в `.grad` нет градиентов. Не вызван ли `zero_grad()` после `backward()`?",
)
def clears_too_late(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=_cut, clears="too late")


@fix_hidden_state.mistake(
    en="The gradients of all windows are added up, and one step is made at the end. Each window makes a step of its own.",
    ru="Градиенты всех окон складываются, и в конце делается один шаг. А шаг нужен после каждого окна.",
)
def one_step_for_all(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    o.zero_grad()
    return _run(cell, o, x, y, state, k, between=_cut, clears="never", steps="once")


@fix_hidden_state.mistake(
    en="The optimizer that was passed makes no step.",
    ru="Переданный оптимизатор не делает ни одного шага.",
)
def steps_by_hand(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=_cut, steps="by hand")


@fix_hidden_state.mistake(
    en="Only the loss of the last step of a window is used. Asked for is the sum over its steps.",
    ru="Учтена функция потерь только на последнем шаге окна, а нужна сумма по всем его шагам.",
)
def last_loss_alone(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=_cut, alone=True)


@fix_hidden_state.mistake(
    en="The windows are shifted: the first one ends after a single step.",
    ru="Окна сдвинуты: первое заканчивается после первого же шага.",
)
def first_window_of_one(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    loss: Any = 0.0
    for t, (x_t, y_t) in enumerate(zip(x, y)):
        prediction, state = cell(x_t, state)
        loss = loss + mse_loss(prediction, y_t)
        if t % k == 0:
            o.zero_grad()
            loss.backward()
            o.step()
            state, loss = _cut(state), 0.0
    return _cut(state)


@fix_hidden_state.mistake(
    en="A single tensor is detached, but not every part of a tuple: what is left still carries the freed graph of its "
    "window.",
    ru="Одиночный тензор отсоединён от графа, но в кортеже — не всё: то, что осталось, по-прежнему тянет за собой "
    "освобождённый граф своего окна.",
)
def cuts_the_first_part(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    def between(state: State) -> State:
        return (state[0].detach(), *state[1:]) if isinstance(state, tuple) else state.detach()

    return _run(cell, o, x, y, state, k, between=between)


@fix_hidden_state.mistake(
    en="One step is made at the end, with the gradient of the last window. Each window makes a step of its own.",
    ru="Сделан один шаг, в конце, с градиентом последнего окна. А каждое окно должно делать свой шаг.",
)
def one_last_step(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=_cut, steps="once")


@fix_hidden_state.mistake(
    en="The squared errors of a step are summed over its entries. Its loss is `mse_loss`, their mean.",
    ru="Квадраты ошибок шага сложены по элементам. Функция потерь шага — `mse_loss`, их среднее.",
)
def sums_the_entries(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=_cut, factor=lambda steps, entries: entries)


@fix_hidden_state.mistake(
    en="The loss of a window is divided by `k`, also in a last window that has fewer steps. Asked for is the sum.",
    ru="Функция потерь окна делится на `k` и в последнем окне, где шагов меньше. А нужна сумма.",
)
def divides_by_k(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    return _run(cell, o, x, y, state, k, between=_cut, factor=lambda steps, entries: 1 / k)


@fix_hidden_state.mistake(
    en="Only the first part of the tuple is returned. The state goes back in the form in which it came.",
    ru="Возвращена только первая часть кортежа. А состояние нужно вернуть в том же виде, в каком оно пришло.",
)
def returns_the_first_part(cell: Any, o: Optimizer, x: Tensor, y: Tensor, state: State, k: int) -> State:
    last = _run(cell, o, x, y, state, k, between=_cut)
    return last[0] if isinstance(last, tuple) else last
