"""Extra exercise: three gradients whose sum depends on their order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.language import Text

LEAST, MOST = 0.1, 10.0


def _accumulated(numbers: Sequence[float], dtype: torch.dtype) -> Tensor:
    w = torch.ones((), dtype=dtype, requires_grad=True)
    for number in numbers:
        (w * number).backward()
    assert w.grad is not None
    return w.grad


@exercise(
    title=Text("The order changes the bits", "Порядок меняет биты"),
    kind="write the counter-example",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "allowed",
            0,
            en="It is a list of three numbers, each from 0.1 to 10.",
            ru="Это список из трёх чисел, каждое от 0.1 до 10.",
        ),
        aspect(
            "differs",
            2,
            en="In float32 the gradient accumulated in this order differs from the one accumulated in reverse.",
            ru="В float32 градиент, накопленный в этом порядке, отличается от накопленного в обратном.",
        ),
    ],
    hints=[
        Text(
            "A sum of two numbers does not depend on their order. Which of the two additions must round differently?",
            "Сумма двух чисел от порядка не зависит. Какое из двух сложений должно округлиться иначе?",
        ),
        Text(
            "Small whole numbers and halves are exact. Try tenths in a loop, and compare in float32, not in Python's floats.",
            "Небольшие целые и половинки представимы точно. Переберите в цикле десятые доли и сравнивайте в float32, а не в "
            "числах Python.",
        ),
        Text(
            "for numbers in itertools.permutations([0.1, 0.2, 0.3, 0.4, 0.5], 3):\n"
            "    a, b, c = torch.tensor(numbers)\n    if (a + b) + c != ...:",
            "for numbers in itertools.permutations([0.1, 0.2, 0.3, 0.4, 0.5], 3):\n"
            "    a, b, c = torch.tensor(numbers)\n    if (a + b) + c != ...:",
        ),
    ],
)
def order_changes_bits(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        returned = answer.order_changes_bits()
        if not isinstance(returned, (list, tuple)):
            raise TypeError(f"a list of three numbers is asked for, not {type(returned).__name__}")
        if strange := {type(each).__name__ for each in returned if isinstance(each, (str, list, tuple))}:
            raise TypeError(f"a list of three numbers is asked for, not one of {min(strange)}")
        numbers = [float(number) for number in returned[:4]]
        inside = all(LEAST <= number <= MOST for number in numbers)

        count = min(len(numbers), 4)
        differs = _differs(numbers, numbers[::-1], torch.float32)
        allowed = {"numbers": count, "from 0.1 to 10": inside}
        return {"allowed": allowed, "differs": differs, "why": "" if count > 3 else _why(numbers)}


def _differs(numbers: Sequence[float], others: Sequence[float], dtype: torch.dtype) -> bool:
    return bool(_accumulated(numbers, dtype) != _accumulated(others, dtype))


def _why(numbers: list[float]) -> str:
    """Return what is known of numbers whose reverse order gives the same."""
    if all(number * 2**20 == int(number * 2**20) for number in numbers if math.isfinite(number)):
        return "exact"
    if _differs(numbers, numbers[::-1], torch.float64):
        return "in float64"
    others = itertools.permutations(numbers)
    return "in another order" if any(_differs(numbers, other, torch.float32) for other in others) else "nowhere"


@order_changes_bits.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case()


@order_changes_bits.mistake(
    en="There are two numbers. A sum of two does not depend on their order.",
    ru="Чисел всего два, а сумма двух чисел от порядка не зависит.",
)
def two_numbers() -> list[float]:
    return [0.1, 0.2]


@order_changes_bits.mistake(
    en="All additions of these numbers are exact in float32, so every order gives the same.",
    ru="Все сложения этих чисел в float32 точны, поэтому результат не зависит от порядка.",
)
def exact_numbers() -> list[float]:
    return [1.0, 2.5, 3.0]


@order_changes_bits.mistake(
    en="These numbers are the well-known example for Python's floats, which are float64. In float32 the two orders agree.",
    ru="Это известный пример для чисел Python, то есть для float64. В float32 оба порядка дают одно и то же.",
)
def differs_in_float64() -> list[float]:
    return [0.1, 0.2, 0.3]


@order_changes_bits.mistake(
    en="Not every number is from 0.1 to 10. The order changes the bits for such ordinary numbers as well.",
    ru="Не все числа лежат от 0.1 до 10. Порядок меняет биты и у таких обычных чисел.",
)
def huge_numbers() -> list[float]:
    return [1e8, 1.0, -1e8]


@order_changes_bits.mistake(
    en="There are more than three numbers.",
    ru="Чисел больше трёх.",
)
def four_numbers() -> list[float]:
    return [0.1, 0.3, 0.4, 0.7]


@order_changes_bits.mistake(
    en="There are two numbers, and not both are from 0.1 to 10.",
    ru="Чисел всего два, и не оба лежат от 0.1 до 10.",
)
def two_small_numbers() -> list[float]:
    return [0.01, 0.02]


@order_changes_bits.mistake(
    en="A tensor came back. Asked for is a list of three numbers.",
    ru="Возвращён тензор, а нужен список из трёх чисел.",
)
def returns_a_tensor() -> Tensor:
    return torch.tensor([0.1, 0.3, 0.4])


@order_changes_bits.mistake(
    en="Some other order of these numbers gives other bits, but the reverse one does not.",
    ru="Другие биты даёт какой-то иной порядок этих чисел, но не обратный.",
)
def another_order() -> list[float]:
    return [0.1, 0.7, 0.1]


@order_changes_bits.mistake(
    en="No order of these numbers changes the bits in float32.",
    ru="Никакой порядок этих чисел битов в float32 не меняет.",
)
def no_difference() -> list[float]:
    return [0.1, 0.1, 0.1]


@order_changes_bits.mistake(
    en="Nothing came back. Asked for is a list of three numbers.",
    ru="Функция ничего не возвращает, а нужен список из трёх чисел.",
)
def returns_nothing() -> None:
    return None


@order_changes_bits.mistake(
    en="The list holds strings. Asked for are numbers.",
    ru="В списке строки, а нужны числа.",
)
def returns_strings() -> list[str]:
    return ["0.1", "0.3", "0.4"]


@order_changes_bits.mistake(
    en="The list holds another list. Asked for are three numbers.",
    ru="В списке лежит ещё один список, а нужны три числа.",
)
def nests_the_list() -> list[list[float]]:
    return [[0.1, 0.3, 0.4]]


@order_changes_bits.mistake(
    en="A set came back. It has no order; asked for is a list of three numbers.",
    ru="Возвращено множество (set). Порядка у него нет, а нужен список из трёх чисел.",
)
def returns_a_set() -> set[float]:
    return {0.1, 0.3, 0.4}
