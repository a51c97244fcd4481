"""Exercise: choose the results that a checkpoint saves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.counted_run import Product
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed
from autograder.checking.labels import BYTES_KEPT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import MARGIN, Mixed, chain, four_results, in_two_calls, measure


@exercise(
    title=Text("The best choice for a budget", "Лучший выбор под бюджет"),
    kind="design",
    difficulty=3,
    aspects=[
        aspect(
            "gradients",
            0.5,
            en="Result and gradients are those of `f` without a checkpoint, also with another call in between.",
            ru="Результат и градиенты такие же, как у `f` без контрольной точки, даже если между проходами есть ещё один вызов.",
        ),
        aspect(
            "kept",
            0.5,
            en="The results that are saved fit into the budget (bytes in memory after the forward pass).",
            ru="Сохранённые результаты укладываются в бюджет (байты в памяти после прямого прохода).",
            measured=BYTES_KEPT,
        ),
        aspect(
            "state",
            0.5,
            en="The next random number is the one that follows a single run of `f`.",
            ru="Случайные числа после вызова такие же, как если бы `f` вызвали один раз.",
            after=("gradients", "kept"),
        ),
        aspect(
            "trial",
            0.5,
            en="At most one trial run: the forward pass needs no more than twice the products of `f`.",
            ru="Пробных запусков не больше одного: в прямом проходе произведений не больше, чем за два вызова `f`.",
            after=("gradients", "kept"),
            measured=Text("Products in the forward pass", "Произведений в прямом проходе"),
        ),
        aspect(
            "multiplications",
            6,
            en="The products that run again have as few multiplications as the budget allows.",
            ru="Число умножений в повторных произведениях — наименьшее возможное при этом бюджете.",
            after=("gradients", "kept", "trial"),
            measured=Text("Multiplications that ran again", "Повторных умножений"),
        ),
    ],
    hints=[
        Text(
            "What do you have to know of each product before you can choose? A run under `no_grad` tells it and keeps "
            "nothing. It must not use up random numbers: `torch.random.fork_rng` puts the random state back.",
            "Что нужно знать о каждом произведении, чтобы выбирать? Это покажет запуск внутри `no_grad`, который "
            "ничего не хранит. Случайных чисел он расходовать не должен: состояние вернёт `torch.random.fork_rng`.",
        ),
        Text(
            "The dearest first, or the most multiplications per byte first: neither is always best. There are few "
            "products; try every set of them.",
            "Сначала самые дорогие? Или те, где больше умножений на байт? Ни тот ни другой порядок ничего не гарантирует. "
            "Произведений немного: переберите все наборы.",
        ),
        Text.same(
            "def fit_budget(f, x, budget):\n"
            "    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:\n"
            "        f(x)\n"
            "    numbers = range(len(seen.prices))\n"
            "    sets = [chosen for count in range(len(numbers) + 1) for chosen in itertools.combinations(numbers, ...)]\n\n"
            "    def total(chosen, which):\n"
            "        return sum(seen.prices[i][which] for i in chosen)\n\n"
            "    fitting = [chosen for chosen in sets if ...]\n"
            "    return saving_numbers(f, max(fitting, key=...))(x)"
        ),
    ],
    why=Why(
        Text(
            "Why does the inner size of a product tell what saving it is worth?",
            "Почему о выгоде от сохранения произведения судят по его внутреннему размеру?",
        ),
        Text(
            "A product of m × k by k × n has mkn multiplications, and its result mn numbers. Each saved number spares k "
            "multiplications.",
            "Произведение матриц m × k и k × n требует mkn умножений и даёт mn чисел. Каждое сохранённое число "
            "избавляет от k умножений.",
        ),
    ),
)
def fit_budget(answer: Any, case: Case) -> dict[str, object]:
    drawn: list[Tensor] = []

    def call(x: Tensor) -> object:
        return answer.fit_budget(case.f, x, case.budget)

    def call_and_draw(x: Tensor) -> object:
        y = call(x)
        drawn.append(torch.rand(2, dtype=torch.float64))
        return y

    plain = measure(case.f, case.f, case.x)
    with using_answer():
        run = measure(call, case.f, case.x)
        twice = in_two_calls(call_and_draw, case.f, case.x)
    again = _multiplications(run.backward) - _multiplications(plain.backward)
    return {
        "gradients": {**run.found, **twice},
        "kept": AtMost(case.budget + MARGIN, run.kept),
        "state": drawn,
        "trial": AtMost(2 * len(plain.forward), len(run.forward)),
        "multiplications": AtMost(_fewest(plain.forward, case.budget), again),
        "again": again,
        "kept, in sizes of x": run.kept // (case.x.numel() * case.x.element_size()),
    }


def _fewest(products: list[Product], budget: int) -> int:
    """Return how many multiplications have to run again if the saved results have at most `budget` bytes."""
    sets = [chosen for count in range(len(products) + 1) for chosen in combinations(products, count)]
    spared = max(_multiplications(each) for each in sets if sum(product.nbytes for product in each) <= budget)
    return _multiplications(products) - spared


def _multiplications(products: Iterable[Product]) -> int:
    return sum(product.multiplications for product in products)


_ROWS = 20
# In the first two a choice by order, size, multiplications or ratio is worse than the best. The last budget is small,
# so that not all results fit even if their numbers are taken for bytes.
_WIDTHS = (([13, 4, 7, 9, 10, 6, 3], 26), ([13, 2, 11, 8, 7, 9, 6], 17), ([2, 2, 11, 8, 7, 9, 6], 4))


@fit_budget.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for widths, columns in _WIDTHS:
        net = chain(rng, widths, nn.GELU(), nn.Sigmoid()).eval()
        net[-3].requires_grad_(False)
        yield Case(f=net, x=signed(rng, _ROWS, widths[0]).requires_grad_(), budget=columns * _ROWS * 8)
    yield Case(f=Mixed(rng, 4), x=signed(rng, 2, 6, 4), budget=130 * 8)
    plain = Formula("sigmoid(exp(sin(x @ u) * noise) @ v)", _two_products(signed(rng, 3, 40), signed(rng, 40, 4)))
    for numbers in (44, 0):  # room for both results, and for none
        yield Case(f=plain, x=signed(rng, 1, 3).requires_grad_(), budget=numbers * 8)


@fit_budget.weigh("kept", most=110 << 20)
def weigh(fit_budget: Callable[..., Tensor], rng: torch.Generator) -> object:
    """Keep the graphs of four calls with 4 products each.

    A result takes 4 MB, and there is room for one of the four.
    """
    f = chain(rng, [64] * 5, nn.GELU(), nn.Sigmoid()).eval()
    return four_results(lambda x: fit_budget(f, x, 8192 * 64 * 8), rng, rows=8192)


def _two_products(u: Tensor, v: Tensor) -> Callable[[Tensor], Tensor]:
    def f(x: Tensor) -> Tensor:
        h = (x @ u).sin()
        return ((h * torch.rand(h.shape, dtype=h.dtype)).exp() @ v).sigmoid()

    return f
