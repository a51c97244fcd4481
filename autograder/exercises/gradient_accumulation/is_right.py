"""Exercise: write a test for gradient accumulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Lineup, Programs
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text


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


def _name_accepted(answer: Any, programs: Lineup, verdicts: list[bool | None]) -> str:
    """Return a word for which of the right functions the learner's test accepts."""
    if all(verdicts):
        return "all"
    with _Rounding():
        if all(_judge(answer, function) for function in programs.right):
            return "equal to the last bit"
    if not any(verdicts):
        return "nothing returned" if all(said is None for said in verdicts) else "none"
    return "same tensor" if verdicts == [False, False, False, True] else "some"  # the last program zeroes in place


@exercise(
    title=Text("Write the test", "Напишите тест"),
    kind="write the test",
    difficulty=3,
    aspects=[
        aspect(
            "accepts_right",
            0.5,
            en="Every right function is accepted, however it is written, and not every wrong one.",
            ru="Любая правильная функция принимается, как бы она ни была написана, а неправильные принимаются не все.",
        ),
        aspect(
            "catches_old_gradient",
            0.5,
            en="A function that adds to what `.grad` held before is refused.",
            ru="Функция, которая прибавляет градиенты к прежнему содержимому `.grad`, отвергается.",
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
        accepted = _name_accepted(answer, case.others, verdicts)
    return {
        "accepts_right": all(verdicts) and any(refuses.values()),
        **refuses,
        "accepted": accepted,
        "refused": list(refuses.values()),
    }


@is_right.cases
def cases(rng: torch.Generator, programs: Programs) -> Iterator[Case]:
    yield Case(function=programs.right[0], others=Lineup(rng, programs))  # the card and `reproduce` use the first
