"""Exercise: a cure for each of five questions from forums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.containment.caught import or_error
from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform, with_old_gradients
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import copies, linear

_SAMPLES = 4000


@exercise(
    title=Text("Five cures", "Пять решений"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect("A", 1, en="A: both gradients are right.", ru="A: оба градиента верны.", after=()),
        aspect(
            "B",
            1,
            en="B: a sample of this normal distribution has right derivatives with respect to `mu` and `log_std`.",
            ru="B: это выборка из нужного нормального распределения, с верными производными по `mu` и `log_std`.",
            after=(),
        ),
        aspect(
            "C",
            1,
            en="C: the mean reaches every loss.",
            ru="C: градиент среднего доходит до каждой функции потерь.",
            after=(),
        ),
        aspect(
            "D",
            1,
            en="D: the head is new, and the SGD optimizer has the parameters of the model, each once, and no others.",
            ru="D: выходной слой новый, и в оптимизаторе SGD есть все параметры модели, каждый по одному разу, и никаких других.",
            after=(),
        ),
        aspect(
            "E",
            1,
            en="E: the moved input is right, has no graph, and each `.grad`, each flag and the mode of the model are as before.",
            ru="E: сдвинутый вход верен, графа у него нет, а все поля `.grad`, флаги и режим модели прежние.",
            after=(),
        ),
    ],
    hints=[
        Text(
            "Ask of each function: which tensor should the gradient reach, and which should it not? Where is the path cut, or "
            "not cut?",
            "Спросите о каждой функции: до какого тензора градиент должен дойти, а до какого нет? Где путь оборван или, "
            "наоборот, не оборван?",
        ),
        Text(
            "A: the advantage is a weight, not a function. B: there is a method that samples by a formula. C: `torch.tensor` "
            "copies numbers. D: an optimizer knows the tensors it was given. E: `torch.autograd.grad` needs no `.grad`.",
            "A: преимущество — множитель, а не функция. B: есть метод, в котором выборка вычисляется по формуле. C: "
            "`torch.tensor` копирует числа. D: оптимизатор знает только те тензоры, которые получил. E: функции "
            "`torch.autograd.grad` поле `.grad` не нужно.",
        ),
        Text(
            "A: .detach()\nB: .rsample()\nC: torch.stack(...)\nD: first the head, then the optimizer\n"
            "E: (gradient,) = torch.autograd.grad(loss, x)",
            "A: .detach()\nB: .rsample()\nC: torch.stack(...)\nD: сначала слой, потом оптимизатор\n"
            "E: (gradient,) = torch.autograd.grad(loss, x)",
        ),
    ],
)
def cures(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        found = answer.cures()
        if not isinstance(found, dict):
            raise Refused("raised.type", got=type(found).__name__, expected="kind.dict")
        return {
            letter: or_error(observe, found.get(letter), case)
            for letter, observe in {"A": _policy, "B": _sample, "C": _mean, "D": _optimizer, "E": _attack}.items()
        }


def _policy(function: Any, case: Case) -> object:
    log_prob, value = (tensor.clone().requires_grad_() for tensor in (case.log_prob, case.value))
    loss = function(log_prob, value, case.returns)
    loss.backward()
    return {"loss": loss, "log_prob": log_prob.grad, "value": value.grad}


def _sample(function: Any, case: Case) -> object:
    """Return the derivatives of a sample, those by log_std divided by the sample's distance from mu."""
    mu, log_std = case.mu.clone().requires_grad_(), case.log_std.clone().requires_grad_()
    z = function(mu, log_std)
    spread = bool(((z - mu).detach().abs() > 0).all())
    by_mu, by_log_std = torch.autograd.grad(z.sum(), (mu, log_std), allow_unused=True)
    return {
        "derivative by mu": by_mu,
        "derivative by log_std": by_log_std / (z - mu).detach() if by_log_std is not None and spread else None,
        "differs from mu": spread,
        **_noise(function),
    }


