"""Exercise: a float32 sum with the same bits in every order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error, relative_error
from autograder.language import Text

ORDERS = 12


@exercise(
    title=Text("A sum with the same bits", "Сумма с одними и теми же битами"),
    kind="design",
    difficulty=2,
    rtol=1e-5,
    aspects=[
        aspect(
            "sum",
            0,
            en="For ordinary numbers it is the sum, with the shape and the dtype of the gradients.",
            ru="Для обычных чисел сумма верна, а её форма и dtype такие же, как у градиентов.",
        ),
        aspect(
            "same_bits",
            2,
            en="Every order of the list gives the same bits.",
            ru="При любом порядке элементов списка получаются одни и те же биты.",
            measured=Text("Different results", "Различных результатов"),
        ),
        aspect(
            "accurate",
            1,
            en="If large numbers cancel, the relative error of the sum is still at most 10⁻⁵.",
            ru="Если большие числа взаимно уничтожаются, относительная погрешность суммы всё равно не больше 10⁻⁵.",
            measured=Text("Relative error", "Относительная погрешность"),
        ),
        aspect(
            "unchanged",
            0.5,
            en="The list holds the same tensors in the same order, and their numbers are the same.",
            ru="В списке те же тензоры в том же порядке и с теми же числами.",
        ),
        works_on(
            0.5,
            after=(
                "sum",
                "same_bits",
            ),
        ),
    ],
    hints=[
        Text(
            "The additions round differently in another order. Who says that you must add in the order of the list?",
            "При другом порядке сложения округляются иначе. А разве складывать обязательно в том порядке, в котором "
            "тензоры стоят в списке?",
        ),
        Text(
            "Sort the values of each entry first: then every order of the list becomes the same one. Float64 alone is not "
            "enough when magnitudes differ widely, but it keeps the sorted sum accurate.",
            "Сначала отсортируйте значения в каждой позиции: тогда любой порядок списка превращается в один и тот же. "
            "Если числа сильно различаются по величине, одного перехода к float64 мало, зато сумма отсортированных "
            "чисел в float64 достаточно точна.",
        ),
        Text.same("stacked = torch.stack(gradients).double()\nreturn stacked.sort(dim=0)....to(gradients[0].dtype)"),
    ],
    why=Why(
        Text(
            "Why does sorting the numbers make the bits independent of the list's order?",
            "Почему после сортировки чисел биты не зависят от порядка в списке?",
        ),
        Text(
            "Each addition rounds, so the bits depend on the order of the terms. Sorted, the same numbers always "
            "come in the same order, and every rounding is the same.",
            "Каждое сложение округляется, поэтому биты зависят от порядка слагаемых. После сортировки одни и те "
            "же числа всегда идут в одном порядке, и все округления те же.",
        ),
    ),
)
def deterministic_sum(answer: Any, case: Case) -> dict[str, object]:
    lists = [[case.gradients[i].clone() for i in order] for order in case.orders]
    try:
        totals = [answer.deterministic_sum(each) for each in lists]
        switched = torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
    with using_answer():
        bits = [tuple(total.detach().contiguous().view(torch.int32).flatten().tolist()) for total in totals]
    return {
        "sum": totals[0] if case.numbers == "ordinary" else None,
        "unchanged": {"list unchanged": _unchanged(case, lists)},
        "same_bits": AtMost(limit=1, used=len(set(bits))),
        "accurate": limited_error(1e-5, _error(case.gradients, totals[0])) if case.numbers == "cancelling" else None,
        "depends on": _depends_on(case.orders, bits) if case.numbers == "wide" else None,
        "deterministic algorithms": switched,
    }


def _unchanged(case: Case, lists: list[list[Tensor]]) -> bool:
    """Return whether all lists that the answer got have their tensors, in their orders."""
    wanted = [[case.gradients[i] for i in order] for order in case.orders]
    return all(all(map(torch.equal, *pair)) for pair in zip(lists, wanted, strict=True))


def _error(gradients: list[Tensor], total: Tensor) -> float:
    exact = torch.stack(gradients).double().sort(dim=0).values.sum(0)
    return relative_error(exact, total.double())


def _depends_on(orders: list[list[int]], bits: list[tuple[int, ...]]) -> str:
    """Return on what the bits depend: the order of numbers 0 and 1 at most, or that of the others as well."""
    found: dict[bool, set[tuple[int, ...]]] = {False: set(), True: set()}
    for order, each in zip(orders, bits):
        found[order.index(0) < order.index(1)].add(each)
    return "pair" if all(len(each) == 1 for each in found.values()) else "order"


@deterministic_sum.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    return {"sum": answer.deterministic_sum(case.gradients[:3])}


@deterministic_sum.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(gradients: list[Tensor], numbers: str = "ordinary") -> Case:
        orders = [torch.randperm(len(gradients), generator=rng).tolist() for _ in range(ORDERS)]
        return Case(gradients=[each.float() for each in gradients], orders=orders, numbers=numbers)

    ordinary = [signed(rng, 2, 2) for _ in range(8)]
    yield case([*ordinary, ordinary[2]])  # with equal numbers
    large = [signed(rng, 2, 3) * 1e8 for _ in range(3)]
    yield case([*large, *(-each for each in large), *(signed(rng, 2, 3) for _ in range(3))], "cancelling")
    # In float64 a number that ends in 8193 is rounded beside 2**66, but exact beside -2**66.
    scales = (2.0**66, -(2.0**66), 2.0**33 + 8192, 1.0)
    orders = [list(order) for order in itertools.permutations(range(len(scales)))]
    yield Case(gradients=[torch.full((3,), scale) for scale in scales], orders=orders, numbers="wide")
    tied = [torch.tensor([0.0, scale, -scale]) for scale in scales]  # all have the same sum and the same first entry
    yield Case(gradients=tied, orders=orders, numbers="tied")
    # A compensated sum in float64 keeps the last bits of 1e-9 or not, as 5000 comes before or after it.
    compensated = [torch.tensor(scale) for scale in (1e20, -1e20, 1.2345e-9, 5000.3, -5000.3)]
    orders = [list(order) for order in itertools.permutations(range(len(compensated)))]
    yield Case(gradients=compensated, orders=orders, numbers="compensated")
    yield case([signed(rng) * 1e-9])
