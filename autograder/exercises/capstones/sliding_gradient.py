"""Extra exercise: from every loss a fixed number of steps back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.containment.caught import Caught
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradients
from autograder.checking.labels import GRADIENTS_OF_PARAMETERS
from autograder.checking.observe import AnswerRaised
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import batch_sizes

from .common import copies
from .recurrent import Cell


@exercise(
    title=Text("A window that slides", "Скользящее окно"),
    kind="design",
    difficulty=3,
    minutes=18,
    aspects=[
        aspect(
            "gradients",
            0.75,
            en="From every loss the gradient goes through at most `k` calls of the cell, and no further.",
            ru="От каждой функции потерь градиент проходит самое большее через `k` вызовов ячейки, и не дальше.",
            entries=(GRADIENTS_OF_PARAMETERS,),
        ),
        aspect(
            "calls",
            1.25,
            en="The cell is called once for each step.",
            ru="На каждом шаге ячейка вызвана один раз.",
            measured=Text("Calls of the cell", "Вызовов ячейки"),
        ),
        aspect(
            "rest",
            0.5,
            en="Every `.grad` is as before.",
            ru="Все поля `.grad` остались прежними.",
            after=("gradients", "calls"),
        ),
        aspect(
            "spare",
            0.5,
            en="A parameter on which no loss depends has zeros in the list.",
            ru="У параметра, от которого не зависит ни одна функция потерь, в списке нули.",
            after=("gradients", "calls"),
            entries=(GRADIENTS_OF_PARAMETERS,),
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
        Text.same(
            "start = h.detach().requires_grad_()\n"
            "prediction, h = cell(x_t, start)\n"
            "links.append((start, h))\n"
            "*found, v = torch.autograd.grad(loss, (*weights, start), retain_graph=True, materialize_grads=True)\n"
            "for start, end in reversed(links[-k:-1]):\n"
            "    ..."
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
    cleared = all(p.grad is None or not p.grad.any() for p in parameters)
    listed = list(found) if isinstance(found, (list, tuple)) else found
    return {
        "gradients": listed,
        "calls": AtMost(limit=len(case.x), used=len(sizes)),
        "spare": _with_a_spare(answer, case),
        "rest": kept,
        "cleared": cleared,
    }


def _with_a_spare(answer: Any, case: Case) -> object:
    """Return the list for a cell with a parameter that nothing depends on, or the error."""
    case.cell.register_parameter("spare", torch.nn.Parameter(torch.ones(2, dtype=torch.float64)))
    try:
        found = answer.sliding_gradient(case.cell, case.x, case.y, case.h, case.k)
    except AnswerRaised as error:
        text = f"{type(error.__cause__).__name__}: {error.__cause__}".splitlines()[0]
        return Caught.of(error.__cause__ or error, text)
    return list(found) if isinstance(found, (list, tuple)) else found


@sliding_gradient.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for length, k in [(5, 2), (7, 3), (3, 5)]:
        cell = Cell(rng, 2, 3, 1)
        if k == 3:
            with_old_gradients(cell)
        yield Case(cell=cell, x=signed(rng, length, 2, 2), y=signed(rng, length, 2, 1), h=signed(rng, 2, 3) / 3, k=k)
