"""Mistakes of `deterministic_sum`."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .deterministic_sum import deterministic_sum


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
    en="More digits, as float64 has, make differences rare, but not impossible: in another order the sum still rounds "
    "differently, if 1e20 and 1 are among the numbers.",
    ru="При большей точности, как в float64, различия становятся редкими, но не исчезают: если среди чисел есть и 1e20, и "
    "1, то при другом порядке сумма по-прежнему округляется иначе.",
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


@deterministic_sum.mistake(
    en="The rounding errors are added up as well, in the order of the list. They are rounded, too: the bits still depend on "
    "the order, if 1e20, 5000 and 1e-9 are among the numbers.",
    ru="Складываются и погрешности округления, но тоже в порядке списка. При этом и они округляются: если среди чисел есть "
    "1e20, 5000 и 1e-9, биты по-прежнему зависят от порядка.",
)
def compensates(gradients: list[Tensor]) -> Tensor:
    total = torch.zeros_like(gradients[0], dtype=torch.float64)
    lost = torch.zeros_like(total)
    for gradient in gradients:
        next_total = total + gradient.double()
        larger = total.abs() >= gradient.abs()
        lost += torch.where(larger, (total - next_total) + gradient, (gradient - next_total) + total)
        total = next_total
    return (total + lost).float()


@deterministic_sum.mistake(
    en="The sums stand in one row. The result should have the shape of the gradients.",
    ru="Суммы стоят в один ряд, а у результата должна быть форма градиентов.",
)
def loses_the_shape(gradients: list[Tensor]) -> Tensor:
    columns = torch.stack(gradients).reshape(len(gradients), -1).T.tolist()
    return torch.tensor([math.fsum(column) for column in columns])


@deterministic_sum.mistake(
    en="`sorted` compares whole tensors, and such a comparison has one answer for each entry. Sort the numbers of each entry.",
    ru="Функция `sorted` сравнивает тензоры целиком, а у такого сравнения по ответу на каждый элемент. Сортировать нужно "
    "числа в каждой позиции.",
)
def compares_tensors(gradients: list[Tensor]) -> Tensor:
    return adds_in_double(sorted(gradients))  # type: ignore[no-any-return, type-var]


@deterministic_sum.mistake(
    en="`sort` returns a pair: the values and their indices. The values are in `.values`.",
    ru="Метод `sort` возвращает пару: значения и их индексы. Сами значения — в `.values`.",
)
def forgets_the_values(gradients: list[Tensor]) -> Tensor:
    return torch.stack(gradients).double().sort(dim=0).sum(0).float()  # type: ignore[attr-defined, no-any-return]


@deterministic_sum.mistake(
    en="Positive and negative numbers are added apart, each in the order of the list. These two sums round as well, so the "
    "bits still depend on the order.",
    ru="Положительные и отрицательные числа складываются отдельно, но те и другие в порядке списка. При этом обе суммы "
    "округляются, и биты по-прежнему зависят от порядка.",
)
def adds_signs_apart(gradients: list[Tensor]) -> Tensor:
    stacked = torch.stack(gradients).double()
    return (stacked.clamp(min=0).sum(0) + stacked.clamp(max=0).sum(0)).float()


@deterministic_sum.mistake(
    en="A list of numbers comes back. Asked for is a tensor.",
    ru="Возвращён список чисел, а нужен тензор.",
)
def returns_a_list(gradients: list[Tensor]) -> list[float]:
    columns = torch.stack(gradients).reshape(len(gradients), -1).T.tolist()
    return [math.fsum(column) for column in columns]
