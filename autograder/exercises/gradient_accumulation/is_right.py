"""Extra exercise: write a test for gradient accumulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Lineup, nameless
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

# The learner's test runs on functions `accumulate(parameter, micro_batches)`. A micro-batch is a pair (mean_loss, n),
# and `mean_loss()` is a tensor. No other exercise has this signature, so no answer to another one fits.
MicroBatches = list[tuple[Callable[[], Tensor], int]]


def _share(micro_batches: MicroBatches, n: int) -> float:
    return n / sum(size for _, size in micro_batches)


def _by_backward(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, n in micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()


def _by_grad(parameter: Tensor, micro_batches: MicroBatches) -> None:
    total = torch.zeros_like(parameter)
    for mean_loss, n in micro_batches:
        (gradient,) = torch.autograd.grad(mean_loss(), parameter)
        total += gradient * n
    parameter.grad = total / sum(n for _, n in micro_batches)


def _by_one_sum(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    torch.stack([mean_loss() * _share(micro_batches, n) for mean_loss, n in micro_batches]).sum().backward()


def _wrong_never_clears(parameter: Tensor, micro_batches: MicroBatches) -> None:
    for mean_loss, n in micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()


def _wrong_zeroes_inside(parameter: Tensor, micro_batches: MicroBatches) -> None:
    for mean_loss, n in micro_batches:
        parameter.grad = None
        (mean_loss() * _share(micro_batches, n)).backward()


def _wrong_skips_the_last(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, n in micro_batches[:-1] or micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()


def _wrong_sums_means(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, _ in micro_batches:
        mean_loss().backward()


def _wrong_multiplies_by_size(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, n in micro_batches:
        (mean_loss() * n).backward()


def _wrong_divides_by_count(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, _ in micro_batches:
        (mean_loss() / len(micro_batches)).backward()


def _wrong_divides_by_samples(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, _ in micro_batches:
        (mean_loss() / sum(n for _, n in micro_batches)).backward()


def _by_zeroing_in_place(parameter: Tensor, micro_batches: MicroBatches) -> None:
    if parameter.grad is not None:
        parameter.grad.zero_()
    for mean_loss, n in micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()


_RIGHT_PROGRAMS = (_by_backward, _by_grad, _by_one_sum, _by_zeroing_in_place)
RIGHT = tuple(nameless(function, "accumulate") for function in _RIGHT_PROGRAMS)


WRONG = {
    "catches_old_gradient": nameless(_wrong_never_clears, "accumulate"),
    "catches_zeroing_inside": nameless(_wrong_zeroes_inside, "accumulate"),
    "catches_missing_last": nameless(_wrong_skips_the_last, "accumulate"),
    "catches_sum_of_means": nameless(_wrong_sums_means, "accumulate"),
    "catches_missing_division": nameless(_wrong_multiplies_by_size, "accumulate"),
    "catches_equal_weights": nameless(_wrong_divides_by_count, "accumulate"),
    "catches_division_by_samples": nameless(_wrong_divides_by_samples, "accumulate"),
}


def _accepts(answer: Any, function: Callable[..., None]) -> bool:
    """Return whether the learner's test accepts `function`.

    A failed assertion in the test means that `function` is refused.
    """
    try:
        return bool(answer.is_right(function))
    except AnswerRaised as raised:
        if isinstance(raised.__cause__, AssertionError):
            return False
        raise


@exercise(
    title=Text("Write the test", "Напишите тест"),
    kind="write the test",
    difficulty=3,
    minutes=15,
    aspects=[
        aspect(
            "accepts_right",
            0.5,
            en="Every right function is accepted, however it is written.",
            ru="Любая правильная функция принимается, как бы она ни была написана.",
        ),
        aspect(
            "catches_old_gradient",
            0.5,
            en="A function that adds to what `.grad` held before is refused.",
            ru="Функция, которая прибавляет к прежнему содержимому `.grad`, отвергается.",
        ),
        aspect(
            "catches_zeroing_inside",
            0.5,
            en="A function that clears `.grad` before each micro-batch is refused.",
            ru="Функция, которая обнуляет `.grad` перед каждым микробатчем, отвергается.",
        ),
        aspect(
            "catches_missing_last",
            0.5,
            en="A function that leaves out the last micro-batch is refused.",
            ru="Функция, которая пропускает последний микробатч, отвергается.",
        ),
        aspect(
            "catches_sum_of_means",
            0.5,
            en="A function that sums the means without a weight is refused.",
            ru="Функция, которая складывает средние без весов, отвергается.",
        ),
        aspect(
            "catches_missing_division",
            0.5,
            en="A function that multiplies by the sizes and never divides by the number of samples is refused.",
            ru="Функция, которая умножает на размеры, но не делит на число примеров, отвергается.",
        ),
        aspect(
            "catches_equal_weights",
            0.5,
            en="A function that weighs all micro-batches alike is refused.",
            ru="Функция, которая даёт всем микробатчам одинаковый вес, отвергается.",
        ),
        aspect(
            "catches_division_by_samples",
            0.5,
            en="A function that divides each mean by the number of samples is refused.",
            ru="Функция, которая делит каждое среднее на число примеров, отвергается.",
        ),
    ],
    hints=[
        Text(
            "A test needs a truth to compare with. Which one computation cannot have an accumulation bug?",
            "Тесту нужен эталон для сравнения. В каком вычислении не может быть ошибки накопления?",
        ),
        Text(
            "Choose inputs on which the bugs show: an old gradient already there, at least two micro-batches, sizes "
            "that differ.",
            "Выберите входы, на которых ошибки видны: старый градиент, не меньше двух микробатчей, разные размеры.",
        ),
        Text(
            "w = torch.tensor([1.0, 2.0], requires_grad=True)\nw.grad = torch.full_like(w, 100.0)\n"
            "...  # x and y in pieces of 3 and 1\naccumulate(w, [(lambda: ..., 3), (lambda: ..., 1)])\n"
            "return torch.allclose(w.grad, ...)",
            "w = torch.tensor([1.0, 2.0], requires_grad=True)\nw.grad = torch.full_like(w, 100.0)\n"
            "...\naccumulate(w, [(lambda: ..., 3), (lambda: ..., 1)])\n"
            "return torch.allclose(w.grad, ...)",
        ),
    ],
)
def is_right(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        accepts, refuses = case.others.tried(lambda function, _: _accepts(answer, function))
    return {"accepts_right": all(accepts), **refuses, "accepted": accepts, "refused": list(refuses.values())}


@is_right.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(function=RIGHT[0], others=Lineup(rng, RIGHT, WRONG))  # the card and `reproduce` use the first


def _run_test(accumulate: Callable[..., None], sizes: tuple[int, ...], old: float | None = 100.0) -> bool:
    """Run a right test of `accumulate` and return whether it passes.

    `sizes` are the sizes of the micro-batches. `old` fills `.grad` beforehand; None leaves it empty.
    """
    x = torch.arange(1.0, 2 * sum(sizes) + 1).reshape(-1, 2)
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    w.grad = None if old is None else torch.full_like(w, old)
    (expected,) = torch.autograd.grad(((x @ w) ** 2).mean(), w)

    def loss_of(part: Tensor) -> Callable[[], Tensor]:
        return lambda: ((part @ w) ** 2).mean()

    accumulate(w, [(loss_of(part), len(part)) for part in x.split(list(sizes))])
    return w.grad is not None and torch.allclose(w.grad, expected)


@is_right.mistake(
    en="The test accepts everything. It has to compare with a gradient that the test itself computes.",
    ru="Тест принимает всё. Сравнивать нужно с градиентом, который вычислил сам тест.",
)
def accepts_everything(accumulate: Callable[..., None]) -> bool:
    _run_test(accumulate, (2, 1))
    return True


@is_right.mistake(
    en="The test refuses everything, the right functions as well.",
    ru="Тест отвергает всё, в том числе правильные функции.",
)
def refuses_everything(accumulate: Callable[..., None]) -> bool:
    return False


@is_right.mistake(
    en="The weight 1/K passes this test: its micro-batches have one size, or its tolerance is too wide.",
    ru="Вес 1/K проходит этот тест: микробатчи в нём одного размера или допуск слишком велик.",
)
def only_equal_sizes(accumulate: Callable[..., None]) -> bool:
    return _run_test(accumulate, (2, 2))


@is_right.mistake(
    en="`.grad` is always empty when the test begins, so a function that keeps an old gradient is not caught.",
    ru="В начале теста поле `.grad` всегда пусто, поэтому функция, которая оставляет старый градиент, проходит тест.",
)
def only_fresh_gradients(accumulate: Callable[..., None]) -> bool:
    return _run_test(accumulate, (3, 1), old=None)


@is_right.mistake(
    en="The test has a single micro-batch: almost every way of accumulating is right there.",
    ru="В тесте всего один микробатч: для него верен почти любой способ накопления.",
)
def only_one_micro_batch(accumulate: Callable[..., None]) -> bool:
    return _run_test(accumulate, (3,))


@is_right.mistake(
    en="The test wants `.grad` to be the same tensor as before. A right function may put a new one there.",
    ru="Тест требует, чтобы в `.grad` лежал тот же тензор, что и раньше. Правильная функция может положить туда новый.",
)
def wants_the_same_tensor(accumulate: Callable[..., None]) -> bool:
    kept: list[Tensor | None] = []

    def watched(parameter: Tensor, micro_batches: MicroBatches) -> None:
        before = parameter.grad
        accumulate(parameter, micro_batches)
        kept[:] = [before] if parameter.grad is before else []

    return _run_test(watched, (3, 1)) and bool(kept)


@is_right.mistake(
    en="The test compares directions or signs only: a gradient of a wrong length passes.",
    ru="Тест сравнивает только направления или знаки: градиент неверной длины проходит.",
)
def compares_directions(accumulate: Callable[..., None]) -> bool:
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    w.grad = torch.full_like(w, 100.0)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, -6.0], [0.0, 9.0]])
    (expected,) = torch.autograd.grad(((x @ w) ** 2).mean(), w)

    def loss_of(part: Tensor) -> Callable[[], Tensor]:
        return lambda: ((part @ w) ** 2).mean()

    accumulate(w, [(loss_of(part), len(part)) for part in x.split([3, 1])])
    return w.grad is not None and bool(torch.cosine_similarity(w.grad, expected, dim=0) > 0.9999)
