"""Mistakes of the exercise `cures`, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from .cures import cures


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
    en="B: the function raises a `ValueError`. A standard deviation cannot be negative, and `log_std` can: take its `exp()`.",
    ru="B: функция вызывает исключение `ValueError`. Стандартное отклонение не бывает отрицательным, а `log_std` бывает: "
    "возьмите от него `exp()`.",
)
def negative_deviation() -> dict[str, Any]:
    return _with("B", lambda mu, ls: torch.distributions.Normal(mu, ls, validate_args=True).rsample())


@cures.mistake(
    en="C: only the numbers of the losses were taken. A flag that is set afterwards belongs to a new leaf: the graph behind "
    "the losses is gone.",
    ru="C: от функций потерь взяты только числа. Если потом включить флаг, он относится к новому листу, а граф функций потерь "
    "потерян.",
)
def copies_the_numbers() -> dict[str, Any]:
    return _with("C", lambda losses: torch.tensor([loss.item() for loss in losses], requires_grad=True).mean())


@cures.mistake(*cures.mistakes["copies_the_numbers"].says)
def copies_the_losses() -> dict[str, Any]:
    return _with("C", lambda losses: torch.tensor(losses, requires_grad=True).mean())


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


# ------------------------------------------------------------------------------ mistakes that one line describes


@cures.mistake(
    en="A: the squared error does not reach `value`, and the policy loss does.",
    ru="A: квадрат ошибки не доходит до `value`, а функция потерь стратегии доходит.",
)
def swaps_the_terms() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: -(lp * (r - v)).mean() + mse_loss(v.detach(), r))


@cures.mistake(
    en="A: `log_prob` is cut off, so the actor learns nothing, and the policy loss moves the value.",
    ru="A: `log_prob` отсоединён от графа: актор не учится, а функция потерь стратегии меняет оценку.",
)
def cuts_log_prob() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: -(lp.detach() * (r - v)).mean() + mse_loss(v, r))


@cures.mistake(
    en="A: the losses are sums over the entries. They had to stay means.",
    ru="A: функции потерь — суммы по элементам, а должны были остаться средними.",
)
def sums_the_entries() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: -(lp * (r - v).detach()).sum() + mse_loss(v, r, reduction="sum"))


@cures.mistake(
    en="B: the derivatives are right, but the noise is not that of a standard normal distribution.",
    ru="B: производные верны, но шум взят не из стандартного нормального распределения.",
)
def another_noise() -> dict[str, Any]:
    return _with("B", lambda mu, ls: mu + ls.exp() * torch.rand_like(mu))


@cures.mistake(
    en="B: all entries get one and the same noise. Each needs a number of its own.",
    ru="B: ко всем элементам прибавлен один и тот же шум, а у каждого он должен быть свой.",
)
def one_number_of_noise() -> dict[str, Any]:
    return _with("B", lambda mu, ls: mu + ls.exp() * torch.randn(()))


@cures.mistake(
    en="B: two calls give the same noise.",
    ru="B: два вызова дают один и тот же шум.",
)
def same_noise_again() -> dict[str, Any]:
    def run(mu: Tensor, log_std: Tensor) -> Tensor:
        rng = torch.Generator().manual_seed(0)
        return mu + log_std.exp() * torch.randn(mu.shape, generator=rng, dtype=mu.dtype)

    return _with("B", run)


@cures.mistake(
    en="B: the noise is multiplied by the variance, `exp(2 * log_std)`, not by the standard deviation.",
    ru="B: шум умножен на дисперсию, `exp(2 * log_std)`, а не на стандартное отклонение.",
)
def takes_the_variance() -> dict[str, Any]:
    return _with("B", lambda mu, ls: mu + (2 * ls).exp() * torch.randn_like(mu))


@cures.mistake(
    en="C: only the first loss gets a gradient. The others are numbers.",
    ru="C: градиент доходит только до первой функции потерь. Остальные взяты как числа.",
)
def reaches_the_first() -> dict[str, Any]:
    return _with("C", lambda losses: (losses[0] + sum(loss.item() for loss in losses[1:])) / len(losses))


@cures.mistake(
    en="D: the optimizer is not `torch.optim.SGD`.",
    ru="D: оптимизатор — не `torch.optim.SGD`.",
)
def another_optimizer() -> dict[str, Any]:
    def run(model: Any, outputs: int, lr: float) -> Any:
        return torch.optim.Adam(_d(model, outputs, lr).param_groups[0]["params"], lr=lr)

    return _with("D", run)


@cures.mistake(
    en="D: the learning rate is not `lr`.",
    ru="D: скорость обучения не равна `lr`.",
)
def another_rate() -> dict[str, Any]:
    return _with("D", lambda model, outputs, lr: _d(model, outputs, 0.001))


@cures.mistake(
    en="E: the gradients of all steps so far are added up, and the sign is that of the sum. Clear `.grad` of `x` before each "
    "step.",
    ru="E: градиенты всех сделанных шагов складываются, и взят знак суммы. Обнуляйте `.grad` у `x` перед каждым шагом.",
)
def adds_up_the_gradients() -> dict[str, Any]:
    def run(model: Any, x: Tensor, y: Tensor, eps: float, steps: int) -> Tensor:
        x = x.clone().requires_grad_()
        for _ in range(steps):
            mse_loss(model(x), y).backward(inputs=[x])
            x.data += eps * x.grad.sign()  # type: ignore[union-attr]
        return x.detach()

    return _with("E", run)


@cures.mistake(
    en="E: there is one step of size `steps * eps`. The gradient has to be computed anew after each step of `eps`.",
    ru="E: сделан один шаг размера `steps * eps`. Градиент нужно вычислять заново после каждого шага `eps`.",
)
def one_long_step() -> dict[str, Any]:
    return _with("E", lambda model, x, y, eps, steps: _e(model, x, y, steps * eps, 1))


@cures.mistake(
    en="E: the step is made along the gradient itself. Asked for is its sign.",
    ru="E: шаг сделан вдоль самого градиента, а нужен его знак.",
)
def forgets_the_sign() -> dict[str, Any]:
    def run(model: Any, x: Tensor, y: Tensor, eps: float, steps: int) -> Tensor:
        for _ in range(steps):
            x = x.detach().requires_grad_()
            x = x.detach() + eps * torch.autograd.grad(mse_loss(model(x), y), x)[0]
        return x

    return _with("E", run)


@cures.mistake(
    en="E: the moved `x` is right, but still has the graph of the steps.",
    ru="E: сдвинутый `x` верен, но у него остался граф всех шагов.",
)
def keeps_the_graph() -> dict[str, Any]:
    def run(model: Any, x: Tensor, y: Tensor, eps: float, steps: int) -> Tensor:
        x = x.clone().requires_grad_()
        for _ in range(steps):
            x = x + eps * torch.autograd.grad(mse_loss(model(x), y), x)[0].sign()
        return x

    return _with("E", run)


@cures.mistake(
    en="E: the model comes back frozen: its flags `requires_grad` are off, and it would not train any more.",
    ru="E: модель осталась замороженной: её флаги `requires_grad` выключены, и учиться дальше она не будет.",
)
def leaves_it_frozen() -> dict[str, Any]:
    return _with("E", lambda model, *rest: _e(model.requires_grad_(False), *rest))


@cures.mistake(
    en="A: the policy loss has the wrong sign: what brought more than predicted becomes less likely.",
    ru="A: у функции потерь стратегии не тот знак: действие, которое принесло больше предсказанного, становится менее "
    "вероятным.",
)
def turns_the_policy() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: (lp * (r - v).detach()).mean() + mse_loss(v, r))


@cures.mistake(
    en="A: the policy loss is a sum over the entries. It had to stay a mean.",
    ru="A: функция потерь стратегии — сумма по элементам, а должна была остаться средним.",
)
def sums_the_policy() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: -(lp * (r - v).detach()).sum() + mse_loss(v, r))


@cures.mistake(
    en="A: the policy loss alone is returned. Asked for is the sum of both losses.",
    ru="A: возвращена только функция потерь стратегии, а нужна сумма обеих.",
)
def policy_alone() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: -(lp * (r - v).detach()).mean())


@cures.mistake(
    en="B: the noise is multiplied by `exp(log_std / 2)`. `log_std` is the logarithm of the standard deviation, not of the "
    "variance.",
    ru="B: шум умножен на `exp(log_std / 2)`. Но `log_std` — логарифм стандартного отклонения, а не дисперсии.",
)
def takes_it_for_the_variance() -> dict[str, Any]:
    return _with("B", lambda mu, ls: mu + (ls / 2).exp() * torch.randn_like(mu))


@cures.mistake(
    en="D: the new layer was not put into the model: `model.head` is the old one.",
    ru="D: новый слой не помещён в модель: `model.head` остался прежним.",
)
def leaves_the_old_head() -> dict[str, Any]:
    return _with("D", lambda model, outputs, lr: torch.optim.SGD(model.parameters(), lr=lr))


@cures.mistake(*cures.mistakes["leaves_the_old_head"].says)
def trains_a_head_aside() -> dict[str, Any]:
    def run(model: Any, outputs: int, lr: float) -> Any:
        return torch.optim.SGD([*model.parameters(), *nn.Linear(model.head.in_features, outputs).parameters()], lr=lr)

    return _with("D", run)


@cures.mistake(
    en="D: the new layer does not fit: it must take as many inputs as the old one, `in_features`.",
    ru="D: новый слой не подходит: входов у него должно быть столько же, сколько у прежнего, `in_features`.",
)
def takes_other_inputs() -> dict[str, Any]:
    def run(model: Any, outputs: int, lr: float) -> Any:
        model.head = nn.Linear(model.head.out_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)

    return _with("D", run)


@cures.mistake(
    en="D: a part of the model was frozen. The flags were to stay as they were.",
    ru="D: часть модели заморожена. А флаги должны были остаться прежними.",
)
def freezes_the_body() -> dict[str, Any]:
    return _with("D", lambda model, outputs, lr: _d(model.requires_grad_(False), outputs, lr))


@cures.mistake(
    en="A: an `AttributeError` is raised. The result has to be one tensor with a number: is a pair of losses returned?",
    ru="A: возникает исключение `AttributeError`. Результат должен быть одним тензором с числом: не возвращена ли пара "
    "функций потерь?",
)
def pair_of_losses() -> dict[str, Any]:
    return _with("A", lambda lp, v, r: (-(lp * (r - v).detach()).mean(), mse_loss(v, r)))
