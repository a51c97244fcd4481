"""Extra exercise: the gradient for each sample of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error, relative_error
from autograder.language import Text
from autograder.measure import CountedCalls, counting_backward_runs

from .common import EXACT, EXACT_ROWS, LOSES_DIGITS, tracked


@exercise(
    title=Text("Gradients of single samples", "Градиенты по отдельным примерам"),
    kind="complete",
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "gradients",
            1.5,
            en="Row i is the gradient of the loss of sample i with respect to `w`: a tensor of shape (B, n).",
            ru="Строка i — градиент функции потерь на примере i по `w`; возвращается тензор формы (B, n).",
        ),
        aspect(
            "exact",
            0.5,
            *EXACT_ROWS,
            measured=ERROR,
        ),
        aspect(
            "passes",
            1,
            en="Calls of `loss` and backward passes together are at most 3, for 6 samples.",
            ru="Вызовов `loss` и обратных проходов вместе не больше 3 при 6 примерах.",
            measured=CALLS_AND_PASSES,
        ),
    ],
    hints=[
        Text(
            "Write the gradient for one sample as a function. Which of its three arguments have a batch dimension?",
            "Запишите градиент для одного примера как функцию. У каких из трёх аргументов есть измерение батча?",
        ),
        Text(
            "`torch.func.grad(loss)` differentiates with respect to argument 0. `in_dims` of `vmap` says `None` for "
            "what is shared.",
            "`torch.func.grad(loss)` дифференцирует по аргументу 0. В `in_dims` у `vmap` для общего аргумента ставят "
            "`None`.",
        ),
        Text(
            "torch.func.vmap(torch.func.grad(loss), in_dims=(None, ...))(w, x, y)",
            "torch.func.vmap(torch.func.grad(loss), in_dims=(None, ...))(w, x, y)",
        ),
    ],
)
def per_sample_gradients(answer: Any, case: Case) -> dict[str, object]:
    counted = CountedCalls(case.loss)
    with counting_backward_runs() as runs:
        gradients = answer.per_sample_gradients(counted.function, case.w, case.x, case.y)
    inner = case.x @ case.w
    truth = (2 * (inner.sin() - case.y) * inner.cos())[:, None] * case.x
    with using_answer():
        exact = limited_error(EXACT, relative_error(truth, gradients))
    return {
        "gradients": gradients,
        "exact": exact,
        "passes": AtMost(limit=3, used=counted.times + runs.times),
        "many_calls": counted.times >= len(case.x),
        "many_runs": runs.times >= len(case.x),
    }


def _sample_loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the loss of one sample. `w` are the weights, `x` is a row of features, `y` the target, one number."""
    return (torch.dot(x, w).sin() - y).square()


@per_sample_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for samples, features in [(6, 3), (6, 2)]:
        yield Case(
            loss=Formula("w, x, y -> (dot(x, w).sin() - y)**2", _sample_loss),
            w=uniform(rng, features),
            x=signed(rng, samples, features),
            y=signed(rng, samples),
        )


def _all_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, x, y)  # type: ignore[no-any-return]


@per_sample_gradients.mistake(
    en="The losses were summed: one gradient was returned, the sum of all rows.",
    ru="Значения функции потерь сложены: возвращён один градиент, сумма всех строк.",
)
def sum_over_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).sum(0)


@per_sample_gradients.mistake(
    en="The losses were averaged: one gradient was returned, the mean of all rows.",
    ru="Значения функции потерь усреднены: возвращён один градиент, среднее всех строк.",
)
def mean_over_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).mean(0)


@per_sample_gradients.mistake(
    en="Each row was divided by the number of samples, as if it were a part of a mean.",
    ru="Каждая строка разделена на число примеров, как слагаемое среднего.",
)
def shares_of_a_mean(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y) / len(x)


