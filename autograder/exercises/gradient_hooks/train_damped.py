"""Extra exercise: a hook registered in every step of a loop."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import weights_after_steps

from .common import hooks_on, linear

Batches = list[tuple[Tensor, Tensor]]


class Shift(nn.Module):
    """A model that adds bias and weight to its input.

    One tensor serves as the gradient of both.
    """

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(signed(rng, 3, 2)), nn.Parameter(signed(rng, 3, 2))

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.bias) + self.weight


@exercise(
    title=Text("A hook in the loop", "Хук в цикле"),
    kind="find the bug",
    difficulty=1,
    minutes=6,
    aspects=[
        aspect(
            "weights",
            1,
            en="In every step the gradient of `model.weight` is multiplied by `factor`, that of the bias is not.",
            ru="На каждом шаге градиент параметра `model.weight` умножен на `factor`, а градиент смещения — нет.",
        ),
        aspect(
            "hooks_left",
            1,
            en="No hook of yours stays; somebody else's does.",
            ru="Ни одного вашего хука не остаётся, а чужой остаётся.",
            after=(),
        ),
    ],
    hints=[
        Text(
            "Print `len(model.weight._backward_hooks)` in the loop. What does the second step do with two hooks?",
            "Напечатайте в цикле `len(model.weight._backward_hooks)`. Что на втором шаге делают два хука?",
        ),
        Text(
            "One hook is enough for all steps. Where does it begin, and where does it end?",
            "На все шаги хватит одного хука. Где он начинается и где заканчивается?",
        ),
        Text(
            "handle = model.weight.register_hook(...)\nfor x, y in batches:\n    ...\nhandle...",
            "handle = model.weight.register_hook(...)\nfor x, y in batches:\n    ...\nhandle...",
        ),
    ],
)
def train_damped(answer: Any, case: Case) -> dict[str, object]:
    others: list[float] = []
    other = case.model.weight.register_hook(lambda grad: others.append(grad.sum().item()))
    with weights_after_steps(case.optimizer) as weights:
        answer.train_damped(case.model, case.optimizer, case.batches, case.factor)
    with using_answer():
        stays = other.id in case.model.weight._backward_hooks
        left = {
            "hooks": hooks_on(case.model.parameters()) - stays,
            "other hook stays": stays,
            "runs of the other hook": len(others),
        }
    rates = [group["lr"] for group in case.optimizer.param_groups]
    return {"weights": weights, "hooks_left": left, "learning rates": rates}


@train_damped.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for factor, momentum in ((0.5, 0.0), (-2.0, 0.9)):
        model = linear(rng, 2, 1, bias=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=momentum)
        batches = [(signed(rng, 3, 2), signed(rng, 3, 1)) for _ in range(4)]
        yield Case(model=model, optimizer=optimizer, batches=batches, factor=factor)
    shift = Shift(rng)
    optimizer = torch.optim.SGD(shift.parameters(), lr=0.1)
    batches = [(signed(rng, 3, 2), signed(rng, 3, 2)) for _ in range(3)]
    yield Case(model=shift, optimizer=optimizer, batches=batches, factor=0.5)


def _train(model: Any, optimizer: Any, batches: Batches) -> None:
    for x, y in batches:
        optimizer.zero_grad()
        mse_loss(model(x), y).backward()
        optimizer.step()


@train_damped.mistake(
    en="A hook is still registered in every step. All are taken off at the end, but until then they multiply.",
    ru="Хук по-прежнему ставится на каждом шаге. В конце все они сняты, но до того умножают один за другим.",
)
def removes_all_at_the_end(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    handles = []
    for batch in batches:
        handles.append(model.weight.register_hook(lambda grad: factor * grad))
        _train(model, optimizer, [batch])
    for handle in handles:
        handle.remove()


@train_damped.mistake(
    en="There is one hook now, but it stays after the function: the next training will be damped, too.",
    ru="Хук теперь один, но после функции он остаётся: следующее обучение тоже будет ослаблено.",
)
def never_removes(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    model.weight.register_hook(lambda grad: factor * grad)
    _train(model, optimizer, batches)


@train_damped.mistake(
    en="All hooks of the parameter were cleared, somebody else's as well. A handle takes off one hook only.",
    ru="Убраны все хуки параметра, в том числе чужой. Дескриптор снимает только один хук.",
)
def clears_all_hooks(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    for batch in batches:
        model.weight._backward_hooks.clear()
        model.weight.register_hook(lambda grad: factor * grad)
        _train(model, optimizer, [batch])
    model.weight._backward_hooks.clear()


@train_damped.mistake(
    en="The hook is taken off after the first step: the later steps are not damped.",
    ru="Хук снят после первого шага: следующие шаги не ослаблены.",
)
def damps_the_first_step(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    handle = model.weight.register_hook(lambda grad: factor * grad)
    for batch in batches:
        _train(model, optimizer, [batch])
        handle.remove()


@train_damped.mistake(
    en="The gradient of the bias is multiplied as well.",
    ru="Умножается и градиент смещения.",
)
def damps_everything(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    handles = [parameter.register_hook(lambda grad: factor * grad) for parameter in model.parameters()]
    _train(model, optimizer, batches)
    for handle in handles:
        handle.remove()


@train_damped.mistake(
    en="Nothing is damped: the steps are those of training without a hook.",
    ru="Ничего не ослаблено: шаги такие же, как при обучении без хука.",
)
def damps_nothing(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    _train(model, optimizer, batches)


@train_damped.mistake(
    en="A hook is still registered in every step, and only the last one is taken off.",
    ru="Хук по-прежнему ставится на каждом шаге, а снят только последний.",
)
def removes_the_last(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    for batch in batches:
        handle = model.weight.register_hook(lambda grad: factor * grad)
        _train(model, optimizer, [batch])
    handle.remove()


@train_damped.mistake(*train_damped.mistakes["clears_all_hooks"].says)
def clears_all_at_the_end(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    model.weight.register_hook(lambda grad: factor * grad)
    _train(model, optimizer, batches)
    model.weight._backward_hooks.clear()


@train_damped.mistake(
    en="The gradients are not cleared between the steps: each step is made with the sum of all gradients so far.",
    ru="Между шагами градиенты не обнуляются: каждый шаг делается по сумме всех прежних градиентов.",
)
def forgets_to_clear(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    with model.weight.register_hook(lambda grad: factor * grad):
        for x, y in batches:
            mse_loss(model(x), y).backward()
            optimizer.step()


@train_damped.mistake(
    en="The weight itself is multiplied after each step, not its gradient.",
    ru="После каждого шага умножается сам вес, а не его градиент.",
)
def scales_the_weight(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    for batch in batches:
        _train(model, optimizer, [batch])
        with torch.no_grad():
            model.weight.mul_(factor)


@train_damped.mistake(
    en="There is one step for all batches together. Each pair makes a step of its own.",
    ru="На все батчи вместе сделан один шаг, а на каждую пару нужен свой.",
)
def makes_one_step(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    with model.weight.register_hook(lambda grad: factor * grad):
        optimizer.zero_grad()
        torch.stack([mse_loss(model(x), y) for x, y in batches]).sum().backward()
        optimizer.step()


@train_damped.mistake(*train_damped.mistakes["clears_all_hooks"].says)
def clears_all_in_each_step(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    for batch in batches:
        model.weight.register_hook(lambda grad: factor * grad)
        _train(model, optimizer, [batch])
        model.weight._backward_hooks.clear()


@train_damped.mistake(
    en="The change of the weight is multiplied after each step, not its gradient. With momentum that is not the same.",
    ru="После каждого шага умножается изменение веса, а не его градиент. При импульсе это не одно и то же.",
)
def scales_the_step(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    for batch in batches:
        before = model.weight.detach().clone()
        _train(model, optimizer, [batch])
        with torch.no_grad():
            model.weight.copy_(before + factor * (model.weight - before))


@train_damped.mistake(
    en="The steps do not change the weights: the gradients were cleared between `backward()` and `step()`.",
    ru="Шаги не меняют весов: градиенты обнулены между `backward()` и `step()`.",
)
def clears_before_the_step(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    with model.weight.register_hook(lambda grad: factor * grad):
        for x, y in batches:
            mse_loss(model(x), y).backward()
            optimizer.zero_grad()
            optimizer.step()


@train_damped.mistake(
    en="The steps do not change the weights, and somebody else's hook does not run: no backward pass reaches this model. "
    "A copy has parameters of its own, which the optimizer does not know.",
    ru="Шаги не меняют весов, и чужой хук не срабатывает: ни один обратный проход до этой модели не доходит. У копии свои "
    "параметры, и оптимизатор о них не знает.",
)
def trains_a_copy(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    twin = copy.deepcopy(model)
    for x, y in batches:
        optimizer.zero_grad()
        mse_loss(twin(x), y).backward()
        optimizer.step()


@train_damped.mistake(
    en="The hook changes its argument in place. In a sum that tensor is also the gradient of the bias, which is damped then, "
    "too.",
    ru="Хук меняет свой аргумент на месте. При сложении этот же тензор служит градиентом и для смещения, и тогда ослаблен "
    "и он.",
)
def edits_the_gradient(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    with model.weight.register_hook(lambda grad: grad.mul_(factor)):
        _train(model, optimizer, batches)


@train_damped.mistake(
    en="The learning rate is multiplied: the steps of the bias are damped, too, and so is every later training.",
    ru="Умножена скорость обучения: ослаблены и шаги смещения, и любое следующее обучение.",
)
def scales_the_learning_rate(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] *= abs(factor)
    _train(model, optimizer, batches)


@train_damped.mistake(*train_damped.mistakes["scales_the_learning_rate"].says)
def scales_the_signed_learning_rate(model: Any, optimizer: Any, batches: Batches, factor: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] *= factor
    _train(model, optimizer, batches)
