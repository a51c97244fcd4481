"""Exercise: the gradient penalty of a critic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.devices.device_run import gradients_there, works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform, with_old_gradients
from autograder.checking.labels import CALLS_AND_PASSES, GRADIENTS_OF_PARAMETERS
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import (
    count_passes,
    gradients_of,
    is_as_before,
    linear,
    release,
    state_of,
    tanh_net,
    untouched,
)


@exercise(
    title=Text("A penalty on the gradient", "Штраф на градиент"),
    kind="complete",
    core=True,
    difficulty=2,
    rtol=1e-4,
    aspects=[
        aspect(
            "value",
            1,
            en="The penalty is a scalar: the mean over samples of $(\\lVert g_i \\rVert - 1)^2$.",
            ru="Штраф — скаляр: среднее по примерам от $(\\lVert g_i \\rVert - 1)^2$.",
        ),
        aspect(
            "gradients",
            1.5,
            en="The gradient of the penalty reaches every weight that requires grad and is right, also where $g_i = 0$.",
            ru="Градиент штрафа доходит до всех весов, которые требуют градиента, и верен, в том числе там, где $g_i = 0$.",
            entries=(GRADIENTS_OF_PARAMETERS,),
        ),
        untouched(0.5),
        aspect(
            "passes",
            0.5,
            en="There is one call of the critic and one backward pass.",
            ru="Критик вызван один раз, и обратный проход один.",
            measured=CALLS_AND_PASSES,
        ),
        works_on(
            0.5,
            after=(
                "value",
                "gradients",
            ),
        ),
    ],
    hints=[
        Text(
            "Which tensor is the penalty a function of, once the gradient is there? Does that tensor have a graph?",
            "От какого тензора зависит штраф, когда градиент уже вычислен? Есть ли у этого тензора граф?",
        ),
        Text(
            "The samples do not see each other, so the gradient of `critic(mixed).sum()` holds the gradient of each "
            "sample in its own row. A row may have several dimensions.",
            "Примеры друг от друга не зависят, поэтому в градиенте `critic(mixed).sum()` у каждого примера своя "
            "строка. В строке может быть несколько измерений.",
        ),
        Text.same(
            "mixed = (mix * real + (1 - mix) * fake).requires_grad_()\n"
            "(g,) = torch.autograd.grad(critic(mixed).sum(), mixed, ...)\n"
            "return ((g.flatten(1).norm(dim=1) - 1) ** 2)..."
        ),
    ],
    why=Why(
        Text(
            "Why may the outputs of all samples be summed before the gradient is taken?",
            "Почему перед дифференцированием выходы всех примеров можно сложить?",
        ),
        Text(
            "The critic treats each sample on its own, so a sample has an influence on one term of the sum only. "
            "Its part of the gradient is that of its own output.",
            "Критик обрабатывает каждый пример отдельно, поэтому пример влияет только на одно слагаемое. Его "
            "часть градиента — это градиент его собственного выхода.",
        ),
    ),
)
def gradient_penalty(answer: Any, case: Case) -> dict[str, object]:
    before, critic = state_of(case.critic), case.critic
    weights = [p for p in critic.parameters() if p.requires_grad]
    try:
        drawn = torch.get_rng_state()
        with count_passes(critic, case.real) as passes:
            penalty = answer.gradient_penalty(critic, case.real, case.fake, case.mix)
        drawn_anew = not torch.equal(drawn, torch.get_rng_state())
        again = answer.gradient_penalty(critic, case.real, case.fake, case.mix) if drawn_anew else penalty
        with using_answer():
            _ = call_with_other_numbers(penalty, answer.gradient_penalty, critic, case.real, case.fake, case.mix)
            return {
                "value": penalty if bool((again == penalty).all()) else "a random number",
                "gradients": gradients_of(penalty, weights),
                "untouched": is_as_before(critic, before),
                "passes": AtMost(limit=2, used=passes.total),
                "many_passes": passes.total >= len(case.real),
                "calls": passes.calls,
            }
    finally:
        release(critic)


@gradient_penalty.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    penalty = answer.gradient_penalty(case.critic, case.real[:2], case.fake[:2], case.mix[:2])
    return {"gradients": gradients_there(penalty, [case.critic[0].weight])}


@gradient_penalty.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    critic = with_old_gradients(tanh_net(rng, 3, 4))
    yield Case(critic=critic, real=signed(rng, 5, 3), fake=signed(rng, 5, 3), mix=_shares(rng, 5, 1))
    critic = torch.nn.Sequential(torch.nn.Flatten(), *tanh_net(rng, 6, 4), torch.nn.Flatten(0))
    critic[1].bias.requires_grad_(False)
    critic.eval()
    yield Case(critic=critic, real=signed(rng, 4, 2, 3), fake=signed(rng, 4, 2, 3), mix=_shares(rng, 4, 1, 1))
    # A negative sample switches every unit of the positive layer off: the gradient is 0 there.
    layer = linear(rng, 2, 3)
    layer.weight, layer.bias = torch.nn.Parameter(uniform(rng, 3, 2)), torch.nn.Parameter(torch.zeros(3).double())
    signs = torch.tensor([[1.0], [1.0], [-1.0]], dtype=torch.float64)
    yield Case(
        critic=torch.nn.Sequential(layer, torch.nn.ReLU(), linear(rng, 3, 1)),
        real=signs * uniform(rng, 3, 2),
        fake=signs * uniform(rng, 3, 2),
        mix=_shares(rng, 3, 1),
    )


def _shares(rng: torch.Generator, *shape: int) -> Tensor:
    return torch.rand(shape, generator=rng, dtype=torch.float64) * 0.3 + 0.1
