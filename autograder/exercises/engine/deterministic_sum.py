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
from autograder.checking.values import AtMost, limited_error, relative_error
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
            measured=Text("Different results", "Различных результатов"),
        ),
        aspect(
            "accurate",
            1,
            en="If large numbers cancel, the relative error of the sum is still at most $10^{-5}$.",
            ru="Если большие числа сокращаются, относительная погрешность суммы всё равно не больше $10^{-5}$.",
            measured=Text("Relative error", "Относительная погрешность"),
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
    return {
        "sum": totals[0] if case.numbers == "ordinary" else None,
        "same_bits": AtMost(limit=1, used=len(set(bits))),
        "accurate": limited_error(1e-5, _error(case.gradients, totals[0])) if case.numbers == "cancelling" else None,
        "depends on": _depends_on(case.orders, bits) if case.numbers == "wide" else None,
    }


def _error(gradients: list[Tensor], total: Tensor) -> float:
    exact = torch.stack(gradients).double().sort(dim=0).values.sum(0)
    return relative_error(exact, total.double())


def _depends_on(orders: list[list[int]], bits: list[tuple[int, ...]]) -> str:
    """Return on what the bits depend: the order of numbers 0 and 1 at most, or that of the others as well."""
    found: dict[bool, set[tuple[int, ...]]] = {False: set(), True: set()}
    for order, each in zip(orders, bits):
        found[order.index(0) < order.index(1)].add(each)
    return "pair" if all(len(each) == 1 for each in found.values()) else "order"


@deterministic_sum.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(gradients: list[Tensor], numbers: str = "ordinary") -> Case:
        orders = [torch.randperm(len(gradients), generator=rng).tolist() for _ in range(ORDERS)]
        return Case(gradients=[each.float() for each in gradients], orders=orders, numbers=numbers)

    ordinary = [signed(rng, 4) for _ in range(8)]
    yield case([*ordinary, ordinary[2]])  # with equal numbers
    large = [signed(rng, 2, 3) * 1e8 for _ in range(3)]
    yield case([*large, *(-each for each in large), *(signed(rng, 2, 3) for _ in range(3))], "cancelling")
    # In float64 a number that ends in 8193 is rounded beside 2**66, but exact beside -2**66.
    scales = (2.0**66, -(2.0**66), 2.0**33 + 8192, 1.0)
    orders = [list(order) for order in itertools.permutations(range(len(scales)))]
    yield Case(gradients=[torch.full((3,), scale) for scale in scales], orders=orders, numbers="wide")
    tied = [torch.tensor([0.0, scale, -scale]) for scale in scales]  # all have the same sum and the same first entry
    yield Case(gradients=tied, orders=orders, numbers="tied")
    yield case([signed(rng) * 1e-9])


@deterministic_sum.mistake(
    en="Already for ordinary numbers the result depends on the order of the list: additions in float32 round differently.",
    ru="Результат зависит от порядка списка уже для обычных чисел: сложения в float32 при другом порядке округляются иначе.",
)
def adds_in_order(gradients: list[Tensor]) -> Tensor:
    total = gradients[0].clone()
    for gradient in gradients[1:]:
        total += gradient
    return total


@deterministic_sum.mistake(
    en="More digits, as float64 has, make differences rare, but not impossible: the sum still depends on the order of the "
    "list, if 1e20 and 1 are among the numbers.",
    ru="При большей точности, как в float64, различия становятся редкими, но не исчезают: если среди чисел есть и 1e20, и "
    "1, сумма по-прежнему зависит от порядка списка.",
)
def adds_in_double(gradients: list[Tensor]) -> Tensor:
    return adds_in_order([gradient.double() for gradient in gradients]).float()  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="Sorted is by magnitude, of numbers or of whole tensors. Two of the same magnitude and different signs then keep the "
    "order of the list.",
    ru="Сортировка идёт по модулю чисел или по норме тензоров. Тогда два слагаемых с одинаковым модулем и разными знаками "
    "остаются в порядке списка.",
)
def sorts_by_magnitude(gradients: list[Tensor]) -> Tensor:
    stacked = torch.stack(gradients)
    order = stacked.abs().argsort(dim=0, stable=True)
    return adds_in_order(list(stacked.gather(0, order).double())).float()  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="The order is fixed, but the additions are made in float32. The bits are the same each time, and wrong: next to 1e8 "
    "the small numbers are lost.",
    ru="Порядок постоянный, но сложения выполняются в float32. Биты всегда одни и те же, но неверные: рядом с 1e8 малые "
    "числа теряются.",
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
    en="Whole tensors are sorted by one number, such as their sum or their first entry. Those with the same number keep the "
    "order of the list.",
    ru="Тензоры отсортированы целиком, по одному числу, например по сумме или по первому элементу. Те, у которых это "
    "число одинаково, остаются в порядке списка.",
)
def sorts_by_the_sum(gradients: list[Tensor]) -> Tensor:
    ordered = sorted(gradients, key=lambda gradient: gradient.double().sum().item())
    return adds_in_double(ordered)  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="Numbers that are equal are added only once. In a set they become one number.",
    ru="Одинаковые числа прибавлены только один раз. В множестве они превращаются в одно.",
)
def loses_equal_numbers(gradients: list[Tensor]) -> Tensor:
    columns = torch.stack(gradients).reshape(len(gradients), -1).T.tolist()
    return torch.tensor([math.fsum(set(column)) for column in columns]).reshape(gradients[0].shape)


@deterministic_sum.mistake(
    en="The entries of each gradient were sorted among themselves. They no longer stand at their places.",
    ru="Отсортированы элементы внутри каждого градиента. Теперь они стоят не на своих местах.",
)
def sorts_within(gradients: list[Tensor]) -> Tensor:
    stacked = torch.stack(gradients)
    return adds_in_double(list(stacked.sort(dim=-1).values if stacked.dim() > 1 else stacked))  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="The numbers were rounded to a few decimals to make the bits agree. Their digits are lost.",
    ru="Чтобы биты совпали, числа округлены до нескольких знаков. Цифры потеряны.",
)
def rounds_the_sum(gradients: list[Tensor]) -> Tensor:
    return adds_in_double(gradients).mul(1000).round().div(1000)  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="The numbers were rounded to a fixed number of decimals to make the bits agree. Of small ones nothing is left.",
    ru="Чтобы биты совпали, числа округлены до фиксированного числа знаков. От малых чисел ничего не остаётся.",
)
def rounds_finely(gradients: list[Tensor]) -> Tensor:
    return adds_in_double(gradients).mul(1e6).round().div(1e6)  # type: ignore[no-any-return]


@deterministic_sum.mistake(
    en="All entries of all gradients were added into one number. Each entry has a sum of its own.",
    ru="Все элементы всех градиентов сложены в одно число. А у каждой позиции сумма своя.",
)
def sums_everything(gradients: list[Tensor]) -> Tensor:
    flat = torch.stack(gradients).double().flatten().sort().values
    return torch.tensor(math.fsum(flat.tolist()))
