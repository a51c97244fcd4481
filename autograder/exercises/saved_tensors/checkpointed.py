"""Exercise: run layers with checkpoints, within limits of memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.labels import BYTES_LEFT, PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import nbytes
from .deep_layers import in_many_layers, layer_gradients, layered_cases, measure_layers


def _peak_allowed(depth: int, x: Tensor) -> int:
    return round((2 * math.sqrt(depth) + 3.5) * nbytes(x))


# No fixed segment length and no fixed number of segments meets the budget at all depths, nor do two lengths.
_SHALLOW, _MIDDLE, _DEEP = 7, 35, 120


@exercise(
    title=Text("A budget for the peak", "Предел для пика"),
    kind="design",
    core=True,
    difficulty=3,
    rtol=1e-5,
    aspects=[
        aspect(
            "left",
            0,
            en="After the backward pass nothing stays in memory but gradients (bytes left).",
            ru="После обратного прохода в памяти остаются только градиенты (осталось лишнего, байт).",
            measured=BYTES_LEFT,
        ),
        aspect(
            "gradients",
            1,
            en="Output and gradients are those of the layers run one after the other.",
            ru="Выход и градиенты такие же, как при обычном последовательном вызове слоёв.",
        ),
        aspect(
            "peak",
            3,
            en="The peak is at most 8.8 times the size of `x` with 7 layers, 15.3 times with 35, 25.4 times with 120 "
            "(bytes; `x` has 1600).",
            ru="Пик не больше 8.8 размера `x` при 7 слоях, 15.3 размера при 35 и 25.4 размера при 120 (байты; в `x` их "
            "1600).",
            measured=PEAK,
        ),
        aspect(
            "calls",
            1,
            en="Each of 7, 35 or 120 layers is called at most twice (the most calls of one layer).",
            ru="Каждый из 7, 35 или 120 слоёв вызван самое большее дважды (наибольшее число вызовов одного слоя).",
            measured=Text("Calls of one layer", "Вызовов одного слоя"),
            after=("left", "peak"),
        ),
    ],
    hints=[
        Text(
            "With $k$ segments of $s$ layers: how many tensors are kept between the segments, and how many are in "
            "memory while one segment is recomputed?",
            "Пусть сегментов $k$, по $s$ слоёв в каждом. Сколько тензоров хранится на границах сегментов и сколько "
            "лежит в памяти, пока один сегмент вычисляется повторно?",
        ),
        Text(
            "About $k + s$, and $k \\cdot s$ is the number of layers: the sum is smallest when both are its square root. "
            "The last segment may be shorter.",
            "Примерно $k + s$, а $k \\cdot s$ — это число слоёв. Сумма меньше всего, когда оба слагаемых равны корню "
            "из этого числа. Последний сегмент может быть короче.",
        ),
        Text.same(
            "def checkpointed(layers, x):\n"
            "    size = max(1, round(...))\n"
            "    for start in range(0, len(layers), size):\n"
            "        segment = torch.nn.Sequential(*layers[...])\n"
            "        x = checkpoint(segment, x, use_reentrant=False)\n"
            "    return x"
        ),
    ],
    why=Why(
        Text(
            "Why is a segment of about √L layers the best length?",
            "Почему лучшая длина сегмента — около √L слоёв?",
        ),
        Text(
            "The inputs of all segments stay in memory, and one segment's results join them while it is "
            "recomputed. With s layers in a segment that is L/s + s, smallest at √L.",
            "Входы всех сегментов лежат в памяти, а при повторном вычислении к ним добавляются результаты одного "
            "из них. При s слоях в сегменте это L/s + s, а такая сумма меньше всего при s = √L.",
        ),
    ),
)
def checkpointed(answer: Any, case: Case) -> dict[str, object]:
    run = answer.checkpointed
    with using_answer():
        if case.v is not None:
            return {
                "left": AtMost(0, 0),
                "gradients": layer_gradients(run, case),
                "calls": AtMost(2, 0),
                "peak": AtMost(0, 0),
            }
        depth = len(case.layers)
        few = measure_layers(run, case, _SHALLOW if depth == _DEEP else depth)
        found, of = few, [few.found]
        if depth == _DEEP:
            # Checkpoints inside checkpoints may call a layer 2**120 times.
            too_often = few.calls > 2
            many = measure_layers(_one_by_one if too_often else run, case, depth)
            found, of = few if too_often else many, [few.found, many.found]
    return {
        "left": AtMost(0, found.left, of=of),
        "gradients": None,
        "calls": AtMost(2, found.calls, of=of),
        "peak": AtMost(_peak_allowed(depth, case.x), found.peak, of=of),
        "kept": found.kept,
        "called": [min(found.pattern), max(found.pattern)],
    }


def _one_by_one(layers: list[Module], x: Tensor) -> Tensor:
    for layer in layers:
        x = layer(x)
    return x


@checkpointed.weigh("peak", most=55 << 20)
def weigh(run: Callable[[list[Module], Tensor], Tensor], rng: torch.Generator) -> object:
    """Go forward and backward through 120 layers. A layer's result takes 1 MB."""
    return in_many_layers(run, rng, depth=_DEEP, runs=1, calls=2)


checkpointed.cases(lambda rng: layered_cases(rng, (_SHALLOW, _MIDDLE, _DEEP), dropping=True))
