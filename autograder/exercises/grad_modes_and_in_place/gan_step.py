"""Exercise: repair a GAN step that edits weights before backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Sequential, Sigmoid, Tanh
from torch.optim import SGD, Adam

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

from .common import flags, gradients_of, randomized, weights_of


def _magnitude(gradient: Tensor | None) -> str:
    """Return "none" for None, "zeros" for a gradient of rounding errors alone, else "numbers"."""
    if gradient is None:
        return "none"
    return "numbers" if gradient.abs().max() > 1e-5 else "zeros"


def _thaws_frozen(answer: Any, case: Case) -> dict[str, bool | None]:
    """Return for each network whether a weight that is frozen before a call requires grad afterwards.

    None means that the call did not move the other weights. A call that raises an error does not count, because
    `backward(inputs=...)` refuses frozen weights. The case in float32 is enough. The networks of the case are changed.
    """
    frozen = {"G": case.G[0].weight, "D": case.D[0].weight}
    if case.real.dtype is not torch.float32:
        return dict.fromkeys(frozen, False)
    for weight in frozen.values():
        weight.requires_grad_(False)
        weight.grad = None
    before = {"G": weights_of(case.G), "D": weights_of(case.D)}
    try:
        answer.gan_step(case.G, case.D, case.opt_G, case.opt_D, case.real, case.ideas)
    except AnswerRaised:
        return dict.fromkeys(frozen, False)
    after = {"G": weights_of(case.G), "D": weights_of(case.D)}
    moved = {n: any(not torch.equal(before[n][each], after[n][each]) for each in after[n]) for n in after}
    return {name: weight.requires_grad if moved[name] else None for name, weight in frozen.items()}


@exercise(
    title=Text("From an older version", "Из старой версии"),
    kind="find the bug",
    difficulty=3,
    aspects=[
        aspect(
            "D",
            2,
            en="`opt_D` makes one step, with the gradient of `d_loss` at the weights from before the call; the flags "
            "and modes of `D` stay.",
            ru="`opt_D` делает один шаг по градиенту `d_loss` при весах, которые были до вызова; флаги и режимы `D` "
            "прежние.",
        ),
        aspect(
            "G",
            2,
            en="`opt_G` makes one step, with the gradient of `g_loss` at the weights from before the call; the flags "
            "and modes of `G` stay.",
            ru="`opt_G` делает один шаг по градиенту `g_loss` при весах, которые были до вызова; флаги и режимы `G` "
            "прежние.",
        ),
    ],
    rtol=1e-5,
    hints=[
        Text(
            "Which weights does the backward pass of `g_loss` go through, and which line has changed them by then?",
            "Через какие веса идёт обратный проход от `g_loss` и какая строка кода к этому времени их изменила?",
        ),
        Text(
            "Moving a step down is half of it. Whose `.grad` do `d_loss` and `g_loss` write into besides? Compare "
            "`.grad` after one backward pass and after both.",
            "Передвинуть шаг вниз — это половина дела. В чьи ещё `.grad` пишут `d_loss` и `g_loss`? Сравните "
            "`.grad` после одного обратного прохода и после обоих.",
        ),
        Text.same(
            "def gan_step(G, D, opt_G, opt_D, real, ideas):\n"
            "    score_real = D(real)\n"
            "    score_fake = D(G(ideas))\n"
            "    d_loss = -score_real.log().mean() - (1 - score_fake).log().mean()\n"
            "    g_loss = (1 - score_fake).log().mean()\n\n"
            "    opt_D.zero_grad()\n"
            "    d_loss.backward(inputs=..., retain_graph=True)\n"
            "    opt_G.zero_grad()\n"
            "    g_loss.backward(inputs=...)\n"
            "    ...\n"
            "    ..."
        ),
    ],
    why=Why(
        Text(
            "Why is the backward pass of `g_loss` made before the step of `D`?",
            "Почему обратный проход от `g_loss` делают до шага `D`?",
        ),
        Text(
            "`g_loss` goes back through `D`, whose layers saved their weights. A step changes these in place, "
            "and autograd refuses the pass: it would mix old activations with new weights.",
            "`g_loss` идёт назад через `D`, слои которого сохранили свои веса. Шаг меняет их на месте, и "
            "autograd прерывает проход ошибкой: иначе старые активации смешались бы с новыми весами.",
        ),
    ),
)
def gan_step(answer: Any, case: Case) -> dict[str, object]:
    steps = []
    case.opt_D.register_step_post_hook(lambda *_: steps.append("opt_D"))
    case.opt_G.register_step_post_hook(lambda *_: steps.append("opt_G"))
    answer.gan_step(case.G, case.D, case.opt_G, case.opt_D, case.real, case.ideas)
    with using_answer():
        found: dict[str, Any] = {
            "D": {"steps.count(opt_D)": steps.count("opt_D")} | weights_of(case.D) | flags(case.D, "D"),
            "G": {"steps.count(opt_G)": steps.count("opt_G")} | weights_of(case.G) | flags(case.G, "G"),
            "gradients of G": {name: _magnitude(gradient) for name, gradient in gradients_of(case.G).items()},
        }
        for network, thawed in _thaws_frozen(answer, case).items():
            found[network]["frozen_weight.requires_grad"] = thawed
        return found


@gan_step.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for dtype, optimizer in [(torch.float32, SGD), (torch.float64, Adam)]:
        G = randomized(Sequential(Linear(2, 4), Tanh(), Linear(4, 3)), rng, dtype)
        D = randomized(Sequential(Linear(3, 5), Tanh(), Linear(5, 1), Sigmoid()), rng, dtype)
        G[1].eval()
        D[1].eval()
        if dtype is torch.float64:
            D[2].bias.data.add_(10)  # scores near 1, where a clamped logarithm differs
        yield Case(
            G=G,
            D=D,
            opt_G=optimizer(G.parameters(), lr=0.3),
            opt_D=optimizer(D.parameters(), lr=0.2),
            real=signed(rng, 4, 3).to(dtype),
            ideas=signed(rng, 6, 2).to(dtype),
        )
