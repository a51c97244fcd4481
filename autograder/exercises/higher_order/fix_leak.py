"""Extra exercise: a training step whose graph is never freed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import BYTES_LEFT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .common import flat, release, tanh_net, with_old_gradients

_STEPS = 3


@exercise(
    title=Text("A graph that stays", "Граф, который остаётся в памяти"),
    kind="find the bug",
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "gradient",
            2,
            en="After each call `.grad` is the gradient of the loss plus the penalty, whatever it held before, and does "
            "not require grad.",
            ru="После каждого вызова в `.grad` лежит градиент суммы функции потерь и штрафа, что бы там ни было "
            "раньше, и градиента он не требует.",
        ),
        aspect(
            "loss",
            0,
            en="The value of the loss without the penalty is returned, as a Python number.",
            ru="Возвращается значение функции потерь без штрафа — число Python.",
            after=(),
        ),
        aspect(
            "bytes",
            1,
            en=f"After {_STEPS} calls nothing new is in memory but the gradients.",
            ru=f"После {_STEPS} вызовов в памяти нет ничего нового, кроме градиентов.",
            measured=BYTES_LEFT,
        ),
    ],
    hints=[
        Text(
            "Follow the references: the weight holds `.grad`, `.grad` holds a graph. What does the graph hold?",
            "Проследите за ссылками: у веса есть `.grad`, у `.grad` — граф. На что ссылается граф?",
        ),
        Text(
            "The inner gradient need not go into `.grad` at all. Which function returns it instead? And where must "
            "the old `.grad` be cleared?",
            "Внутренний градиент вовсе не обязан попадать в `.grad`. Какая функция его возвращает? И где нужно "
            "обнулить прежний `.grad`?",
        ),
        Text(
            "gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)\n"
            "penalty = sum((g**2).sum() for g in gradients)\n"
            "model.zero_grad()\n...",
            "gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)\n"
            "penalty = sum((g**2).sum() for g in gradients)\n"
            "model.zero_grad()\n...",
        ),
    ],
)
def fix_leak(answer: Any, case: Case) -> dict[str, object]:
    model, arguments = case.model, (case.x, case.y, case.weight)
    try:
        loss = answer.fix_leak(model, *arguments)
        found: dict[str, object] = {"first call": _gradient(model)}
        answer.fix_leak(model, *arguments)
        found |= {"second call": _gradient(model), "requires_grad": [p.grad.requires_grad for p in model.parameters()]}
    except AttributeError:  # a `.grad` of None
        found = {"first call": None}
    finally:
        release(model)
    number = loss if isinstance(loss, (int, float)) else type(loss).__name__
    return {"gradient": found, "loss": number, "bytes": _bytes_left(answer, case)}


def _gradient(model: torch.nn.Module) -> Tensor:
    with using_answer():
        return flat([p.grad.detach().clone() for p in model.parameters() if p.grad is not None])


def _bytes_left(answer: Any, case: Case) -> AtMost:
    """Return the bytes that are alive after several steps. The limit is the size of all gradients.

    They are measured on one case only, and 0 for the others.
    """
    model, of_gradients = case.model, sum(p.nbytes for p in case.model.parameters())
    if not case.measured:
        return AtMost(limit=of_gradients, used=0)
    try:
        with live_bytes() as live:
            for _ in range(_STEPS):
                loss = answer.fix_leak(model, case.x, case.y, case.weight)
                del loss
            left = live.now
    finally:
        release(model)
    return AtMost(limit=of_gradients, used=left)


@fix_leak.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for samples, features in [(6, 3), (4, 2)]:
        model = with_old_gradients(tanh_net(rng, features, 4))
        yield Case(
            model=model, x=signed(rng, samples, features), y=signed(rng, samples, 1), weight=0.3, measured=features == 3
        )


def _by_grad(
    model: Any, x: Tensor, y: Tensor, weight: float, penalise: Callable[[Any], Any], create_graph: bool = True
) -> float:
    """Make a step without a leak. `penalise` returns the penalty for the list of gradients."""
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=create_graph, retain_graph=True)
    model.zero_grad()
    (loss + weight * penalise(gradients)).backward()
    return loss.item()


def _squares(gradients: Any) -> Any:
    return sum((g**2).sum() for g in gradients)


def _by_backward(model: Any, x: Tensor, y: Tensor, weight: float, retain_graph: bool) -> float:
    model.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)  # type: ignore[no-untyped-call]
    (weight * _squares([p.grad for p in model.parameters()])).backward(retain_graph=retain_graph)
    return loss.item()


@fix_leak.mistake(
    en="The gradients are right, but they still have a graph: `backward(create_graph=True)` put them into `.grad` "
    "together with it.",
    ru="Градиенты верны, но у них остался граф: метод `backward(create_graph=True)` записал их в `.grad` вместе с ним.",
)
def gradients_with_a_graph(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_backward(model, x, y, weight, retain_graph=False)


@fix_leak.mistake(
    en="The gradients are right, but each has kept its graph with all saved tensors: `create_graph=True` put it into "
    "`.grad`, and `retain_graph=True` keeps it from being freed.",
    ru="Градиенты верны, но у каждого остался граф со всеми сохранёнными тензорами: с `create_graph=True` он попал в "
    "`.grad`, а из-за `retain_graph=True` не освобождается.",
)
def graph_with_saved_tensors(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_backward(model, x, y, weight, retain_graph=True)


@fix_leak.mistake(
    en="The penalty adds nothing to the gradient: it was computed from gradients without a graph.",
    ru="Штраф ничего не прибавил к градиенту: он вычислен из градиентов, у которых нет графа.",
)
def penalty_without_a_graph(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, weight, _squares, create_graph=False)


@fix_leak.mistake(
    en="`.grad` holds the gradient of the penalty alone: that of the loss is missing.",
    ru="В `.grad` лежит градиент одного штрафа: градиента функции потерь не хватает.",
)
def penalty_alone(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    model.zero_grad()
    (weight * _squares(gradients)).backward()
    return loss.item()


@fix_leak.mistake(
    en="What `.grad` held before is still in it: the new gradient was added.",
    ru="В `.grad` осталось то, что там было раньше: новый градиент к нему прибавлен.",
)
def adds_to_the_old_gradient(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    (loss + weight * _squares(gradients)).backward()
    return loss.item()


@fix_leak.mistake(
    en="The lengths were penalised, not their squares: the square is missing.",
    ru="В штраф вошли длины, а не их квадраты: пропущено возведение в квадрат.",
)
def penalises_the_lengths(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, weight, lambda gradients: sum(g.norm() for g in gradients))


@fix_leak.mistake(
    en="The penalty was not multiplied by `weight`.",
    ru="Штраф не умножен на `weight`.",
)
def forgets_the_weight(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, 1.0, _squares)


@fix_leak.mistake(
    en="The gradient of the loss is in `.grad` twice: the first backward pass put it there, and the second one added it "
    "again.",
    ru="Градиент функции потерь попал в `.grad` дважды: его записал туда первый обратный проход, а второй прибавил ещё "
    "раз.",
)
def counts_the_loss_twice(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    model.zero_grad()
    (2 * loss + weight * _squares(gradients)).backward()
    return loss.item()


@fix_leak.mistake(
    en="The sum of loss and penalty was returned. Only the loss is asked for.",
    ru="Возвращена сумма функции потерь и штрафа, а нужна только функция потерь.",
)
def returns_the_sum(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    seen: list[float] = []

    def penalise(gradients: Any) -> Any:
        penalty = _squares(gradients)
        seen.append(penalty.item())
        return penalty

    return _by_grad(model, x, y, weight, penalise) + weight * seen[0]


@fix_leak.mistake(
    en="The loss was returned as a tensor. A Python number is asked for: `loss.item()`.",
    ru="Функция потерь возвращена как тензор, а нужно число Python: `loss.item()`.",
)
def returns_a_tensor(model: Any, x: Tensor, y: Tensor, weight: float) -> Tensor:
    return torch.tensor(_by_grad(model, x, y, weight, _squares))
