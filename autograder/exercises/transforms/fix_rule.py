"""Exercise: a rule for batches that ignores where the batch is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import require_function, result_or_error

CALLS = Text("Calls of `forward`", "Вызовов `forward`")


@exercise(
    title=Text("A rule for batches", "Правило для батча"),
    kind="find the bug",
    asks="LogAddExp",
    asks_for="class",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "plain",
            0,
            en="Without `vmap` value and gradients are right.",
            ru="Без `vmap` верны и значение, и градиенты.",
        ),
        aspect(
            "one_batch",
            1,
            en="The result is right if only one of the inputs has a batch.",
            ru="Результат верен, если батч есть только у одного из входов.",
        ),
        aspect(
            "places",
            1,
            en="The result is right wherever the batch dimensions are.",
            ru="Результат верен, где бы ни стояли измерения батча.",
        ),
        aspect(
            "shapes",
            1,
            en="The result is right if one sample of `x` has another number of dimensions than one of `y`.",
            ru="Результат верен, если у примеров `x` и `y` разное число измерений.",
        ),
        aspect(
            "gradients",
            0.5,
            en="The gradients are right: `vmap` of `grad`, and `backward()` through `vmap`.",
            ru="Градиенты верны: `vmap` от `grad` и `backward()` сквозь `vmap`.",
            after=("plain", "one_batch", "places", "shapes"),
        ),
        aspect(
            "calls",
            0.5,
            en="`forward` runs once for the whole batch.",
            ru="`forward` выполняется один раз на весь батч.",
            after=("plain", "one_batch", "places", "shapes"),
            measured=CALLS,
        ),
    ],
    hints=[
        Text(
            "The rule gets whole tensors. What does `in_dims` say about each of them, and what do you do where it says "
            "None?",
            "Правило получает тензоры целиком. Что о каждом из них сообщает `in_dims` и что делать, если там None?",
        ),
        Text(
            "Shapes are aligned from the right. In which place does a batch dimension not disturb that: first, or last?",
            "При транслировании формы выравниваются справа. Где измерение батча этому не помешает: в начале или в конце?",
        ),
        Text.same(
            "x, y = (t.unsqueeze(-1) if dim is None else t.movedim(..., -1) for t, dim in zip((x, y), in_dims))\n"
            "return LogAddExp.apply(x, y), ..."
        ),
    ],
    why=Why(
        Text(
            "Why does torch make no rule for this Function itself?",
            "Почему для этой функции torch не составит правило сам?",
        ),
        Text(
            "It would run `forward` on tensors that stand for one sample each. Such tensors have no numbers that NumPy "
            "could read; only torch operations know them.",
            "Он выполнил бы `forward` для тензоров, каждый из которых представляет один пример. Чисел, которые мог бы "
            "прочесть NumPy, в них нет: с ними умеют работать только операции torch.",
        ),
    ),
)
def fix_rule(answer: Any, case: Case) -> dict[str, object]:
    function = answer.LogAddExp
    require_function(function)
    with _own_forward(function) as calls, using_answer():
        apply = function.apply
        x, y = case.x.clone().requires_grad_(), case.y.clone().requires_grad_()
        value = apply(x, y)
        _ = call_with_other_numbers(value, apply, x, y)
        plain = {"value": value, "gradients": list(torch.autograd.grad((value * case.v).sum(), (x, y)))}
        seen: dict[str, object] = {"plain": plain}
        counts: list[int] = []

        def under_vmap(dims: Any, given: list[Tensor]) -> Any:
            calls.clear()
            result = result_or_error(lambda: vmap(apply, in_dims=dims)(*given))
            counts.append(len(calls))
            return result

        for name, batches in case.batched.items():
            seen[name] = [under_vmap(dims, given) for dims, *given in batches]
        seen["calls"] = AtMost(limit=1, used=max(counts)) if all(counts) else 0  # none: the library was replaced
        dims, *given = case.batched["shapes"][0]
        seen["gradients"] = {
            "vmap of grad": result_or_error(lambda: list(vmap(grad(_weighted(apply), argnums=(0, 1)), dims)(*given))),
            "backward() through vmap": result_or_error(lambda: _through_vmap(apply, dims, given)),
        }
    return seen


def _weighted(apply: Any) -> Any:
    return lambda x, y: (apply(x, y) ** 2).sum()


def _through_vmap(apply: Any, dims: Any, given: list[Tensor]) -> list[Tensor]:
    leaves = [t.clone().requires_grad_() for t in given]
    y = vmap(apply, in_dims=dims)(*leaves)
    return list(torch.autograd.grad((y**2).sum(), leaves))


@contextmanager
def _own_forward(function: Any) -> Iterator[list[int]]:
    """Give a class a `forward` of ours, in NumPy, in the `with` block; yield the list of its calls."""
    calls: list[int] = []

    def forward(x: Tensor, y: Tensor) -> Tensor:
        calls.append(1)
        return torch.from_numpy(np.asarray(np.logaddexp(x.numpy(), y.numpy())))

    with patch.object(function, "forward", staticmethod(forward)):
        yield calls


@fix_rule.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, rows in ((3, 2), (4, 4)):  # in the second, wrong dimensions fit

        def drawn(*shape: int) -> Tensor:
            return signed(rng, *shape)

        batched = {
            "one_batch": [((0, None), drawn(n, rows), drawn(rows)), ((None, 0), drawn(rows), drawn(n, rows))],
            "places": [((1, 0), drawn(rows, n), drawn(n, rows)), ((2, 1), drawn(2, rows, n), drawn(2, n, rows))],
            "shapes": [
                ((0, 0), drawn(n, rows), drawn(n)),
                ((1, 0), drawn(rows, n), drawn(n, 3, rows)),
                ((0, None), drawn(n), drawn(2, rows)),
                ((None, 1), drawn(2, 1, rows), drawn(rows, n)),
            ],
        }
        yield Case(x=drawn(2, rows), y=drawn(rows), v=drawn(2, rows), batched=batched)
