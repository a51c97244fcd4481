"""Exercise: SiLU as one Function that saves only its input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import another
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import BYTES_IN_MEMORY, ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error, relative_error
from autograder.language import Text

from .common import MEMORY_ENTRIES, SECOND_ASPECTS, apply_custom, bytes_kept, keep_results, observe_both, second_cases

_EXACT = 1e-10  # a sigmoid from `exp` or `tanh` reaches 1e-13, float32 only 1e-7


@exercise(
    title=Text("One node, nothing more to keep", "Один узел и ничего лишнего"),
    kind="design",
    asks="SiLU",
    asks_for="class",
    difficulty=3,
    rtol=1e-4,
    aspects=[
        *SECOND_ASPECTS[:2],
        aspect(
            "bytes_kept",
            2,
            en=f"After the forward pass on {MEMORY_ENTRIES} float64 numbers nothing is alive but the input, which the caller "
            "holds, and the bytes of the result.",
            ru=f"После прямого прохода по {MEMORY_ENTRIES} числам float64 в памяти остаются только результат и вход, который "
            "хранит вызывающий код.",
            measured=BYTES_IN_MEMORY,
        ),
        aspect("second", 2, *SECOND_ASPECTS[2].says),
        aspect(
            "exact",
            0.5,
            en="In float64 all of these are exact to ten digits: the error is at most 1e-10 of the largest entry.",
            ru="В float64 у всех этих величин верны десять знаков: погрешность не больше 1e-10 от наибольшего "
            "элемента.",
            after=("first", "second"),
            measured=ERROR,
        ),
    ],
    hints=[
        Text(
            "`x * torch.sigmoid(x)` keeps the sigmoid for its backward pass. From what could `backward` get it back?",
            "`x * torch.sigmoid(x)` хранит сигмоиду для обратного прохода. Из чего `backward` мог бы получить её "
            "снова?",
        ),
        Text(
            "Save `x` alone and compute the sigmoid twice: once forward, once backward, there with recorded operations. "
            "The derivative is that of a product.",
            "Сохраните только `x` и вычислите сигмоиду дважды: в прямом проходе и в обратном, там — обычными "
            "операциями torch. Дифференцируйте по правилу произведения.",
        ),
        Text.same(
            "(x,) = ctx.saved_tensors\ns = torch.sigmoid(x)\nreturn grad_output * (s + x * ...)  # s' = s * (1 - s)"
        ),
    ],
    why=Why(
        Text(
            "Why does it cost no memory to save the input and compute the sigmoid again?",
            "Почему не тратится лишняя память, если сохранить вход, а сигмоиду вычислить заново?",
        ),
        Text(
            "The caller holds the input anyway, so saving it adds only a reference. The sigmoid would be one "
            "more tensor of that size, kept from the forward to the backward pass.",
            "Вход вызывающий код держит и так, поэтому добавляется только ссылка на него. Сигмоида была бы ещё "
            "одним тензором такого же размера, который хранится от прямого прохода до обратного.",
        ),
    ),
)
def silu_function(answer: Any, case: Case) -> dict[str, object]:
    observed = observe_both(answer.SiLU, case, apply_custom)
    if len(observed) == 1:
        return observed
    error = _error(observed, case) if case.x.dtype == torch.float64 else 0.0
    with using_answer():
        kept = AtMost(0, 0)
        if case.x.dim() == 2:
            kept = bytes_kept(answer.SiLU, case.rng, drop_input=False)
    return {
        **observed,
        "bytes_kept": kept,
        "kept": int(kept.used) // (MEMORY_ENTRIES * 8),
        "exact": limited_error(_EXACT, error),
    }


def _error(observed: dict[str, Any], case: Case) -> float:
    """Return the largest relative error in an observation of value, gradient and second derivative."""
    x, s = case.x, torch.sigmoid(case.x)
    f, slope, bend = x * s, _derivative(x), s * (1 - s) * (2 + x * (1 - 2 * s))
    truths = {
        "value": f,
        "gradient": case.v * slope,
        "second derivative": case.v * case.w * (2 * slope**2 + 2 * f * bend + 2 * slope + x * bend),
    }
    found = {**observed["first"], **observed["second"]}
    return max(relative_error(truth, found[name]) for name, truth in truths.items())


@silu_function.weigh("bytes_kept", most=110 << 20)
def weigh(function: Any, rng: torch.Generator) -> object:
    """Keep results and inputs of 32 MB each. Another tensor of each call takes 32 MB more."""
    return keep_results(function, rng, drop_input=False)


@silu_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for case in second_cases(rng):
        case.rng = another(rng)
        yield case
    x = torch.tensor([0.0, 1000.0, -1000.0], dtype=torch.float64)
    yield Case(x=x, v=signed(rng, 3), w=signed(rng, 3))


def _derivative(x: Tensor) -> Tensor:
    s = torch.sigmoid(x)
    return s + x * s * (1 - s)