def _noise(function: Any) -> dict[str, bool]:
    """Return whether 4,000 entries of noise look standard normal and random.

    Random means that they differ from each other, and from those of another call. The limits are five standard deviations away or more, so that no right sample fails.
    """
    mu, log_std = (torch.full((_SAMPLES,), value, dtype=torch.float64) for value in (2.0, 0.5))
    one, other = ((function(mu, log_std).detach() - mu) / log_std.exp() for _ in range(2))
    within = (one.abs() < 1).double().mean().item()
    return {
        "standard normal": abs(one.mean().item()) < 0.1
        and abs(one.std().item() - 1) < 0.1
        and abs(within - 0.6827) < 0.04,
        "entries differ": one.unique().numel() > _SAMPLES // 2,
        "calls differ": not torch.equal(one, other),
    }


def _mean(function: Any, case: Case) -> object:
    w = case.mu.clone().requires_grad_()
    mean = function([w[0] * 2, (w**2).sum(), w[1] * w[2]])
    (gradient,) = torch.autograd.grad(mean, w, allow_unused=True)
    return {"mean": mean, "gradient": gradient}


def _optimizer(function: Any, case: Case) -> object:
    model = _Headed(torch.Generator().manual_seed(0))
    model.body.bias.requires_grad_(False)
    old = model.head
    optimizer = function(model, 4, 0.25)
    flags = {name: p.requires_grad for name, p in model.named_parameters()}
    given = [id(p) for group in optimizer.param_groups for p in group["params"]]
    wanted = [id(p) for p in model.parameters()]
    rates = {group["lr"] for group in optimizer.param_groups}
    return {
        "parameters missing": len(set(wanted) - set(given)),
        "other tensors": len(set(given) - set(wanted)),
        "parameters given twice": len(given) - len(set(given)),
        "is SGD": isinstance(optimizer, torch.optim.SGD),
        "lr": next((rate for rate in sorted(rates) if rate != 0.25), 0.25),
        "head.weight.shape": str(tuple(model.head.weight.shape)),
        "head is new": model.head is not old,
        "require grad": ", ".join(name for name, flag in flags.items() if flag),
    }


def _attack(function: Any, case: Case) -> object:
    with_old_gradients(case.model)
    case.model[0].bias.requires_grad_(False)
    before = copies(p.grad for p in case.model.parameters())
    given = case.x.clone()
    x = function(case.model, case.x, case.y, 0.1, 4)
    after = [p.grad for p in case.model.parameters()]
    return {
        "x": x,
        "has a graph": x.grad_fn is not None,
        "model's grad is there": all(each is not None for each in after),
        "model's grad stays": all(a is None or b is None or torch.equal(a, b) for a, b in zip(before, after)),
        "model's flags": ", ".join(name for name, p in case.model.named_parameters() if p.requires_grad),
        "model's mode stays": case.model.training,
        "passed x stays": torch.equal(case.x, given),
        "passed x requires grad": case.x.requires_grad,
    }


def _bump(rng: torch.Generator) -> nn.Sequential:
    """Return a network whose output has a maximum where its inputs are 0.

    Steps that begin near it go past the maximum and turn round.
    """
    net = nn.Sequential(linear(rng, 2, 4), nn.Tanh(), linear(rng, 4, 1))
    slopes = 1 + uniform(rng, 2) / 2
    with torch.no_grad():
        net[0].weight.copy_(torch.block_diag(slopes[:1], slopes[1:]).T.repeat_interleave(2, 0))  # type: ignore[operator, union-attr]
        net[0].bias.copy_(torch.tensor([1.0, -1.0]).repeat(2))  # type: ignore[operator, union-attr]
        net[2].weight.copy_(torch.tensor([1.0, -1.0]).repeat(2))  # type: ignore[operator, union-attr]
    return net


class _Headed(nn.Module):
    """A model with a body and a head."""

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.body = linear(rng, 2, 3)
        self.head = linear(rng, 3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).tanh())  # type: ignore[no-any-return]


@cures.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    side = torch.where(signed(rng, 3, 2) < 0, -1.0, 1.0)  # at 0 the sign of the gradient would be rounding
    yield Case(
        log_prob=-uniform(rng, 4),
        value=signed(rng, 4),
        returns=3 + uniform(rng, 4),
        mu=signed(rng, 3),
        log_std=signed(rng, 3).abs() * torch.tensor([-0.25, 0.25, -0.25]),  # some are negative
        model=_bump(rng),
        x=side * (torch.tensor([[0.11], [0.16], [0.52]]) + 0.01 * uniform(rng, 3, 2)),
        y=-4 - uniform(rng, 3, 1),
    )
