"""Exercise: a hidden state that keeps its graph between windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradients
from autograder.checking.labels import WEIGHTS_AFTER_STEPS
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import weights_after_steps

from .common import linear
from .recurrent import Cell

Optimizer = torch.optim.Optimizer


class _LongShort(nn.Module):
    """An LSTM cell with a head.

    Its state is a pair of tensors.
    """

    def __init__(self, rng: torch.Generator, features: int, state: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(features, state, dtype=torch.float64)
        for parameter in self.cell.parameters():
            parameter.data = signed(rng, *parameter.shape) / 3
        self.head = linear(rng, state, 1)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        state = self.cell(x, state)
        return self.head(state[0]), state


@exercise(
    title=Text("A second time", "Скрытое состояние между окнами"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "weights",
            2,
            en="After each window's step the weights are those of the truncated gradient.",
            ru="После шага каждого окна веса такие, какие даёт усечённый градиент.",
            entries=(WEIGHTS_AFTER_STEPS,),
        ),
        aspect(
            "state",
            1,
            en="The last state is returned in the form in which it came, without a graph.",
            ru="Возвращается последнее состояние, в том же виде, в каком оно пришло, и без графа.",
            after=(),
        ),
    ],
    hints=[
        Text(
            "Which tensor ties the second window to the first?",
            "Какой тензор связывает второе окно с первым?",
        ),
        Text(
            "Cut the history, keep the value. An LSTM has two such tensors, in a tuple.",
            "Оборвите историю, но сохраните значение. У LSTM таких тензоров два, и лежат они в кортеже.",
        ),
        Text.same(
            "def fix_hidden_state(cell, optimizer, x, y, state, k):\n"
            "    for start in range(0, len(x), k):\n"
            "        loss = 0.0\n"
            "        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):\n"
            "            prediction, state = cell(x_t, state)\n"
            "            loss = loss + mse_loss(prediction, y_t)\n"
            "        optimizer.zero_grad()\n"
            "        loss.backward()\n"
            "        optimizer.step()\n"
            "        state = tuple(... for part in state) if isinstance(state, tuple) else ...\n"
            "    return state"
        ),
    ],
    why=Why(
        Text(
            "Why does the second window's backward pass fail, although its loss is a new one?",
            "Почему обратный проход второго окна завершается ошибкой, хотя функция потерь у него своя?",
        ),
        Text(
            "Its hidden state still carries the graph of the first window. The pass goes on into that graph, whose saved "
            "tensors the first pass has freed.",
            "Скрытое состояние хранит граф первого окна. Проход идёт дальше в этот граф, а сохранённые в нём тензоры "
            "первый проход уже освободил.",
        ),
    ),
)
def fix_hidden_state(answer: Any, case: Case) -> dict[str, object]:
    with weights_after_steps(case.optimizer) as weights:
        state = answer.fix_hidden_state(case.cell, case.optimizer, case.x, case.y, case.state, case.k)
    with using_answer():
        parts = [part for part in (state if isinstance(state, (tuple, list)) else [state]) if isinstance(part, Tensor)]
        found = {
            "state": state,
            "requires_grad": any(part.requires_grad for part in parts),
            "kind": "Tensor" if isinstance(state, Tensor) else type(state).__name__,
        }
    return {"weights": weights, "state": found}


@fix_hidden_state.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for long_short, length, k in [(False, 4, 2), (True, 4, 2), (True, 5, 3)]:
        cell: nn.Module = _LongShort(rng, 2, 3) if long_short else Cell(rng, 2, 3, 1)
        trained = [p for p in cell.parameters() if p.requires_grad]
        optimizer: Optimizer = torch.optim.SGD(trained, lr=0.1)
        if length == 5:
            with_old_gradients(cell)
            optimizer = torch.optim.Adam(trained, lr=0.05)
        h = signed(rng, 2, 3) / 3
        yield Case(
            cell=cell,
            optimizer=optimizer,
            x=signed(rng, length, 2, 2),
            y=signed(rng, length, 2, 1),
            state=(h, signed(rng, 2, 3) / 3) if long_short else h,
            k=k,
        )
