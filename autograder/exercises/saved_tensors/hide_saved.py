"""Exercise: save nothing in forward, yet reach the same memory peak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.labels import BYTES_KEPT, PEAK, Entries
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import nbytes
from .deep_layers import in_many_layers, layer_gradients, layered_cases, measure_layers


@exercise(
    title=Text("Nothing saved, the same peak", "Ничего не сохранено, а пик тот же"),
    kind="write the counter-example",
    core=True,
    difficulty=1,
    rtol=1e-5,
    aspects=[
        aspect(
            "gradients",
            0.5,
            en="Output and gradients are those of the layers run one after the other.",
            ru="Выход и градиенты такие же, как при обычном последовательном вызове слоёв.",
        ),
        aspect(
            "kept",
            1,
            en="After the forward pass of 16 or 12 layers only the result is in memory (bytes).",
            ru="После прямого прохода по 16 или 12 слоям в памяти лежит только результат (байты).",
            measured=BYTES_KEPT,
        ),
        aspect(
            "forward",
            0,
            en="The forward pass alone needs little: at most 4 times the size of `x` at any moment (bytes).",
            ru="Один прямой проход требует мало памяти: в любой момент не больше 4 размеров `x` (байты).",
            after=("gradients", "kept"),
            measured=PEAK,
        ),
        aspect(
            "calls",
            0,
            en="Each layer is called twice: in the forward pass and in one recomputation.",
            ru="Каждый слой вызван дважды: в прямом проходе и при одном повторном вычислении.",
            after=("gradients", "kept", "forward"),
            entries=(Entries(Text("calls of layer {n}", "вызовов слоя {n}"), Text("layers", "слоёв")),),
        ),
        aspect(
            "peak",
            1.5,
            en="The peak of forward and backward is not below 16 times the size of `x` (12 times with 12 layers).",
            ru="Пик за оба прохода, прямой и обратный, не ниже 16 размеров `x` (12 размеров при 12 слоях).",
            after=("gradients", "kept", "forward", "calls"),
        ),
    ],
    hints=[
        Text(
            "Which function computes a result and keeps nothing but its input?",
            "Какая функция вычисляет результат и не хранит ничего, кроме входа?",
        ),
        Text(
            "A checkpoint keeps the input of its segment. How long may a segment be?",
            "Контрольная точка хранит вход своего сегмента. Насколько длинным может быть сегмент?",
        ),
        Text.same("def hide_saved(layers, x):\n    return checkpoint(..., ..., use_reentrant=False)"),
    ],
    why=Why(
        Text(
            "Why is the peak not lower although nothing is kept after the forward pass?",
            "Почему пик не ниже, хотя после прямого прохода ничего не хранится?",
        ),
        Text(
            "Backward recomputes the one segment, and the segment is the whole network. All its results are then in "
            "memory at once, only later than without a checkpoint.",
            "Обратный проход повторно вычисляет единственный сегмент, а это вся сеть. Все её промежуточные результаты "
            "снова лежат в памяти одновременно, только позже, чем без контрольной точки.",
        ),
    ),
)
def hide_saved(answer: Any, case: Case) -> dict[str, object]:
    run = answer.hide_saved
    with using_answer():
        if case.v is not None:
            return {
                "gradients": layer_gradients(run, case),
                "kept": AtMost(0, 0),
                "forward": AtMost(0, 0),
                "calls": [],
                "peak": True,
            }
        found = measure_layers(run, case, len(case.layers))
    size = nbytes(case.x)
    return {
        "gradients": None,
        "kept": AtMost(size, found.kept * size, of=found.found),
        "forward": AtMost(4 * size, found.forward_peak, of=found.found),
        "peak": found.peak >= len(case.layers) * size,
        "calls": found.pattern,
        "activations": found.kept,
        "leaks": found.left > 0,
    }


@hide_saved.weigh("kept", most=57 << 20)
def weigh(run: Callable[[list[Module], Tensor], Tensor], rng: torch.Generator) -> object:
    """Keep the results of eight runs through 12 layers. A layer's result takes 1 MB."""
    return in_many_layers(run, rng, depth=12, runs=8, calls=2)


hide_saved.cases(lambda rng: layered_cases(rng, (16, 12)))
