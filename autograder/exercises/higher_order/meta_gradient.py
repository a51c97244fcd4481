"""Core exercise: the gradient of a validation loss through steps of SGD."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, LARGEST_TENSOR
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import CountedCalls, Ops, counting_backward_runs, counting_ops

Loss = Callable[[Tensor], Tensor]
Pair = tuple[Tensor, Tensor]


@exercise(
    title=Text("Through the steps of an optimizer", "Производная сквозь шаги оптимизатора"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=12,
    aspects=[
        aspect(
            "learning_rate",
            1.5,
            en="The derivative with respect to the learning rate is right.",
            ru="Производная по скорости обучения верна.",
            after=(),
        ),
        aspect(
            "weights",
            1.5,
            en="The gradient with respect to the initial weights is right, with the second derivatives of the training "
            "loss.",
            ru="Градиент по начальным весам верен, и в нём учтены вторые производные функции потерь на обучении.",
            after=(),
        ),
        aspect(
            "passes",
            1,
            en="Calls of the two losses and backward passes together are at most 3 · `steps` + 2.",
            ru="Вызовов двух функций потерь и обратных проходов вместе не больше 3 · `steps` + 2.",
            after=("learning_rate", "weights"),
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            0,
            en="No new tensor has more than 4n elements, for n weights.",
            ru="При n весах ни в одном новом тензоре нет больше 4n элементов.",
            after=("learning_rate", "weights"),
            measured=LARGEST_TENSOR,
        ),
    ],
    hints=[
        Text(
            "The last weights are a function of `lr` and of the first weights. Which operations must be in its graph, "
            "and which of them is a gradient?",
            "Последние веса — функция от `lr` и от начальных весов. Какие операции должны войти в её граф и какая из "
            "них — градиент?",
        ),
        Text(
            "Write each step out of place: `w = w - lr * velocity`. Neither `no_grad()` nor `optimizer.step()` is "
            "recorded.",
            "Записывайте каждый шаг без изменения на месте: `w = w - lr * velocity`. То, что выполнено внутри "
            "`no_grad()` или в `optimizer.step()`, в граф не попадает.",
        ),
        Text(
            "w0, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()\nat, velocity = w0, 0\n"
            "for _ in range(steps):\n"
            "    (g,) = torch.autograd.grad(train_loss(at), at, create_graph=...)\n    ...\n"
            "return torch.autograd.grad(validation_loss(at), (lr, w0))",
            "w0, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()\nat, velocity = w0, 0\n"
            "for _ in range(steps):\n"
            "    (g,) = torch.autograd.grad(train_loss(at), at, create_graph=...)\n    ...\n"
            "return torch.autograd.grad(validation_loss(at), (lr, w0))",
        ),
    ],
)
def meta_gradient(answer: Any, case: Case) -> dict[str, object]:
    train, validation = CountedCalls(case.train_loss), CountedCalls(case.validation_loss)
    with counting_backward_runs() as runs:
        found = answer.meta_gradient(train.function, validation.function, case.w, case.lr, case.momentum, case.steps)
    by_lr, by_w = found if isinstance(found, (tuple, list)) and len(found) == 2 else (found, None)
    calls = train.times + validation.times
    ops = Ops()
    if case.steps == 1:
        with counting_ops() as ops:
            answer.meta_gradient(case.train_loss, case.validation_loss, case.w, case.lr, case.momentum, case.steps)
    return {
        "learning_rate": by_lr,
        "weights": by_w,
        "passes": AtMost(limit=3 * case.steps + 2, used=calls + runs.times),
        "largest": AtMost(limit=4 * len(case.w), used=ops.largest),
        "many_runs": runs.times > 2 * case.steps + 1,
        "matrix": ops.largest >= len(case.w) ** 2,
    }


@meta_gradient.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, momentum, steps in [(6, 0.5, 3), (5, 0.0, 2), (6, 0.9, 1)]:
        yield Case(
            train_loss=_loss(rng, n),
            validation_loss=_loss(rng, n),
            w=signed(rng, n),
            lr=torch.tensor(0.1, dtype=torch.float64),
            momentum=momentum,
            steps=steps,
        )


def _loss(rng: torch.Generator, n: int) -> Loss:
    a, b = signed(rng, n) / 2, uniform(rng, n)
    return Formula("w -> ((a * w).sin() + w.roll(1) * w / 4 - b).square().mean()", lambda w: _of(w, a, b))


def _of(w: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return ((a * w).sin() + w.roll(1) * w / 4 - b).square().mean()


def _unroll(
    train_loss: Loss,
    validation_loss: Loss,
    w: Tensor,
    lr: Tensor,
    momentum: float,
    steps: int,
    *,
    create_graph: bool = True,
    sign: float = -1.0,
    nesterov: bool = False,
    cut_velocity: bool = False,
    cut_first: bool = False,
) -> Pair:
    """Return both derivatives. Each flag makes one mistake."""
    first, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()
    at, velocity = first, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(at), at, create_graph=create_graph)
        if cut_first and momentum and at is first:
            g = g.detach()
        velocity = momentum * (velocity.detach() if cut_velocity else velocity) + g
        at = at + sign * lr * (g + momentum * velocity if nesterov else velocity)
    by_lr, by_w = torch.autograd.grad(validation_loss(at), (lr, first))
    return by_lr, by_w


@meta_gradient.mistake(
    en="The gradients of the training loss were taken as constants: without `create_graph=True` the second derivatives "
    "are missing. With one step the learning rate does not notice it; the initial weights do.",
    ru="Градиенты функции потерь на обучении взяты как константы: без `create_graph=True` теряются вторые производные. "
    "При одном шаге на производной по скорости обучения это не сказывается, а на градиенте по начальным весам "
    "сказывается.",
)
def first_order(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, create_graph=False)


@meta_gradient.mistake(
    en="The momentum is missing: each step was made with the gradient alone.",
    ru="Потерян импульс: каждый шаг сделан только по градиенту.",
)
def without_momentum(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, 0.0, steps)


@meta_gradient.mistake(
    en="The velocity was detached between the steps. It depends on the earlier weights, too.",
    ru="Накопленная скорость между шагами отсоединена от графа. Но она тоже зависит от прежних весов.",
)
def velocity_without_a_graph(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, cut_velocity=True)


@meta_gradient.mistake(
    en="The first velocity is a copy of the gradient without a graph, as in torch's own `SGD(differentiable=True)`.",
    ru="Первая накопленная скорость — копия градиента без графа, как в готовом `SGD(differentiable=True)`.",
)
def first_velocity_without_a_graph(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, cut_first=True)


@meta_gradient.mistake(
    en="The steps go uphill: the weights were increased by `lr * velocity`.",
    ru="Шаги направлены вверх: к весам прибавлено `lr * velocity`.",
)
def uphill(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, sign=1.0)


@meta_gradient.mistake(
    en="The step is that of Nesterov's momentum. Asked for is the plain one: `w - lr * velocity`.",
    ru="Шаг сделан с импульсом Нестерова, а нужен обычный: `w - lr * velocity`.",
)
def nesterov(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, nesterov=True)


@meta_gradient.mistake(
    en="The training loss was differentiated at the end. The validation loss judges the steps.",
    ru="В конце продифференцирована функция потерь на обучении. Шаги оценивает функция потерь на валидации.",
)
def training_loss_at_the_end(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, t, w, lr, momentum, steps)


@meta_gradient.mistake(
    en="The two results are in the wrong order: first comes the derivative with respect to the learning rate.",
    ru="Результаты переставлены: первой идёт производная по скорости обучения.",
)
def swaps_the_results(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    by_lr, by_w = _unroll(t, v, w, lr, momentum, steps)
    return by_w, by_lr


@meta_gradient.mistake(
    en="There is one step less than `steps`.",
    ru="Шагов на один меньше, чем `steps`.",
)
def one_step_less(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Any:
    if steps == 1:
        return torch.zeros_like(lr), torch.func.grad(v)(w)
    return _unroll(t, v, w, lr, momentum, steps - 1)


@meta_gradient.mistake(
    en="Results are right, but the steps are run once for each of the two derivatives. One backward pass gives both.",
    ru="Результаты верны, но шаги выполнены отдельно для каждой из двух производных. Обе даёт один обратный проход.",
)
def once_for_each(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps)[0], _unroll(t, v, w, lr, momentum, steps)[1]


@meta_gradient.mistake(
    en="Matrices were built, of n × n elements: a Jacobian or Hessian of the steps. Products by backward passes are "
    "enough.",
    ru="Построены матрицы из n × n элементов: матрица Якоби или Гессе для шагов. Достаточно произведений, которые дают "
    "обратные проходы.",
)
def with_matrices(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    def last(w: Tensor, lr: Tensor) -> tuple[Tensor, Tensor]:
        velocity = torch.zeros_like(w)
        for _ in range(steps):
            velocity = momentum * velocity + torch.func.grad(t)(w)
            w = w - lr * velocity
        return w, w

    (by_w, by_lr), at = torch.func.jacrev(last, argnums=(0, 1), has_aux=True)(w, lr)
    g = torch.func.grad(v)(at)
    return by_lr @ g, g @ by_w
