"""Exercise: a hook that clips each gradient on its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed
from autograder.checking.labels import GRADIENTS_OF_PARAMETERS, OF_PARAMETERS, Entries
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import Branches, gradients, hooks_on, linear


@exercise(
    title=Text("A hook that clips", "Хук, который отсекает градиент"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            2,
            en="The gradient of all parameters together has norm `max_norm` at most, and its direction is the old one.",
            ru="Норма градиента по всем параметрам вместе не больше `max_norm`, а направление прежнее.",
            entries=(GRADIENTS_OF_PARAMETERS,),
        ),
        aspect(
            "passes",
            0.5,
            en="There is one backward pass, no more.",
            ru="Обратный проход только один.",
        ),
        aspect(
            "hooks_left",
            0.5,
            en="No hook stays on the parameters: a later pass is an ordinary one.",
            ru="На параметрах не осталось хуков: следующий проход — обычный.",
            entries=(
                Entries(
                    (
                        Text("hooks left", "осталось хуков"),
                        Text("gradients of the next pass", "градиенты следующего прохода"),
                    ),
                    Text("parts", "частей"),
                ),
                OF_PARAMETERS,
            ),
        ),
    ],
    hints=[
        Text(
            "The gradients (3, 0) and (0, 4), `max_norm` 1: what is the direction before and after this function?",
            "Градиенты (3, 0) и (0, 4), `max_norm` равен 1: каково направление до этой функции и после неё?",
        ),
        Text(
            "A hook sees one gradient; the factor needs all of them. When are they all known?",
            "Хук видит один градиент, а для множителя нужны все. Когда они все известны?",
        ),
        Text(
            "loss.backward()\n...  # torch.nn.utils has a function for the rest",
            "loss.backward()\n...  # torch.nn.utils",
        ),
    ],
    why=Why(
        Text(
            "Why can hooks on single parameters not clip by the norm of all?",
            "Почему хуки отдельных параметров не могут отсечь градиент по общей норме?",
        ),
        Text(
            "The factor depends on the gradients of all parameters. A hook gets one of them, while others do not "
            "exist yet, so the norm is known only after the pass.",
            "Множитель зависит от градиентов всех параметров. Хук получает один из них, когда других ещё нет, "
            "поэтому норма известна только после прохода.",
        ),
    ),
)
def clip_globally(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    passes: list[Tensor] = []
    y = case.model(case.x)
    y.register_hook(passes.append)
    loss = case.loss(y)
    answer.clip_globally(case.model, loss, case.max_norm)
    with using_answer():
        count = len(passes)
        found, left = gradients(parameters), hooks_on(parameters)
        case.model.zero_grad()
        case.loss(case.model(case.x)).backward()
    return {"gradients": found, "passes": count, "hooks_left": [left, gradients(parameters)]}


_MEAN_SQUARE = Formula("y.square().mean()", lambda y: y.square().mean())
_LARGE = Formula("(1000 * y).square().mean()", lambda y: (1000 * y).square().mean())
_TEN = Formula("10 * y.sum()", lambda y: 10 * y.sum())  # the gradient of the last bias is 10 for each row


@clip_globally.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    model = nn.Sequential(linear(rng, 3, 4), linear(rng, 4, 2, bias=True))
    yield Case(model=model, loss=_LARGE, max_norm=2.0, x=signed(rng, 5, 3))
    yield Case(model=Branches(rng), loss=_MEAN_SQUARE, max_norm=1e6, x=signed(rng, 2, 3))
    yield Case(model=Branches(rng), loss=_TEN, max_norm=0.5, x=signed(rng, 2, 3))
