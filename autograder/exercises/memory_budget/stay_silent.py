"""Exercise: a function that a checkpoint differentiates wrongly without an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from autograder.checking.containment.caught import Caught
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf
from autograder.checking.observe import using_answer
from autograder.checking.values import RTOL, AtMost, limited_error, relative_error
from autograder.language import Text

_STEP = 1e-6
_MOST_RIGHT = 0.9  # of the gradient: the rest is wrong by a tenth of its norm


@exercise(
    title=Text("Wrong without a word", "Неверно и молча"),
    kind="write the counter-example",
    difficulty=1,
    aspects=[
        aspect(
            "honest",
            0,
            en="Without a checkpoint the gradient of a fresh `f` agrees with finite differences.",
            ru="Без контрольной точки градиент новой функции `f` согласуется с конечными разностями.",
            measured=Text(
                "Difference from finite differences, relative", "Относительное отличие от конечных разностей"
            ),
        ),
        aspect(
            "same result",
            1,
            en="With a checkpoint a fresh `f` gives the same result.",
            ru="С контрольной точкой новая функция `f` даёт тот же результат.",
            measured=Text("Difference of the results, relative", "Относительное отличие результатов"),
        ),
        aspect(
            "silent",
            2,
            en="With a checkpoint the gradient is off by more than a tenth, and no error is raised.",
            ru="С контрольной точкой градиент отличается от верного больше чем на десятую часть нормы, а ошибки нет.",
            after=("honest", "same result"),
            measured=Text(
                "1 minus the difference of the gradients, in norms of the right one",
                "1 минус отличие градиентов в долях нормы верного",
            ),
        ),
    ],
    hints=[
        Text(
            "What may differ between the first and the second call of one function?",
            "Что может различаться в первом и втором вызове одной и той же функции?",
        ),
        Text(
            "Count the calls, and use the number where a tensor is saved that depends on it. Shapes stay the same.",
            "Считайте вызовы и используйте их число там, где сохраняется тензор, который от него зависит. Формы не "
            "меняются.",
        ),
        Text.same(
            "def stay_silent():\n"
            "    runs = []\n\n"
            "    def f(x):\n"
            "        ...\n"
            "        return (... * x).sin()\n\n"
            "    return f"
        ),
    ],
)
def stay_silent(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        y, gradient = _run(answer.stay_silent(), case.x, False)
        moved = not torch.equal(torch.get_rng_state(), torch.Generator().manual_seed(0).get_state())
        kept, found = _run(answer.stay_silent(), case.x, True)
        if not isinstance(y, Tensor) or not isinstance(gradient, Tensor):
            return {"honest": gradient, "same result": None, "silent": None}
        ends = [_run(answer.stay_silent(), case.x.detach() + sign * _STEP, False)[0] for sign in (1, -1)]
    slope = (ends[0].sum() - ends[1].sum()) / (2 * _STEP)
    honest = (slope - gradient.sum()).abs() / (1 + gradient.abs().sum())
    return {
        "honest": limited_error(1e-4, float(honest)),
        "same result": limited_error(RTOL, relative_error(y, kept)),
        "silent": _right_part(found, gradient) if isinstance(found, Tensor) else found,
        "draws": moved,
    }


def _right_part(found: Tensor, right: Tensor) -> AtMost:
    """Return the part of a gradient that is right.

    Where nothing can be said, because both are 0, it is all.
    """
    error = float((found - right).norm() / right.norm())
    return limited_error(_MOST_RIGHT, 1 - min(error, 1))


def _run(f: Any, x: Tensor, recompute: bool) -> tuple[Any, Tensor | Caught | None]:
    """Return the result of `f` and the gradient of its sum, or the error that torch raises."""
    torch.manual_seed(0)
    y = checkpoint(f, x, use_reentrant=False) if recompute else f(x)
    if not isinstance(y, Tensor) or not y.requires_grad:
        return y, None
    try:
        return y.detach(), torch.autograd.grad(y.sum(), x)[0]
    except RuntimeError as error:
        return y.detach(), Caught.of(error, type(error).__name__)


@stay_silent.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for shape in ((4,), (2, 3)):
        yield Case(x=leaf(rng, *shape))
