"""Extra exercise: a cure for each of five questions from forums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import copies, fill_gradients, linear, value_net


@exercise(
    title=Text("Five cures", "Пять решений"),
    kind="find the bug",
    difficulty=2,
    minutes=20,
    aspects=[
        aspect("A", 1, en="A: both gradients are right.", ru="A: оба градиента верны.", after=()),
        aspect(
            "B",
            1,
            en="B: the sample has right derivatives with respect to `mu` and `log_std`.",
            ru="B: у выборки верные производные по `mu` и `log_std`.",
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
            en="D: the optimizer has the parameters of the model, each once, and no others.",
            ru="D: в оптимизаторе есть все параметры модели, каждый по одному разу, и никаких других.",
            after=(),
        ),
        aspect(
            "E",
            1,
            en="E: the moved input is right, has no graph, and `.grad` of the model is as before.",
            ru="E: сдвинутый вход верен, графа у него нет, а `.grad` у модели прежний.",
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
            raise TypeError("cures() does not return a dict")
        return {
            letter: _or_error(observe, found.get(letter), case)
            for letter, observe in {"A": _policy, "B": _sample, "C": _mean, "D": _optimizer, "E": _attack}.items()
        }


def _or_error(observe: Callable[..., object], function: Any, case: Case) -> object:
    """Return what `observe(function, case)` returns, or the name of the exception that it raises."""
    try:
        return observe(function, case)
    except Exception as error:
        return type(error).__name__


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
    if by_log_std is not None:
        by_log_std = by_log_std / (z - mu).detach()
    return {"derivative by mu": by_mu, "derivative by log_std": by_log_std, "differs from mu": spread}


def _mean(function: Any, case: Case) -> object:
    w = case.mu.clone().requires_grad_()
    mean = function([w[0] * 2, (w**2).sum(), w[1] * w[2]])
    (gradient,) = torch.autograd.grad(mean, w, allow_unused=True)
    return {"mean": mean, "gradient": gradient}


def _optimizer(function: Any, case: Case) -> object:
    model = _Headed(torch.Generator().manual_seed(0))
    optimizer = function(model, 4, 0.25)
    given = [id(p) for group in optimizer.param_groups for p in group["params"]]
    wanted = [id(p) for p in model.parameters()]
    return {
        "parameters missing": len(set(wanted) - set(given)),
        "other tensors": len(set(given) - set(wanted)),
        "parameters given twice": len(given) - len(set(given)),
        "lr": sorted({group["lr"] for group in optimizer.param_groups}),
        "outputs": model.head.weight.shape[0],
    }


def _attack(function: Any, case: Case) -> object:
    fill_gradients(case.model)
    before = copies(p.grad for p in case.model.parameters())
    given = case.x.clone()
    x = function(case.model, case.x, case.y, 0.1, 3)
    after = [p.grad for p in case.model.parameters()]
    return {
        "x": x,
        "has a graph": x.grad_fn is not None,
        "model's grad is there": all(each is not None for each in after),
        "model's grad stays": all(a is None or b is None or torch.equal(a, b) for a, b in zip(before, after)),
        "passed x stays": torch.equal(case.x, given),
        "passed x requires grad": case.x.requires_grad,
    }


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
    yield Case(
        log_prob=-uniform(rng, 4),
        value=signed(rng, 4),
        returns=3 + uniform(rng, 4),
        mu=signed(rng, 3),
        log_std=signed(rng, 3) / 4,
        model=value_net(rng, 2),
        x=signed(rng, 3, 2),
        y=signed(rng, 3, 1),
    )


# --------------------------------------------------------------------------------------- right and wrong cures


def _a(log_prob: Tensor, value: Tensor, returns: Tensor) -> Tensor:
    return -(log_prob * (returns - value).detach()).mean() + mse_loss(value, returns)


def _b(mu: Tensor, log_std: Tensor) -> Tensor:
    return torch.distributions.Normal(mu, log_std.exp()).rsample()


def _c(losses: list[Tensor]) -> Tensor:
    return torch.stack(losses).mean()


def _d(model: Any, outputs: int, lr: float) -> Any:
    model.head = nn.Linear(model.head.in_features, outputs)
    return torch.optim.SGD(model.parameters(), lr=lr)


def _e(model: Any, x: Tensor, y: Tensor, eps: float, steps: int) -> Tensor:
    for _ in range(steps):
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(mse_loss(model(x), y), x)
        x = x.detach() + eps * gradient.sign()
    return x


def _with(letter: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the five right functions with another one in place of one of them."""
    return {"A": _a, "B": _b, "C": _c, "D": _d, "E": _e} | {letter: function}


