"""Extra exercise: write a test for gradient accumulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

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
    mean = total / sum(n for _, n in micro_batches)
    # Another order of sums may change the last bit. Whether it does depends on the processor, so it is changed here.
    parameter.grad = torch.nextafter(mean, mean + 1)


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


class _Rounding(TorchFunctionMode):
    """A mode in which exact comparisons of tensors overlook rounding errors.

    Numbers from `item()` are rounded to four digits.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        match func.__name__, args:
            case "eq" | "__eq__", (Tensor() as one, other):
                return torch.isclose(one, torch.as_tensor(other, dtype=one.dtype), rtol=1e-4)
            case "equal", (Tensor() as one, Tensor() as other):
                return one.shape == other.shape and torch.allclose(one, other.to(one.dtype), rtol=1e-4)
            case "item", (Tensor() as one,) if one.is_floating_point():
                return float(f"{func(one):.4g}")
        return func(*args, **(kwargs or {}))


def _judge(answer: Any, function: Callable[..., None]) -> bool | None:
    """Return whether the learner's test accepts `function`, or None if nothing was returned.

    A failed assertion in the test means that `function` is refused.
    """
    try:
        said = answer.is_right(function)
        return None if said is None else bool(said)
    except AnswerRaised as raised:
        if isinstance(raised.__cause__, AssertionError):
            return False
        raise


def _name_accepted(answer: Any, verdicts: list[bool | None]) -> str:
    """Return a word for which of the right functions the learner's test accepts."""
    if all(verdicts):
        return "all"
    with _Rounding():
        if all(_judge(answer, function) for function in RIGHT):
            return "equal to the last bit"
    if not any(verdicts):
        return "nothing returned" if all(said is None for said in verdicts) else "none"
    return "same tensor" if verdicts == [function is _by_zeroing_in_place for function in _RIGHT_PROGRAMS] else "some"


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
        verdicts, refuses = case.others.tried(lambda function, _: _judge(answer, function))
        accepted = _name_accepted(answer, verdicts)
    return {"accepts_right": all(verdicts), **refuses, "accepted": accepted, "refused": list(refuses.values())}


@is_right.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(function=RIGHT[0], others=Lineup(rng, RIGHT, WRONG))  # the card and `reproduce` use the first


def _gradients(
    accumulate: Callable[..., None],
    sizes: tuple[int, ...],
    old: float | None = 100.0,
    weigh: Callable[[int], float] | None = None,
) -> tuple[Tensor | None, Tensor]:
    """Run `accumulate` on micro-batches of these sizes, and return the gradient it leaves and the expected one.

    `old` fills `.grad` beforehand; None leaves it empty. `weigh(n)` is the expected weight of a mean over `n` samples,
    by default its share of all samples.
    """
    x = torch.arange(1.0, 2 * sum(sizes) + 1).reshape(-1, 2) / 7
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    w.grad = None if old is None else torch.full_like(w, old)

    def loss_of(part: Tensor) -> Callable[[], Tensor]:
        return lambda: ((part @ w) ** 2).mean()

    parts = x.split(list(sizes))
    weigh = weigh or (lambda n: n / len(x))
    (expected,) = torch.autograd.grad(torch.stack([loss_of(part)() * weigh(len(part)) for part in parts]).sum(), w)
    accumulate(w, [(loss_of(part), len(part)) for part in parts])
    return w.grad, expected


def _run_test(accumulate: Callable[..., None], sizes: tuple[int, ...], **how: Any) -> bool:
    """Run a test of `accumulate` and return whether it passes. `how` is passed on to `_gradients`."""
    found, expected = _gradients(accumulate, sizes, **how)
    return found is not None and torch.allclose(found, expected)


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
    found, expected = _gradients(accumulate, (3, 1))
    return found is not None and bool(torch.cosine_similarity(found, expected, dim=0) > 0.9999)


@is_right.mistake(
    en="The test compares to the last digit, as with `==`. Right functions add in different orders, so a test needs a "
    "tolerance, as in `torch.allclose`.",
    ru="Тест сравнивает до последнего знака, как `==`. Правильные функции складывают в разном порядке, поэтому тесту "
    "нужен допуск, как в `torch.allclose`.",
)
def compares_exactly(accumulate: Callable[..., None]) -> bool:
    found, expected = _gradients(accumulate, (3, 1, 2))
    return found is not None and torch.equal(found, expected)


@is_right.mistake(
    en="Nothing comes back for a right function: `return True` is missing, and None counts as False.",
    ru="Для правильной функции ничего не возвращается: нет `return True`, а None считается ответом False.",
)
def returns_nothing(accumulate: Callable[..., None]) -> None:
    assert _run_test(accumulate, (3, 1))


@is_right.mistake(
    en="The test expects the weight 1/K: it accepts the function that weighs all micro-batches alike, and refuses the "
    "right ones.",
    ru="Тест ожидает вес 1/K: функцию, которая даёт всем микробатчам одинаковый вес, он принимает, а правильные "
    "отвергает.",
)
def expects_equal_weights(accumulate: Callable[..., None]) -> bool:
    return _run_test(accumulate, (3, 1), weigh=lambda n: 1 / 2)


@is_right.mistake(
    en="The test expects the plain sum of the means: it accepts the function that uses no weights, and refuses the "
    "right ones.",
    ru="Тест ожидает простую сумму средних: функцию без весов он принимает, а правильные отвергает.",
)
def expects_the_sum(accumulate: Callable[..., None]) -> bool:
    return _run_test(accumulate, (3, 1), weigh=lambda n: 1.0)


@is_right.mistake(
    en="The test expects the sum over all samples: it accepts the function that never divides, and refuses the right "
    "ones.",
    ru="Тест ожидает сумму по всем примерам: функцию без деления он принимает, а правильные отвергает.",
)
def expects_no_division(accumulate: Callable[..., None]) -> bool:
    return _run_test(accumulate, (3, 1), weigh=float)


@is_right.mistake(
    en="The test expects the old gradient as a part of the result: it accepts the function that never clears `.grad`, "
    "and refuses the right ones.",
    ru="Тест ожидает, что в результат войдёт старый градиент: функцию, которая не обнуляет `.grad`, он принимает, а "
    "правильные отвергает.",
)
def expects_the_old_gradient(accumulate: Callable[..., None]) -> bool:
    found, expected = _gradients(accumulate, (3, 1))
    return found is not None and torch.allclose(found, expected + 100)


@is_right.mistake(
    en="Some right functions pass the test, others do not. They call `backward()` or `torch.autograd.grad`, for each "
    "micro-batch or once, and may put a new tensor into `.grad`.",
    ru="Одни правильные функции проходят тест, другие нет. Они вызывают `backward()` или `torch.autograd.grad`, для "
    "каждого микробатча или один раз, и могут положить в `.grad` новый тензор.",
)
def counts_the_calls(accumulate: Callable[..., None]) -> bool:
    calls: list[None] = []

    def watched(parameter: Tensor, micro_batches: MicroBatches) -> None:
        handle = parameter.register_hook(lambda _: calls.append(None))
        accumulate(parameter, micro_batches)
        handle.remove()

    return _run_test(watched, (2, 1, 1)) and len(calls) == 3
