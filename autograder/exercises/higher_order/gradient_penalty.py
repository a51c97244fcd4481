"""Core exercise: the gradient penalty of a critic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES
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
    with_old_gradients,
)


@exercise(
    title=Text("A penalty on the gradient", "Штраф за градиент"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=14,
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
            2,
            en="The gradient of the penalty reaches every weight of the critic and is right, also where $g_i = 0$.",
            ru="Градиент штрафа доходит до всех весов критика и верен, в том числе там, где $g_i = 0$.",
        ),
        untouched(0.5),
        aspect(
            "passes",
            0.5,
            en="There is one call of the critic and one backward pass.",
            ru="Критик вызван один раз, и обратный проход один.",
            measured=CALLS_AND_PASSES,
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
        Text(
            "mixed = (mix * real + (1 - mix) * fake).requires_grad_()\n"
            "(g,) = torch.autograd.grad(critic(mixed).sum(), mixed, ...)\n"
            "return ((g.flatten(1).norm(dim=1) - 1) ** 2)...",
            "mixed = (mix * real + (1 - mix) * fake).requires_grad_()\n"
            "(g,) = torch.autograd.grad(critic(mixed).sum(), mixed, ...)\n"
            "return ((g.flatten(1).norm(dim=1) - 1) ** 2)...",
        ),
    ],
)
def gradient_penalty(answer: Any, case: Case) -> dict[str, object]:
    before, critic = state_of(case.critic), case.critic
    try:
        with count_passes(critic) as passes:
            penalty = answer.gradient_penalty(critic, case.real, case.fake, case.mix)
        with using_answer():
            return {
                "value": penalty,
                "gradients": gradients_of(penalty, list(critic.parameters())),
                "untouched": is_as_before(critic, before),
                "passes": AtMost(limit=2, used=passes.total),
                "many_passes": passes.total >= len(case.real),
            }
    finally:
        release(critic)


@gradient_penalty.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    critic = with_old_gradients(tanh_net(rng, 3, 4))
    yield Case(critic=critic, real=signed(rng, 5, 3), fake=signed(rng, 5, 3), mix=_shares(rng, 5, 1))
    critic = torch.nn.Sequential(torch.nn.Flatten(), *tanh_net(rng, 6, 4), torch.nn.Flatten(0))
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


def _gradient(critic: Any, mixed: Tensor, create_graph: bool = True) -> Tensor:
    """Return the gradient of `critic` for each row of `mixed`. Needs no graph of `mixed`."""
    mixed = mixed.detach().requires_grad_()
    return torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=create_graph)[0]


def _lengths(g: Tensor) -> Tensor:
    found: Tensor = g.flatten(1).norm(dim=1)
    return found


def _mixed(real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    return mix * real + (1 - mix) * fake


@gradient_penalty.mistake(
    en="The penalty has the right value and no path to the weights: the gradient was computed without "
    "`create_graph=True`, or cut off afterwards.",
    ru="Значение штрафа верно, но с весами он не связан: градиент вычислен без `create_graph=True` или потом "
    "отсоединён от графа.",
)
def without_a_graph(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix), create_graph=False)) - 1) ** 2).mean()


@gradient_penalty.mistake(
    en="One length was taken for the whole batch. Each sample has a gradient, and so a length, of its own.",
    ru="Взята одна длина на весь батч. Но у каждого примера свой градиент, а значит, и своя длина.",
)
def one_length(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Any:
    return (_gradient(critic, _mixed(real, fake, mix)).norm() - 1) ** 2


@gradient_penalty.mistake(
    en="The length was taken over dimension 1 alone. A sample with more dimensions has one length all the same: over "
    "all dimensions but the first.",
    ru="Длина взята только по измерению 1. Но и у примера с несколькими измерениями длина одна: по всем измерениям, "
    "кроме первого.",
)
def lengths_over_one_dimension(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Any:
    return ((_gradient(critic, _mixed(real, fake, mix)).norm(dim=1) - 1) ** 2).mean()


@gradient_penalty.mistake(
    en="The terms were summed over the samples. The penalty is their mean.",
    ru="Слагаемые сложены по примерам, а штраф — их среднее.",
)
def sums_over_samples(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2).sum()


@gradient_penalty.mistake(
    en="The 1 is missing: the mean of the squared lengths pulls the gradient to 0, not to length 1.",
    ru="Пропущена единица: средний квадрат длины тянет градиент к нулю, а не к длине 1.",
)
def towards_zero(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    return (_lengths(_gradient(critic, _mixed(real, fake, mix))) ** 2).mean()


@gradient_penalty.mistake(
    en="The 1 was subtracted from the squared length. It is subtracted from the length, and then the difference is "
    "squared.",
    ru="Единица вычтена из квадрата длины. Сначала она вычитается из длины, а затем разность возводится в квадрат.",
)
def squared_too_early(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) ** 2 - 1) ** 2).mean()


@gradient_penalty.mistake(
    en="The gradient of the mean output was taken: each sample's gradient is $n$ times too short.",
    ru="Взят градиент среднего выхода: у каждого примера градиент в $n$ раз короче нужного.",
)
def gradient_of_the_mean(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix)) / len(real)) - 1) ** 2).mean()


@gradient_penalty.mistake(
    en="The gradient was taken at `real`. The penalty is taken between the samples, at `mix * real + (1 - mix) * fake`.",
    ru="Градиент взят в точках `real`. Штраф берётся между примерами, в точках `mix * real + (1 - mix) * fake`.",
)
def at_the_real_samples(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    return ((_lengths(_gradient(critic, real)) - 1) ** 2).mean()


@gradient_penalty.mistake(
    en="The roles of `real` and `fake` in the mixture are swapped: `mix` is the share of `real`.",
    ru="В смеси перепутаны `real` и `fake`: `mix` — доля `real`.",
)
def mixed_the_other_way(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    return ((_lengths(_gradient(critic, _mixed(fake, real, mix))) - 1) ** 2).mean()


@gradient_penalty.mistake(
    en="The length was computed as a root of a sum of squares. Where the gradient is 0, the root has an infinite "
    "derivative, and $\\infty \\cdot 0$ is NaN. `norm` takes 0 there.",
    ru="Длина вычислена как корень из суммы квадратов. Там, где градиент равен 0, производная корня бесконечна, а "
    "$\\infty \\cdot 0$ — это NaN. Функция `norm` берёт там 0.",
)
def root_of_squares(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    g = _gradient(critic, _mixed(real, fake, mix))
    return (((g**2).flatten(1).sum(1).sqrt() - 1) ** 2).mean()


@gradient_penalty.mistake(
    en="The penalty is right, but `backward()` was used for the inner gradient: it adds to `.grad` of every weight. "
    "`autograd.grad` asks for one gradient and leaves `.grad` alone.",
    ru="Штраф верен, но внутренний градиент вычислен методом `backward()`, который прибавляет градиенты и к `.grad` "
    "весов. Функция `autograd.grad` вычисляет только нужное и не меняет `.grad`.",
)
def by_backward(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    mixed = _mixed(real, fake, mix).requires_grad_()
    critic(mixed).sum().backward(create_graph=True)
    assert mixed.grad is not None
    found, mixed.grad = mixed.grad, None
    return ((_lengths(found) - 1) ** 2).mean()


@gradient_penalty.mistake(
    en="There is a call of the critic and a backward pass for each sample.",
    ru="На каждый пример приходятся отдельный вызов критика и отдельный обратный проход.",
)
def sample_by_sample(critic: Any, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    rows = [_gradient(critic, row[None]) for row in _mixed(real, fake, mix)]
    return ((_lengths(torch.cat(rows)) - 1) ** 2).mean()
