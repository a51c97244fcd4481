"""Extra exercise: a hidden state that keeps its graph between windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import weights_after_steps

from .common import fill_gradients, linear
from .recurrent import Cell

Optimizer = torch.optim.Optimizer
State = Any


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
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "weights",
            2,
            en="After each window's step the weights are those of the truncated gradient.",
            ru="После шага каждого окна веса такие, какие даёт усечённый градиент.",
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
        Text(
            "state = tuple(part.detach() for part in state) if isinstance(state, tuple) else ...",
            "state = tuple(part.detach() for part in state) if isinstance(state, tuple) else ...",
        ),
    ],
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
            fill_gradients(cell)
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
    clears: bool = True,
) -> State:
    """Train in windows. `between` changes the state after a window, `inside` after each step of it."""
    for start in range(0, len(x), k):
        loss: Any = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, inside(state))
            loss = loss + mse_loss(prediction, y_t)
        if clears:
            optimizer.zero_grad()
        loss.backward(retain_graph=retain)
        optimizer.step()
        state = between(state)
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
    return _run(cell, o, x, y, state, k, between=_cut, clears=False)


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