@cures.mistake(
    en="A: the policy loss still moves the value. Logarithms of probabilities are negative, so this loss falls when the "
    "value rises, and the critic is pushed above the returns.",
    ru="A: функция потерь стратегии по-прежнему меняет оценку. Логарифмы вероятностей отрицательны, поэтому с ростом оценки "
    "эта функция уменьшается, и критик завышает оценку.",
)
def leaks_into_the_critic() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: -(lp * (r - v)).mean() + mse_loss(v, r))


@cures.mistake(
    en="A: the value is cut off in both terms, so the critic learns nothing.",
    ru="A: оценка отсоединена в обоих слагаемых, и критик не учится.",
)
def critic_learns_nothing() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: -(lp * (r - v.detach())).mean() + mse_loss(v.detach(), r))


@cures.mistake(
    en="A: the product is cut off as a whole, so the actor learns nothing.",
    ru="A: произведение отсоединено целиком, и актор не учится.",
)
def actor_learns_nothing() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: -(lp * (r - v)).detach().mean() + mse_loss(v, r))


@cures.mistake(
    en="B: `sample()` runs under `no_grad()`. A flag that is set afterwards makes the sample a leaf: nothing goes on to the "
    "encoder.",
    ru="B: метод `sample()` выполняется внутри `no_grad()`. Если потом включить флаг, выборка станет листом: дальше, к "
    "кодировщику, ничего не пойдёт.",
)
def flag_on_the_sample() -> dict[str, Any]:
    return _with("B", lambda mu, ls: torch.distributions.Normal(mu, ls.exp()).sample().requires_grad_())


@cures.mistake(
    en="B: the noise is added to `mu`, but its size has no gradient.",
    ru="B: шум прибавлен к `mu`, но у его размера нет градиента.",
)
def spread_without_a_gradient() -> dict[str, Any]:
    return _with("B", lambda mu, ls: mu + ls.exp().detach() * torch.randn_like(mu))


@cures.mistake(
    en="B: the mean is returned. It has a gradient, but it is no sample.",
    ru="B: возвращено среднее. Градиент у него есть, но это не выборка.",
)
def mean_for_a_sample() -> dict[str, Any]:
    return _with("B", lambda mu, ls: mu * 1)


@cures.mistake(
    en="B: `log_std` was taken for the standard deviation itself: `exp()` is missing.",
    ru="B: вместо стандартного отклонения взят сам `log_std`: пропущен `exp()`.",
)
def forgets_exp() -> dict[str, Any]:
    return _with("B", lambda mu, ls: mu + ls * torch.randn_like(mu))


@cures.mistake(
    en="C: `torch.tensor(...)` copies the numbers. Its flag belongs to a new leaf: the graph behind the losses is gone.",
    ru="C: `torch.tensor(...)` копирует числа. Флаг относится к новому листу, а граф функций потерь потерян.",
)
def copies_the_numbers() -> dict[str, Any]:
    return _with("C", lambda losses: torch.tensor([loss.item() for loss in losses], requires_grad=True).mean())


@cures.mistake(
    en="C: the sum is returned. Asked for is the mean.",
    ru="C: возвращена сумма, а нужно среднее.",
)
def sum_for_the_mean() -> dict[str, Any]:
    return _with("C", lambda losses: torch.stack(losses).sum())


@cures.mistake(
    en="D: the optimizer has the old head. It was made before the new one.",
    ru="D: в оптимизаторе старый выходной слой. Оптимизатор создан раньше, чем новый слой.",
)
def made_too_early() -> dict[str, Any]:
    def run(model: Any, outputs: int, lr: float) -> Any:
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        model.head = nn.Linear(model.head.in_features, outputs)
        return optimizer

    return _with("D", run)