@per_sample_gradients.mistake(
    en="The gradient was taken with respect to `x`. Its shape is right, but it is another derivative.",
    ru="Градиент взят по `x`. Форма верна, но это другая производная.",
)
def gradient_by_x(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.grad(loss, argnums=1), in_dims=(None, 0, 0))(w, x, y)  # type: ignore[no-any-return]


@per_sample_gradients.mistake(
    en="`vmap` runs over `w` as well. The weights are shared: `in_dims=(None, 0, 0)`.",
    ru="Вызов `vmap` перебирает и `w`. Но веса общие: `in_dims=(None, 0, 0)`.",
)
def maps_the_weights(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.grad(loss))(w, x, y)  # type: ignore[no-any-return]


@per_sample_gradients.mistake(
    en="There is a loop over the samples, with a call of `loss` and a backward pass for each.",
    ru="По примерам идёт цикл: на каждый приходится вызов `loss` и обратный проход.",
)
def loops_over_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = tracked(w)
    return torch.stack([torch.autograd.grad(loss(w, a, b), w)[0] for a, b in zip(x, y)])


@per_sample_gradients.mistake(
    en="The losses come from one batched call, but each has a backward pass of its own.",
    ru="Значения функции потерь вычислены одним вызовом, но обратный проход у каждого свой.",
)
def a_pass_for_each_loss(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = tracked(w)
    losses = torch.func.vmap(loss, in_dims=(None, 0, 0))(w, x, y)
    return torch.stack([torch.autograd.grad(each, w, retain_graph=True)[0] for each in losses])


@per_sample_gradients.mistake(
    en="`loss` was called with the whole batch. It takes one sample; `vmap` calls it for each.",
    ru="Функция `loss` вызвана для всего батча. Она принимает один пример; для каждого её вызовет `vmap`.",
)
def loss_of_the_batch(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = w.expand(len(x), -1).clone().requires_grad_()
    return torch.autograd.grad(loss(w, x, y).sum(), w)[0]


@per_sample_gradients.mistake(
    en="The losses were summed, and the one gradient of the sum was put into every row.",
    ru="Значения функции потерь сложены, и единственный градиент суммы поставлен в каждую строку.",
)
def sum_in_every_sample(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).sum(0).expand(len(x), -1)


@per_sample_gradients.mistake(
    en="The losses were averaged, and the one gradient of the mean was put into every row.",
    ru="Значения функции потерь усреднены, и единственный градиент среднего поставлен в каждую строку.",
)
def mean_in_every_sample(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).mean(0).expand(len(x), -1)


@per_sample_gradients.mistake(
    en="The matrix is transposed: the gradient of a sample is a row.",
    ru="Матрица транспонирована: градиент по отдельному примеру — это строка.",
)
def samples_as_columns(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).T


@per_sample_gradients.mistake(
    en="There is one backward pass, but a call of `loss` for each sample before it.",
    ru="Обратный проход один, но до него функция `loss` вызвана для каждого примера отдельно.",
)
def calls_one_by_one(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = tracked(w)
    losses = torch.stack([loss(w, a, b) for a, b in zip(x, y)])
    return torch.autograd.grad(losses, w, torch.eye(len(x), dtype=w.dtype), is_grads_batched=True)[0]


@per_sample_gradients.mistake(*LOSES_DIGITS)
def through_float32(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).float().to(w.dtype)


@per_sample_gradients.mistake(
    en="What `torch.func.grad` differentiates returns a vector. Either `y` was left out in `in_dims`, or `vmap` stands "
    "inside `grad`, not around it.",
    ru="Функция, от которой берётся `torch.func.grad`, возвращает вектор. Либо в `in_dims` не учтён `y`, либо `vmap` "
    "стоит внутри `grad`, а не снаружи.",
)
def y_is_not_mapped(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, None))(w, x, y)  # type: ignore[no-any-return]


@per_sample_gradients.mistake(
    en="`.grad` was never cleared: each row holds all the rows before it.",
    ru="Поле `.grad` ни разу не очищено: в каждую строку вошли все предыдущие.",
)
def running_sums(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).cumsum(0)
