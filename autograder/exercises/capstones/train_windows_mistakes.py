"""Mistakes of the exercise `train_windows`, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .recurrent import checkpointed, plain, window_loss
from .train_windows import train_windows

Optimizer = torch.optim.Optimizer
Result = tuple[Tensor, float]


def _reentrant(cell: Any, x: Tensor, h: Tensor) -> Any:
    return checkpoint(cell, x, h, use_reentrant=True)


def _cut_each(cell: Any, x: Tensor, h: Tensor) -> Any:
    return checkpointed(cell, x, h.detach())


def _kept(h: Tensor) -> Tensor:
    return h


def _train(
    cell: Any,
    optimizer: Optimizer,
    x: Tensor,
    y: Tensor,
    h: Tensor,
    steps: int,
    rows: int,
    *,
    run: Callable[..., Any],
    share: Callable[[Tensor, Tensor], float] = lambda part, window: 1 / window.numel(),
    carry: Callable[[Tensor], Tensor] = Tensor.detach,
    clears: Literal["before", "each part", "afterwards", "never"] = "before",
    retain: bool = False,
    steps_each: bool = False,
    once: bool = False,
    last: bool = True,
    last_part: bool = True,
    returns: Literal["all", "mean of windows", "last window"] = "all",
) -> Result:
    """Train with one fault or none.

    `run` calls the cell, `share` gives the factor of a micro-batch's summed loss, `carry` what the next window gets of
    a hidden state. `clears` says when `.grad` is cleared, `retain` whether graphs are kept. If `steps_each`, every
    micro-batch makes a step; if `once`, there is one step, at the end. If `last` is False, an incomplete window is dropped, and if `last_part` is False, an
    incomplete micro-batch. `returns` says which loss is returned.
    """
    total, windows = 0.0, []
    states = [part for part in h.split(rows) if last_part or len(part) == rows]
    for start in range(0, len(x) if last else len(x) - len(x) % steps, steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        if clears == "before":
            optimizer.zero_grad()
        of_window = 0.0
        for i, (x_part, y_part, _) in enumerate(zip(xs.split(rows, dim=1), ys.split(rows, dim=1), states)):
            if steps_each or clears == "each part":
                optimizer.zero_grad()
            loss, state = window_loss(cell, x_part, y_part, states[i], run)
            (loss * share(y_part, ys)).backward(retain_graph=retain)
            states[i] = carry(state)
            of_window += loss.item()
            del loss, state
            if steps_each:
                optimizer.step()
        if not (steps_each or once):
            optimizer.step()
        if clears == "afterwards":
            optimizer.zero_grad()
        total += of_window
        windows.append(of_window / ys.numel())
    if once:
        optimizer.step()
    if returns == "all":
        return torch.cat(states), total / y.numel()
    return torch.cat(states), windows[-1] if returns == "last window" else sum(windows) / len(windows)


@train_windows.mistake(
    en="The hidden state goes into the next window together with its graph, which the first backward pass has freed. "
    "Detach it between the windows.",
    ru="Скрытое состояние переходит в следующее окно вместе с графом, а первый обратный проход этот граф уже освободил. "
    "Отсоединяйте его между окнами.",
)
def carries_the_graph(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=plain, carry=_kept)


@train_windows.mistake(
    en="The hidden state is detached at every step, so no gradient goes back in time at all. It is cut between windows only.",
    ru="Скрытое состояние отсоединяется на каждом шаге, и назад по времени градиент не идёт совсем. Обрывать граф нужно "
    "только между окнами.",
)
def detaches_every_step(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=_cut_each)


@train_windows.mistake(
    en="Every window begins with a hidden state of zeros. Only the graph is to be cut; the values go on.",
    ru="Каждое окно начинается с нулевого скрытого состояния. Оборвать нужно только граф, а значения переходят дальше.",
)
def forgets_the_state(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, carry=lambda h: torch.zeros_like(h))


@train_windows.mistake(
    en="The micro-batches have equal weights, although the last one is smaller: the gradient is a mean of means.",
    ru="У всех микробатчей одинаковый вес, хотя последний меньше: градиент — среднее средних.",
)
def weighs_them_alike(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    parts = len(h.split(rows))
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / (part.numel() * parts))


@train_windows.mistake(
    en="The losses of the micro-batches are means, and are added without weights: the gradient is too long.",
    ru="Функции потерь микробатчей — средние, и складываются они без весов: градиент слишком длинный.",
)
def sums_the_means(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / part.numel())


@train_windows.mistake(
    en="The losses of a window are summed, not averaged.",
    ru="Значения функции потерь в окне сложены, а не усреднены.",
)
def never_divides(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1.0)


@train_windows.mistake(
    en="The sum of squares is divided by `steps` full steps, also in a last window that has fewer.",
    ru="Сумма квадратов делится на `steps` полных шагов и в последнем окне, где их меньше.",
)
def divides_by_a_full_window(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(
        c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / (steps * window[0].numel())
    )


@train_windows.mistake(
    en="The columns of `y` are forgotten in the mean: the sum of squares is divided by steps and rows alone.",
    ru="При усреднении забыты столбцы `y`: сумма квадратов делится только на число шагов и строк.",
)
def divides_by_rows(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(
        c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / (len(window) * window.shape[1])
    )


@train_windows.mistake(
    en="Gradients are not cleared between the windows, or not before the first.",
    ru="Градиенты не обнуляются между окнами или перед первым из них.",
)
def never_clears(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, clears="never")


@train_windows.mistake(
    en="Every micro-batch makes a step of its own. There is one for a window.",
    ru="Каждый микробатч делает собственный шаг. На окно нужен один.",
)
def steps_for_each_part(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, steps_each=True)


@train_windows.mistake(
    en="A last window with fewer steps is dropped.",
    ru="Последнее окно, в котором шагов меньше, отброшено.",
)
def drops_the_last_window(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, last=False)


@train_windows.mistake(
    en="The reentrant checkpoint is used. Neither `x` nor the first `h` requires grad, so it returns constants.",
    ru="Использован реентерабельный вариант контрольной точки. Ни `x`, ни первое `h` градиента не требуют, и возвращаются "
    "константы.",
)
def reentrant(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=_reentrant)


@train_windows.mistake(
    en="There are no windows: one step is made for the whole sequence, with the full gradient.",
    ru="Окон нет: сделан один шаг для всей последовательности, с полным градиентом.",
)
def one_window(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, len(x), rows, run=checkpointed)


@train_windows.mistake(
    en="Each micro-batch goes through all windows before the next one begins. Then a step sees a part of the batch only.",
    ru="Каждый микробатч проходит все окна, и только потом начинается следующий. Тогда шаг учитывает лишь часть батча.",
)
def micro_batches_outside(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    done = [
        _train(c, o, *parts, steps, rows, run=checkpointed)
        for parts in zip(x.split(rows, 1), y.split(rows, 1), h.split(rows))
    ]
    return torch.cat([state for state, _ in done]), sum(loss * len(state) for state, loss in done) / len(h)


@train_windows.mistake(
    en="There are no checkpoints: a window keeps the inside of every call of the cell until its backward pass.",
    ru="Контрольных точек нет: содержимое каждого вызова ячейки хранится до обратного прохода окна.",
)
def without_checkpoints(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=plain)


@train_windows.mistake(
    en="The batch is not split: the cell runs on all rows at once.",
    ru="Батч не разделён: ячейка выполняется сразу для всех строк.",
)
def whole_batches(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, len(h), run=checkpointed)


@train_windows.mistake(
    en="The batch is not split, and there are no checkpoints.",
    ru="Батч не разделён, и контрольных точек нет.",
)
def whole_batches_without_checkpoints(
    c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int
) -> Result:
    return _train(c, o, x, y, h, steps, len(h), run=plain)


@train_windows.mistake(
    en="A checkpoint holds a whole window: its recomputation builds the graph of all steps, and the peak only moves into "
    "backward.",
    ru="Контрольная точка охватывает целое окно: при повторном вычислении строится граф всех шагов, и пик лишь переносится "
    "в обратный проход.",
)
def one_checkpoint_for_a_window(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    states, total = list(h.split(rows)), 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        o.zero_grad()
        for i, (x_part, y_part) in enumerate(zip(xs.split(rows, dim=1), ys.split(rows, dim=1))):
            loss, state = checkpoint(window_loss, c, x_part, y_part, states[i], plain, use_reentrant=False)
            (loss / ys.numel()).backward()
            states[i] = state.detach()
            total += loss.item()
            del loss, state
        o.step()
    return torch.cat(states), total / y.numel()


@train_windows.mistake(
    en="The losses of the micro-batches go backward together, and there are no checkpoints: until then the graphs of all of "
    "them are in memory.",
    ru="Обратный проход для всех микробатчей один, общий, а контрольных точек нет: до него в памяти лежат графы всех.",
)
def one_backward(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    states, total = list(h.split(rows)), 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        o.zero_grad()
        losses: Any = 0.0
        for i, (x_part, y_part) in enumerate(zip(xs.split(rows, dim=1), ys.split(rows, dim=1))):
            loss, state = window_loss(c, x_part, y_part, states[i], plain)
            losses, states[i] = losses + loss, state.detach()
        (losses / ys.numel()).backward()
        total += losses.item()
        o.step()
    return torch.cat(states), total / y.numel()


@train_windows.mistake(
    en="The returned hidden state requires grad: it still has a graph, or its flag was set.",
    ru="Возвращённое скрытое состояние требует градиента: у него остался граф или включён флаг.",
)
def returns_a_graph(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    state, loss = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    return state.requires_grad_(), loss


@train_windows.mistake(
    en="The loss is a plain mean over the windows, although the last one may be shorter.",
    ru="Возвращено простое среднее по окнам, хотя последнее окно может быть короче.",
)
def averages_the_windows(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, returns="mean of windows")


@train_windows.mistake(
    en="The loss is returned as a tensor: `.item()` makes a number of it.",
    ru="Значение функции потерь возвращено как тензор: число из него делает `.item()`.",
)
def returns_a_tensor(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Any:
    state, loss = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    return state, torch.tensor(loss, dtype=torch.float64)


@train_windows.mistake(
    en="The loss was computed anew with the final weights. Asked for is the mean of the losses the model learned from.",
    ru="Функция потерь вычислена заново с последними весами. Нужно среднее тех значений, на которых модель училась.",
)
def measures_afterwards(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    state, _ = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    with torch.no_grad():
        loss, _ = window_loss(c, x[:, :rows], y[:, :rows], h[:rows], plain)
        for first in range(rows, len(h), rows):
            part = slice(first, first + rows)
            loss = loss + window_loss(c, x[:, part], y[:, part], h[part], plain)[0]
    return state, loss.item() / y.numel()


@train_windows.mistake(
    en="The loss was computed anew with the final weights, for all rows at once, and that takes more memory than is allowed. "
    "Asked for is the mean of the losses the model learned from.",
    ru="Функция потерь вычислена заново с последними весами, сразу для всех строк, и памяти на это уходит больше, чем "
    "разрешено. Нужно среднее тех значений, на которых модель училась.",
)
def measures_all_rows(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    state, _ = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    with torch.no_grad():
        loss, _ = window_loss(c, x, y, h, plain)
    return state, loss.item() / y.numel()


@train_windows.mistake(
    en="Nothing is returned.",
    ru="Функция ничего не возвращает.",
)
def returns_nothing(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> None:
    _train(c, o, x, y, h, steps, rows, run=checkpointed)


@train_windows.mistake(
    en="Frozen weights were thawed: their flags are on, and what their gradients need takes memory as well.",
    ru="Замороженные веса разморожены: их флаги включены, и память занимает ещё и то, что нужно для их градиентов.",
)
def thaws_the_base(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c.requires_grad_(), o, x, y, h, steps, rows, run=checkpointed)


@train_windows.mistake(
    en="The gradients are cleared after a step only. What was in `.grad` at the start gets into the first step.",
    ru="Градиенты обнуляются только после шага. То, что лежало в `.grad` вначале, попадает в первый шаг.",
)
def clears_only_afterwards(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, clears="afterwards")


@train_windows.mistake(
    en="The gradients are cleared for every micro-batch: a step uses those of the last one only.",
    ru="Градиенты обнуляются перед каждым микробатчем: в шаг входят градиенты только последнего.",
)
def clears_for_each_part(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, clears="each part")


@train_windows.mistake(
    en="Every window begins with the hidden state that was passed at the start. The values have to go on.",
    ru="Каждое окно начинается с того скрытого состояния, которое было передано вначале. А его значения должны переходить "
    "дальше.",
)
def begins_with_the_first(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    for start in range(0, len(x), steps):
        result = _train(c, o, x[start : start + steps], y[start : start + steps], h, steps, rows, run=checkpointed)
    return result


@train_windows.mistake(
    en="The graphs are kept, and the gradient of a window goes back through the windows before it. Detach the hidden state "
    "between them.",
    ru="Графы сохраняются, и градиент окна проходит через предыдущие окна. Между окнами отсоединяйте скрытое состояние.",
)
def keeps_the_history(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, carry=_kept, retain=True)


@train_windows.mistake(
    en="The loss of the last window alone is returned.",
    ru="Возвращено значение функции потерь только последнего окна.",
)
def loss_of_the_last(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, returns="last window")


@train_windows.mistake(
    en="A last micro-batch with fewer rows is dropped.",
    ru="Последний микробатч, в котором строк меньше, отброшен.",
)
def drops_the_last_part(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, last_part=False)


@train_windows.mistake(
    en="In the backward pass every call is recomputed with the last `x` of the window. A function that is made in a loop "
    "reads its names when it runs: pass `x` to `checkpoint` as an argument.",
    ru="В обратном проходе каждый вызов вычисляется повторно с последним `x` окна. Функция, созданная в цикле, читает имена "
    "в момент вызова: передайте `x` функции `checkpoint` аргументом.",
)
def recomputes_the_last(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    latest: list[Tensor] = []

    def run(cell: Any, x: Tensor, h: Tensor) -> Any:
        latest[:] = [x]
        return checkpoint(lambda state: cell(latest[0], state), h, use_reentrant=False)

    # Another mean, because the right one comes out by chance on one seed of the gate.
    return _train(c, o, x, y, h, steps, rows, run=run, returns="mean of windows")


@train_windows.mistake(
    en="The rows are forgotten in the mean: the sum of squares is divided by the steps alone.",
    ru="При усреднении забыты строки: сумма квадратов делится только на число шагов.",
)
def divides_by_steps(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / len(window))


@train_windows.mistake(
    en="Every micro-batch is counted with `rows` rows in the mean, also the last one, which has fewer.",
    ru="При усреднении считается, что в каждом микробатче `rows` строк, хотя в последнем их меньше.",
)
def counts_full_parts(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    full = len(h.split(rows)) * rows
    return _train(
        c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: len(h) / full / window.numel()
    )


@train_windows.mistake(
    en="The sum of squares is divided by all entries of `y`, not by those in the window.",
    ru="Сумма квадратов делится на число всех элементов `y`, а не на число элементов в окне.",
)
def divides_by_everything(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / y.numel())


@train_windows.mistake(
    en="The steps are forgotten in the mean: the sum of squares is divided by the entries of a single step.",
    ru="При усреднении забыты шаги: сумма квадратов делится на число элементов одного шага.",
)
def divides_by_one_step(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / window[0].numel())


@train_windows.mistake(*train_windows.mistakes["micro_batches_outside"].says)
def shares_outside(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    done = [
        _train(
            c, o, *parts, steps, rows, run=checkpointed, share=lambda part, _: 1 / (len(part) * len(h) * part.shape[2])
        )
        for parts in zip(x.split(rows, 1), y.split(rows, 1), h.split(rows))
    ]
    return torch.cat([state for state, _ in done]), sum(loss * len(state) for state, loss in done) / len(h)


@train_windows.mistake(
    en="One step is made at the end, with the gradient of the last window. Each window makes a step of its own.",
    ru="Сделан один шаг, в конце, с градиентом последнего окна. А каждое окно должно делать свой шаг.",
)
def one_last_step(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    # Another mean, because on some seeds Adam's first step is that of `one_window`.
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, once=True, returns="last window")


@train_windows.mistake(
    en="The hidden state of the last micro-batch alone is returned.",
    ru="Возвращено скрытое состояние только последнего микробатча.",
)
def state_of_the_last_part(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    state, loss = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    return state.split(rows)[-1], loss


@train_windows.mistake(
    en="The batch is cut into `rows` parts. A micro-batch has `rows` rows, so there are often more parts, and smaller ones.",
    ru="Батч разрезан на `rows` частей. А в микробатче должно быть `rows` строк: тогда частей часто больше, и они меньше.",
)
def takes_rows_for_parts(c: Any, o: Optimizer, x: Tensor, y: Tensor, h: Tensor, steps: int, rows: int) -> Result:
    return _train(c, o, x, y, h, steps, -(-len(h) // rows), run=checkpointed)