@cures.mistake(
    en="D: the new head was added, but the old one is still in the optimizer, which keeps it in memory.",
    ru="D: новый слой добавлен, но старый остался в оптимизаторе и занимает память.",
)
def keeps_the_old_head() -> dict[str, Any]:
    def run(model: Any, outputs: int, lr: float) -> Any:
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        model.head = nn.Linear(model.head.in_features, outputs)
        optimizer.add_param_group({"params": model.head.parameters()})
        return optimizer

    return _with("D", run)


@cures.mistake(
    en="D: only the new head is in the optimizer.",
    ru="D: в оптимизаторе только новый выходной слой.",
)
def head_alone() -> dict[str, Any]:
    def run(model: Any, outputs: int, lr: float) -> Any:
        model.head = nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.head.parameters(), lr=lr)

    return _with("D", run)


def _by_backward(retains: bool, clears: bool) -> Callable[..., Tensor]:
    """Return a wrong cure of E. It calls `backward()`, and keeps the graph if `retains`."""

    def run(model: Any, x: Tensor, y: Tensor, eps: float, steps: int) -> Tensor:
        x = x.clone().requires_grad_()
        for _ in range(steps):
            if retains:
                x.retain_grad()
            else:
                x = x.detach().requires_grad_()
            mse_loss(model(x), y).backward()
            if clears:
                model.zero_grad()
            x = x + eps * x.grad.sign()  # type: ignore[union-attr]
        return x if retains else x.detach()

    return run


@cures.mistake(
    en="E: `retain_grad()` stops the error. The graph of all steps stays, and every pass adds to `.grad` of the model.",
    ru="E: с `retain_grad()` ошибки нет. Но граф всех шагов остаётся, а каждый проход прибавляет к `.grad` модели.",
)
def retains_the_gradient() -> dict[str, Any]:
    return _with("E", _by_backward(retains=True, clears=False))


@cures.mistake(
    en="E: the input is right, but `backward()` has added to `.grad` of the model, and the next training step would use it.",
    ru="E: вход верен, но `backward()` прибавил градиенты к `.grad` модели, и они вошли бы в следующий шаг обучения.",
)
def fills_the_model() -> dict[str, Any]:
    return _with("E", _by_backward(retains=False, clears=False))


@cures.mistake(
    en="E: `zero_grad()` has cleared the gradients of the model, and with them those that were there before.",
    ru="E: вызов `zero_grad()` обнулил градиенты модели, а вместе с ними и те, что лежали там раньше.",
)
def clears_the_model() -> dict[str, Any]:
    return _with("E", _by_backward(retains=False, clears=True))


@cures.mistake(
    en="E: the step goes down the gradient. The attack raises the loss.",
    ru="E: шаг сделан против градиента. Атака увеличивает функцию потерь.",
)
def goes_down() -> dict[str, Any]:
    return _with("E", lambda model, x, y, eps, steps: _e(model, x, y, -eps, steps))


@cures.mistake(
    en="E: there is one step instead of `steps`.",
    ru="E: сделан один шаг вместо `steps`.",
)
def one_step() -> dict[str, Any]:
    return _with("E", lambda model, x, y, eps, steps: _e(model, x, y, eps, 1))


@cures.mistake(
    en="E: the tensor that was passed was changed itself, its flag or its numbers. Begin with `x.detach().clone()`.",
    ru="E: изменён сам переданный тензор, его флаг или числа. Начните с `x.detach().clone()`.",
)
def changes_the_input() -> dict[str, Any]:
    def run(model: Any, x: Tensor, y: Tensor, eps: float, steps: int) -> Tensor:
        x.requires_grad_()
        return _e(model, x, y, eps, steps)

    return _with("E", run)


@cures.mistake(*cures.mistakes["changes_the_input"].says)
def moves_the_input() -> dict[str, Any]:
    def run(model: Any, x: Tensor, y: Tensor, eps: float, steps: int) -> Tensor:
        x.copy_(_e(model, x, y, eps, steps))
        return x

    return _with("E", run)
