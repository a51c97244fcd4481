"""Exercise: a square root inside `where` without NaN gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.devices.device_run import gradients_there, works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import graph_nodes

from .common import FLOAT64


def _upstream(y: Tensor) -> Tensor:
    """Return the gradient from which the backward pass starts at `y`."""
    return torch.linspace(1, 2, y.numel(), dtype=y.dtype, device=y.device).reshape(y.shape)


def _compare_small(x: Tensor, value: Tensor, gradient: Tensor | None) -> dict[str, str]:
    """Return how value and gradient of an answer compare with the right ones: "right", "zero" or "wrong".

    A root of a small number is itself small. The comparison is therefore relative to each entry.
    """
    root = torch.where(x > 0, x, 0.0).sqrt()
    right = {"value": root, "gradient": torch.where(x > 0, _upstream(x) / (2 * root), 0.0)}

    def compared(name: str, got: Tensor | None) -> str:
        if got is None or got.shape != x.shape:
            return "wrong"
        if torch.allclose(got.to(x.dtype), right[name], rtol=2e-5, atol=0):
            return "right"
        return "wrong" if bool(got.any()) else "zero"

    return {name: compared(name, got) for name, got in (("value", value), ("gradient", gradient))}


@exercise(
    title=Text("A root that gives NaN", "Корень, который даёт NaN"),
    kind="find the bug",
    difficulty=2,
    shows_graph=True,
    rtol=2e-5,
    aspects=[
        aspect(
            "untouched",
            0,
            en="`x` is what it was: the same numbers, and no hook.",
            ru="Тензор `x` остался прежним: числа те же, хуков нет.",
        ),
        aspect(
            "value",
            0.5,
            en="The value is the root where `x > 0`, and 0 elsewhere.",
            ru="Значение равно корню при `x > 0` и нулю в остальных точках.",
        ),
        aspect(
            "gradient",
            1.5,
            en="The derivative is `1 / (2 * sqrt(x))` where `x > 0`, and 0 elsewhere.",
            ru="Производная равна `1 / (2 * sqrt(x))` при `x > 0` и нулю в остальных точках.",
            after=("untouched", "value"),
        ),
        aspect(
            "small",
            0.5,
            en="Both hold for small positive numbers as well.",
            ru="И значение, и производная верны и для малых положительных чисел.",
            after=("untouched", "value", "gradient"),
        ),
        works_on(
            0.5,
            after=(
                "untouched",
                "value",
                "gradient",
            ),
        ),
    ],
    hints=[
        Text(
            "`where` sends 0 into the branch that was not taken. What does `SqrtBackward0` multiply this 0 by?",
            "В невыбранную ветвь `where` передаёт 0. На что умножает этот 0 узел `SqrtBackward0`?",
        ),
        Text(
            "No number may get into `sqrt` at which its derivative is infinite or undefined, not even in an entry that "
            "is thrown away.",
            "В `sqrt` не должно попасть ни одно число, при котором производная бесконечна или не определена, даже "
            "если этот элемент потом отбрасывается.",
        ),
        Text.same("inside = torch.where(x > 0, x, ...)\nreturn torch.where(x > 0, ..., 0.0)"),
    ],
    why=Why(
        Text(
            "Why does it not help to replace NaN after the root was taken?",
            "Почему не помогает заменить NaN уже после извлечения корня?",
        ),
        Text(
            "The root stays in the graph, and its derivative at 0 is infinite. `where` sends 0 into the branch "
            "not taken, and 0 times infinity is NaN, so the input must be safe.",
            "Корень остаётся в графе, а его производная в нуле бесконечна. `where` отправляет в невыбранную "
            "ветвь 0, а 0, умноженный на бесконечность, — это NaN. Безопасным должен быть сам аргумент корня.",
        ),
    ),
)
def safe_sqrt(answer: Any, case: Case) -> dict[str, object]:
    small = bool(case.x.abs().max() < 1e-6)
    y = answer.safe_sqrt(case.x)
    with using_answer():
        value, gradient = y.detach().clone(), None
        if y.requires_grad:
            upstream, _ = _upstream(y), call_with_other_numbers(y, answer.safe_sqrt, case.x)
            (gradient,) = torch.autograd.grad(y, case.x, upstream, allow_unused=True)
        names = [node.name() for node in graph_nodes(y)]
        about = _compare_small(case.x.detach(), value, gradient) if small else {}
    hooks = case.x._backward_hooks
    return {
        "untouched": {"x": case.x, "hooks": len(hooks or ())},
        "value": None if small else value,
        "gradient": None if small else gradient,
        "small": set(about.values()) <= {"right"},
        "about small numbers": about,
        "names": names,
    }


@safe_sqrt.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    y = answer.safe_sqrt(case.x)
    return {"y": y, "gradient": gradients_there(y, [case.x])}


@safe_sqrt.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for shape in ((7,), (3, 4)):
        x = signed(rng, *shape)
        x.view(-1)[:5] = torch.tensor([0.0, 1e-4, -1.0, 4.0, 0.0], dtype=FLOAT64)
        yield Case(x=x.requires_grad_())
    for scale, dtype in (1e-200, torch.float64), (1e-36, torch.float32):
        x = scale * uniform(rng, 5)
        x[0], x[1] = 0.0, -x[1]
        yield Case(x=x.to(dtype).requires_grad_())
    yield Case(x=uniform(rng).requires_grad_())
    x = 1e30 * uniform(rng, 1, 3)  # far larger than an entry of any other case
    x[0, 0] = torch.inf
    yield Case(x=x.requires_grad_())
