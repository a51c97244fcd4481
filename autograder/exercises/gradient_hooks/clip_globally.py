"""Core exercise: a hook that clips each gradient on its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import Branches, gradients, hooks_on, linear


@exercise(
    title=Text("A hook that clips", "Хук, который отсекает градиент"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "gradients",
            2,
            en="The gradient of all parameters together has norm `max_norm` at most, and its direction is the old one.",
            ru="Норма градиента по всем параметрам вместе не больше `max_norm`, а направление прежнее.",
        ),
        aspect(
            "hooks_left",
            1,
            en="No hook stays on the parameters: a later pass is an ordinary one.",
            ru="На параметрах не осталось хуков: следующий проход — обычный.",
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
)
def clip_globally(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    loss = case.loss(case.model(case.x))
    answer.clip_globally(case.model, loss, case.max_norm)
    with using_answer():
        found, left = gradients(parameters), hooks_on(parameters)
        case.model.zero_grad()
        case.loss(case.model(case.x)).backward()
    return {"gradients": found, "hooks_left": [left, gradients(parameters)]}


_MEAN_SQUARE = Formula("y.square().mean()", lambda y: y.square().mean())
_LARGE = Formula("(1000 * y).square().mean()", lambda y: (1000 * y).square().mean())


@clip_globally.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    model = nn.Sequential(linear(rng, 3, 4), linear(rng, 4, 2, bias=True))
    yield Case(model=model, loss=_LARGE, max_norm=2.0, x=signed(rng, 5, 3))
    yield Case(model=Branches(rng), loss=_MEAN_SQUARE, max_norm=1e6, x=signed(rng, 2, 3))
    yield Case(model=Branches(rng), loss=_LARGE, max_norm=0.5, x=signed(rng, 2, 3))


def _trained(model: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


@clip_globally.mistake(
    en="Each parameter's gradient is clipped by its own norm. Long ones are shortened more than short ones, so the "
    "direction changes.",
    ru="Градиент каждого параметра отсечён по его собственной норме. Длинные градиенты укорочены сильнее коротких, "
    "поэтому направление изменилось.",
)
def clips_each_parameter(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    for parameter in _trained(model):
        clip_grad_norm_([parameter], max_norm)


@clip_globally.mistake(
    en="The entries are still clamped one by one. That bounds each of them, not the norm, and it turns the gradient.",
    ru="Элементы по-прежнему обрезаются по одному. Так ограничен каждый элемент, а не норма, и градиент поворачивается.",
)
def clamps_entries(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    for parameter in _trained(model):
        if parameter.grad is not None:
            parameter.grad.clamp_(-max_norm, max_norm)


@clip_globally.mistake(
    en="Each parameter's gradient is clipped by its own norm in a hook, and the hooks stay on.",
    ru="Градиент каждого параметра отсекается в хуке по его собственной норме, а хуки так и остались.",
)
def clips_each_in_a_hook(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    for parameter in _trained(model):
        parameter.register_hook(lambda grad: grad * (max_norm / grad.norm()).clamp(max=1))
    loss.backward()


@clip_globally.mistake(
    en="The entries are clamped in hooks as before, now out of place. The hooks also stay on.",
    ru="Элементы, как и раньше, обрезаются в хуках, только теперь не на месте. И хуки так и остались.",
)
def clamps_in_a_hook(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    for parameter in _trained(model):
        parameter.register_hook(lambda grad: grad.clamp(-max_norm, max_norm))
    loss.backward()


@clip_globally.mistake(
    en="A gradient that is shorter than `max_norm` is made longer. It has to stay as it is.",
    ru="Градиент, который короче `max_norm`, удлинён. Он должен остаться как есть.",
)
def always_scales(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    found = [parameter.grad for parameter in _trained(model) if parameter.grad is not None]
    norm = torch.cat([grad.flatten() for grad in found]).norm()
    for grad in found:
        grad.mul_(max_norm / norm)


@clip_globally.mistake(
    en="Nothing is clipped: the gradients are those of `loss.backward()`.",
    ru="Ничего не отсечено: градиенты такие же, как после `loss.backward()`.",
)
def clips_nothing(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()


@clip_globally.mistake(
    en="The norms of the parameters were added. The norm of all together is the root of the sum of their squares.",
    ru="Нормы параметров сложены. Общая норма — это корень из суммы их квадратов.",
)
def adds_the_norms(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    found = [parameter.grad for parameter in _trained(model) if parameter.grad is not None]
    norm = sum(float(grad.norm()) for grad in found)
    for grad in found:
        grad.mul_(min(1.0, max_norm / norm))


@clip_globally.mistake(
    en="The gradients are right, but hooks of yours stay on the parameters.",
    ru="Градиенты верны, но на параметрах остались ваши хуки.",
)
def clips_and_leaves_hooks(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    for parameter in _trained(model):
        parameter.register_hook(lambda grad: None)
    loss.backward()
    clip_grad_norm_(model.parameters(), max_norm)


@clip_globally.mistake(
    en="A parameter that got no gradient has zeros in `.grad` now. It has to keep None: an optimizer treats the two "
    "differently.",
    ru="У параметра, к которому градиент не пришёл, в `.grad` теперь нули. Там должно остаться None: для оптимизатора "
    "это не одно и то же.",
)
def fills_with_zeros(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    for parameter in _trained(model):
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    clip_grad_norm_(model.parameters(), max_norm)
