"""Exercise: training on long sequences under a cap of memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import another, condense
from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradients
from autograder.checking.labels import PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, number
from autograder.language import Text
from autograder.measure import batch_sizes, counting_backward_runs, live_bytes, weights_after_steps

from .common import copies
from .recurrent import Cell

_STEPS, _PARTS, _ROWS, _STATE, _WIDTH = 3, 4, 2, 4, 192  # of the run that is measured
_WIDE = _ROWS * _WIDTH * 8  # bytes of the widest tensor in one call of the cell


@exercise(
    title=Text("One step, all together", "Один шаг, всё вместе"),
    kind="design",
    difficulty=3,
    aspects=[
        aspect(
            "weights",
            1,
            en="There is one optimizer step for each window, and after each of them the weights are right.",
            ru="На каждое окно приходится один шаг оптимизатора, и после каждого шага веса верны.",
        ),
        aspect(
            "peak",
            3.5,
            en="The inside of only one call of the cell is in memory at a time: at most 4 times its widest tensor (bytes, "
            f"for a window of {_STEPS} steps and {_PARTS} micro-batches; that tensor has {_WIDE}).",
            ru="В памяти одновременно лежит содержимое только одного вызова ячейки: самое большее 4 размера её самого "
            f"широкого тензора (байты, для окна из {_STEPS} шагов и {_PARTS} микробатчей; в этом тензоре их {_WIDE}).",
            measured=PEAK,
        ),
        aspect(
            "state",
            0.25,
            en="The hidden state after the last step is returned, for all rows and without a graph.",
            ru="Возвращается скрытое состояние после последнего шага, для всех строк и без графа.",
            after=(),
        ),
        aspect(
            "loss",
            0.25,
            en="The mean loss over all entries of `y` is returned, a Python number.",
            ru="Возвращается среднее значение функции потерь по всем элементам `y`, число Python.",
            after=(),
        ),
        aspect(
            "frozen",
            0.5,
            en="Frozen weights and all flags are as before.",
            ru="Замороженные веса и все флаги остались прежними.",
            after=("weights", "peak"),
        ),
        works_on(
            0.5,
            after=(
                "weights",
                "peak",
                "state",
                "loss",
            ),
        ),
    ],
    hints=[
        Text(
            "Three loops: windows, micro-batches, steps. In which of them belongs each of `zero_grad`, `backward`, `detach`, "
            "`step`?",
            "Циклов три: по окнам, по микробатчам, по шагам. В каком из них место каждому из вызовов `zero_grad`, "
            "`backward`, `detach`, `step`?",
        ),
        Text(
            "Each micro-batch has a hidden state of its own, which goes from window to window without its graph. The loss is "
            "a sum of squares, divided by the number of entries of `y` in the whole window.",
            "У каждого микробатча своё скрытое состояние, оно переходит из окна в окно без графа. Функция потерь — сумма "
            "квадратов, делённая на число элементов `y` во всём окне.",
        ),
        Text.same(
            "states = list(h.split(rows))\n"
            "for start in range(0, len(x), steps):\n"
            "    xs, ys = x[start : start + steps], y[start : start + steps]\n"
            "    optimizer.zero_grad()\n"
            "    for i, (x_part, y_part) in enumerate(zip(xs.split(rows, dim=1), ys.split(rows, dim=1))):\n"
            "        ...  # checkpoint(cell, x_t, state, use_reentrant=False)\n"
            "    optimizer.step()"
        ),
    ],
    why=Why(
        Text(
            "Why is the hidden state detached between windows, but not inside one?",
            "Почему скрытое состояние отсоединяют от графа между окнами, но не внутри окна?",
        ),
        Text(
            "What the last window's graph saved is freed, and the weights have moved since. Inside a window the "
            "state carries the gradient back to earlier steps.",
            "Сохранённое в графе прошлого окна уже освобождено, а веса с тех пор изменились. Внутри окна "
            "состояние несёт градиент назад, к более ранним шагам.",
        ),
    ),
)
def train_windows(answer: Any, case: Case) -> dict[str, object]:
    cell = case.cell
    flags = [p.requires_grad for p in cell.parameters()]
    frozen = [p for p in cell.parameters() if not p.requires_grad]
    before = copies(frozen)
    names = {parameter: name for name, parameter in cell.named_parameters()}
    shapes = {names[p]: p.shape for group in case.optimizer.param_groups for p in group["params"]}
    windows = math.ceil(len(case.x) / case.steps)
    with weights_after_steps(case.optimizer) as weights:
        returned = answer.train_windows(cell, case.optimizer, case.x, case.y, case.h, case.steps, case.rows)
    with using_answer():
        state, loss = returned
        with_graph = isinstance(state, Tensor) and state.requires_grad
    untouched = all(torch.equal(a, b) for a, b in zip(before, frozen))  # type: ignore[arg-type]
    return {
        "weights": _by_window(windows, shapes, weights),
        "state": {"h": state, "requires_grad": with_graph},
        "loss": loss if isinstance(loss, Tensor) else number(loss),
        "frozen": untouched and [p.requires_grad for p in cell.parameters()] == flags,
        **(_measure(answer.train_windows, case.rng) if case.rng else {"peak": AtMost(4 * _WIDE, 0)}),
    }


def _by_window(windows: int, shapes: dict[str, torch.Size], weights: list[Tensor]) -> dict[str, object]:
    """Return the number of optimizer steps, and each trained weight after each window, by name.

    `shapes` is a dict from name to shape, `weights` has a flat tensor of all trained weights for each step. A weight is
    None if there was no such step.
    """
    found: dict[str, object] = {"steps of the optimizer": len(weights)}
    sizes = [shape.numel() for shape in shapes.values()]
    for window in range(windows):
        flat = weights[window] if window < len(weights) else torch.empty(0)
        parts = flat.split(sizes) if len(flat) == sum(sizes) else [None] * len(sizes)
        for (name, shape), part in zip(shapes.items(), parts):
            found[f"{name} after window {window + 1}"] = None if part is None else part.view(shape)
    return found


def _measure(train: Callable[..., Any], rng: torch.Generator) -> dict[str, object]:
    """Run the answer on a wide cell.

    Returns its peak, its calls and rows of the cell, and its backward passes.
    """
    cell = Cell(rng, 2, _STATE, 1, _WIDTH)
    optimizer = _sgd(cell)
    samples = _PARTS * _ROWS
    x, y, h = signed(rng, _STEPS, samples, 2), signed(rng, _STEPS, samples, 1), signed(rng, samples, _STATE) / 3
    with using_answer(), batch_sizes(cell) as sizes, counting_backward_runs() as runs, live_bytes() as live:
        train(cell, optimizer, x, y, h, _STEPS, _ROWS)
    return {
        "peak": AtMost(limit=4 * _WIDE, used=live.peak, of=condense([*cell.parameters()])),
        "calls": [len(sizes), max(sizes, default=0)],
        "backward_runs": runs.times,
    }


@train_windows.weigh("peak", most=49 << 20)
def weigh(train: Callable[..., Any], rng: torch.Generator) -> object:
    """Train a window of 24 steps in 2 parts. The widest tensor of one part in one step takes 1.5 MB."""
    cell, steps, rows = Cell(rng, 2, _STATE, 1, _WIDTH), 24, 1024
    x, y, h = (signed(rng, *shape) / 3 for shape in ((steps, 2 * rows, 2), (steps, 2 * rows, 1), (2 * rows, _STATE)))
    train(cell, _sgd(cell), x, y, h, steps, rows)
    return [*cell.parameters()]


def _sgd(cell: Cell, lr: float = 0.1) -> torch.optim.SGD:
    return torch.optim.SGD([p for p in cell.parameters() if p.requires_grad], lr=lr)


@train_windows.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    return {
        "pair": answer.train_windows(case.cell, case.optimizer, case.x[:1], case.y[:1], case.h, case.steps, case.rows)
    }


@train_windows.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for length, samples, outputs, steps, rows in [(3, 2, 1, 5, 5), (5, 4, 2, 2, 3)]:
        cell = Cell(rng, 2, 3, outputs)
        optimizer: torch.optim.Optimizer = _sgd(cell)
        if outputs == 2:
            with_old_gradients(cell)
            optimizer = torch.optim.Adam(optimizer.param_groups[0]["params"], lr=0.05, weight_decay=0.1)
        yield Case(
            cell=cell,
            optimizer=optimizer,
            x=signed(rng, length, samples, 2),
            y=signed(rng, length, samples, outputs),
            h=signed(rng, samples, 3) / 3,
            steps=steps,
            rows=rows,
            rng=another(rng) if length == 5 else None,
        )
