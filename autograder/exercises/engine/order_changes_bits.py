"""Exercise: three gradients whose sum depends on their order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.refused import Refused
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
        Text.same(
            "for numbers in itertools.permutations([0.1, 0.2, 0.3, 0.4, 0.5], 3):\n"
            "    a, b, c = torch.tensor(numbers)\n    if (a + b) + c != ...:"
        ),
    ],
)
def order_changes_bits(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        returned = answer.order_changes_bits()
        if not isinstance(returned, (list, tuple)):
            raise Refused("raised.type", got=type(returned).__name__, expected="kind.three_numbers")
        if strange := {type(each).__name__ for each in returned if isinstance(each, (str, list, tuple))}:
            raise Refused("raised.type", got=f"list[{min(strange)}]", expected="kind.three_numbers")
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
