"""Extra exercise: the gradient at each value of an edited tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, signed, uniform, with_old_gradient
from autograder.checking.labels import BACKWARD_PASSES, Entries
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import counting_backward_runs

from .common import gradients, hooks_on


@exercise(
    title=Text("The gradient at each value", "Градиент по каждому значению"),
    kind="find the bug",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "gradients",
            1.5,
            en="The list holds the gradient with respect to each value that `h` has had, from the first to the last.",
            ru="В списке лежит градиент по каждому значению, которое принимал `h`, от первого до последнего.",
            entries=(Entries(Text("gradient {n}", "градиент {n}"), Text("gradients", "градиентов")),),
        ),
        aspect(
            "edited",
            0.5,
            en="`h` itself holds the value after the last edit.",
            ru="В самом тензоре `h` лежит значение после последнего изменения.",
            after=(),
        ),
        aspect(
            "untouched",
            0.5,
            en="`.grad` of the leaf stays as it was, and no hook of yours stays on `h`.",
            ru="Поле `.grad` у листа прежнее, и ваших хуков на `h` не остаётся.",
        ),
        aspect(
            "passes",
            0.5,
            en="There is one backward pass.",
            ru="Обратный проход один.",
            measured=BACKWARD_PASSES,
        ),
    ],
    hints=[
        Text(
            "How many different tensors are in `places`? Print `len({id(place) for place in places})`.",
            "Сколько в `places` разных тензоров? Напечатайте `len({id(place) for place in places})`.",
        ),
        Text(
            "A tensor means its present value. What means a value as it was? And a node may have several results.",
            "Тензор означает своё нынешнее значение. А что означает прежнее? И у узла может быть несколько результатов.",
        ),
        Text(
            "places = [torch.autograd.graph.get_gradient_edge(h)]\nfor edit in edits:\n    edit(h)\n    ...  # one more edge",
            "places = [torch.autograd.graph.get_gradient_edge(h)]\nfor edit in edits:\n    edit(h)\n    ...  # ещё одно ребро",
        ),
    ],
)
def fix_places(answer: Any, case: Case) -> dict[str, object]:
    with counting_backward_runs() as runs:
        found = answer.fix_places(case.h, case.edits, case.loss_of)
    with using_answer():
        edited, hooks = case.h.detach().clone(), hooks_on([case.h])
    return {
        "gradients": list(found) if isinstance(found, tuple) else found,
        "edited": edited,
        "untouched": {".grad of the leaves": gradients([case.leaf]), "hooks": hooks},
        "passes": AtMost(limit=1, used=runs.times),
    }


@fix_places.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    a, b = signed(rng, 3), signed(rng, 3)
    x = leaf(rng, 3)
    times = Formula("h -> h.mul_(a)", lambda h: h.mul_(a))
    yield Case(leaf=x, h=x.sin(), edits=[times, Formula("h -> h.add_(1).mul_(3)", _add_and_triple)], loss_of=_loss(b))
    x = with_old_gradient(leaf(rng, 4, 3))
    first = Formula("h -> h[0] = 0", _clear_the_first)
    yield Case(leaf=x, h=torch.std_mean(x, dim=0)[1], edits=[times, first, times], loss_of=_loss(b))
    x = with_old_gradient(leaf(rng, 3))
    yield Case(leaf=x, h=3 * x, edits=[], loss_of=_loss(uniform(rng, 3)))


def _add_and_triple(h: Tensor) -> Tensor:
    return h.add_(1).mul_(3)


def _clear_the_first(h: Tensor) -> Tensor:
    h[0] = 0
    return h


def _loss(b: Tensor) -> Formula:
    return Formula("h -> (b * h + h.sin()).sum()", lambda h: (b * h + h.sin()).sum())
