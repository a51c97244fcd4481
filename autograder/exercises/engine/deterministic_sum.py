"""Core exercise: a float32 sum with the same bits in every order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

ORDERS = 12


@exercise(
    title=Text("A sum with the same bits", "Сумма с одними и теми же битами"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=10,
    rtol=1e-5,
    aspects=[
        aspect(
            "sum",
            0,
            en="For ordinary numbers it is the sum, with the shape and the dtype of the gradients.",
            ru="Для обычных чисел это сумма, а форма и dtype — как у градиентов.",
        ),
        aspect(
            "same_bits",
            3,
            en="Every order of the list gives the same bits.",
            ru="При любом порядке элементов списка получаются одни и те же биты.",
        ),
        aspect(
            "accurate",
            1,
            en="If large numbers cancel, the sum is still right to six digits.",
            ru="Если большие числа сокращаются, сумма всё равно верна до шестого знака.",
        ),
    ],
    hints=[
        Text(
            "The additions round differently in another order. Who says that you must add in the order of the list?",
            "При другом порядке сложения округляются иначе. А разве складывать обязательно в том порядке, в котором стоит "
            "список?",
        ),
        Text(
            "Sort the values of each entry first: then every order of the list becomes the same one. Float64 alone is not "
            "enough when magnitudes differ widely, but it keeps the sorted sum accurate.",
            "Сначала отсортируйте значения в каждой позиции: тогда любой порядок списка превращается в один и тот же. "
            "Одного float64 мало, если числа сильно различаются по величине, зато отсортированная сумма в нём точна.",
        ),
        Text(
            "stacked = torch.stack(gradients).double()\nreturn stacked.sort(dim=0)....to(gradients[0].dtype)",
            "stacked = torch.stack(gradients).double()\nreturn stacked.sort(dim=0)....to(gradients[0].dtype)",
        ),
    ],
)
def deterministic_sum(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        totals = [answer.deterministic_sum([case.gradients[i].clone() for i in order]) for order in case.orders]
        bits = [tuple(total.detach().contiguous().view(torch.int32).flatten().tolist()) for total in totals]
    number = {each: index for index, each in enumerate(dict.fromkeys(bits))}
    return {
        "sum": totals[0] if case.numbers == "ordinary" else None,
        "same_bits": len(number) == 1,
        "accurate": totals[0] if case.numbers == "cancelling" else None,
        "results": [number[each] for each in bits] if case.numbers == "wide" else None,
    }


@deterministic_sum.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(gradients: list[Tensor], numbers: str = "ordinary") -> Case:
        orders = [torch.randperm(len(gradients), generator=rng).tolist() for _ in range(ORDERS)]
        return Case(gradients=[each.float() for each in gradients], orders=orders, numbers=numbers)

    yield case([signed(rng, 4) for _ in range(9)])
    large = [signed(rng, 2, 3) * 1e8 for _ in range(3)]
    yield case([*large, *(-each for each in large), *(signed(rng, 2, 3) for _ in range(3))], "cancelling")
    # In float64 a number that ends in 8193 is rounded beside 2**66, but exact beside -2**66.
    scales = (2.0**66, -(2.0**66), 2.0**33 + 8192, 1.0)
    orders = [list(order) for order in itertools.permutations(range(len(scales)))]
    yield Case(gradients=[torch.full((3,), scale) for scale in scales], orders=orders, numbers="wide")
    yield case([signed(rng)])


@deterministic_sum.mistake(
    en="The gradients are added in the order of the list. Another order rounds differently.",
    ru="Градиенты складываются в том порядке, в каком стоят в списке. При другом порядке округление другое.",
)
def adds_in_order(gradients: list[Tensor]) -> Tensor:
    total = gradients[0].clone()
    for gradient in gradients[1:]:
        total += gradient
    return total


@deterministic_sum.mistake(
    en="The sum is made in float64 in the order of the list. That makes differences rare, but not impossible: with 1e20 and "
    "1 among the numbers they are back.",
    ru="Сумма вычисляется в float64 в порядке списка. Различия становятся редкими, но не исчезают: если среди чисел есть "
    "и 1e20, и 1, они снова тут.",
)
def adds_in_double(gradients: list[Tensor]) -> Tensor:
    return adds_in_order([gradient.double() for gradient in gradients]).float()  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="The numbers are sorted by magnitude. Two of the same magnitude and different signs then keep the order of the list.",
    ru="Числа отсортированы по модулю. Тогда два числа с одинаковым модулем и разными знаками остаются в порядке списка.",
)
def sorts_by_magnitude(gradients: list[Tensor]) -> Tensor:
    stacked = torch.stack(gradients)
    order = stacked.abs().argsort(dim=0, stable=True)
    return adds_in_order(list(stacked.gather(0, order).double())).float()  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="The numbers are sorted, but added in float32. The bits are the same each time, and wrong: next to 1e8 the small "
    "numbers are lost.",
    ru="Числа отсортированы, но складываются в float32. Биты всегда одни и те же, но неверные: рядом с 1e8 малые числа "
    "теряются.",
)
def sorts_in_single(gradients: list[Tensor]) -> Tensor:
    return adds_in_order(list(torch.stack(gradients).sort(dim=0).values))  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="The mean is returned, not the sum.",
    ru="Возвращается среднее, а не сумма.",
)
def takes_the_mean(gradients: list[Tensor]) -> Tensor:
    return (torch.stack(gradients).double().sort(dim=0).values.sum(0) / len(gradients)).float()


@deterministic_sum.mistake(
    en="The result is float64. It should have the dtype of the gradients.",
    ru="Результат имеет dtype float64, а нужен dtype градиентов.",
)
def returns_double(gradients: list[Tensor]) -> Tensor:
    return torch.stack(gradients).double().sort(dim=0).values.sum(0)


@deterministic_sum.mistake(
    en="The sum was rounded to a few decimals to make the bits agree. Its digits are lost.",
    ru="Чтобы биты совпали, сумма округлена до нескольких знаков. Цифры потеряны.",
)
def rounds_the_sum(gradients: list[Tensor]) -> Tensor:
    return adds_in_double(gradients).mul(1000).round().div(1000)  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="All entries of all gradients were added into one number. Each entry has a sum of its own.",
    ru="Все элементы всех градиентов сложены в одно число. А у каждой позиции сумма своя.",
)
def sums_everything(gradients: list[Tensor]) -> Tensor:
    flat = torch.stack(gradients).double().flatten().sort().values
    return torch.tensor(math.fsum(flat.tolist()))
