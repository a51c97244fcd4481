"""Exercise: masked attention without NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught
from autograder.checking.devices.device_run import gradients_there, works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import graph_nodes


@exercise(
    title=Text("A row that sees nothing", "Строка, которой ничего не видно"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect(
            "output",
            0.5,
            en="The output is right, and a row that may see nothing is 0.",
            ru="Выход верен, а строка, которой ничего не видно, равна 0.",
        ),
        aspect(
            "gradients",
            1,
            en="The gradients for `q`, `k` and `v` are right and finite.",
            ru="Градиенты по `q`, `k` и `v` верны и конечны.",
        ),
        aspect(
            "no_nan",
            0.5,
            en="No node of the backward pass returns NaN: anomaly detection stays silent.",
            ru="Ни один узел обратного прохода не возвращает NaN: режим обнаружения аномалий ничего не находит.",
            after=("output", "gradients"),
        ),
        aspect(
            "second",
            1,
            en="The second derivative is right.",
            ru="Вторая производная верна.",
            after=("output", "gradients"),
        ),
        aspect("mask", 0.5, en="The mask is not changed.", ru="Маска не меняется.", after=("output", "gradients")),
        works_on(
            0.5,
            after=(
                "output",
                "gradients",
            ),
        ),
    ],
    hints=[
        Text(
            "The NaN is made in one line and removed in another. What is computed from it in between, forward and "
            "backward?",
            "NaN возникает в одной строке, а убирается в другой. Что вычисляется из него между ними, в прямом проходе и "
            "в обратном?",
        ),
        Text(
            "Do not let the NaN come about: a row without any True must not consist of $-\\infty$ alone. Afterwards its "
            "weights can be multiplied by 0.",
            "Не давайте NaN возникнуть: строка без единого True не должна состоять из одних $-\\infty$. Её веса потом "
            "можно умножить на 0.",
        ),
        Text.same(
            "seen = mask.any(dim=-1, keepdim=True)\n"
            "scores = scores.masked_fill(~mask & seen, -torch.inf)\n"
            "weights = scores.softmax(-1) * ..."
        ),
    ],
    why=Why(
        Text(
            "Why is it too late to replace NaN in the output?",
            "Почему заменять NaN на выходе уже поздно?",
        ),
        Text(
            "NaN stays in the weights of the row. The gradient for `v` multiplies them by the 0 that arrives, "
            "and 0 times NaN is NaN, so the sum over all rows is lost.",
            "NaN остаётся в весах этой строки. В градиенте по `v` они умножаются на пришедший 0, а 0, умноженный "
            "на NaN, — это NaN, и пропадает сумма по всем строкам.",
        ),
    ),
)
def fix_attention(answer: Any, case: Case) -> dict[str, object]:
    inputs = [tensor.clone().requires_grad_() for tensor in (case.q, case.k, case.v)]
    mask = case.mask.clone()
    output = answer.fix_attention(*inputs, mask)
    with using_answer():
        if not isinstance(output, Tensor) or not output.requires_grad or output.shape != case.direction.shape:
            return {"output": output}
        poisoned: list[str] = []
        for node in graph_nodes(output):
            node.register_hook(lambda found, _, node=node: poisoned.append(node.name()) if _has_nan(found) else None)
        gradients = torch.autograd.grad(output, inputs, case.direction, create_graph=True, materialize_grads=True)
        in_first = sorted(set(poisoned))
        try:
            second: object = _second(gradients, inputs, case.far)
        except RuntimeError as error:
            second = Caught.of(error, f"RuntimeError: {str(error).splitlines()[0][:120]}")
    return {
        "output": output,
        "gradients": dict(zip("qkv", gradients)),
        "no_nan": not in_first,
        "second": second,
        "mask": torch.equal(mask, case.mask),
        "nodes_with_nan": in_first,
    }


def _has_nan(gradients: Any) -> bool:
    return any(g is not None and bool(g.isnan().any()) for g in gradients)


def _second(gradients: Any, inputs: list[Tensor], far: bool) -> dict[str, Tensor]:
    """Return the gradient of the sum of squares of all first derivatives, for each input.

    With scores that are far from 0, return where it is finite: rounding is as large as the smaller entries, and which
    one is exact depends on the formula.
    """
    total = torch.stack([(g**2).sum() for g in gradients]).sum()
    found = torch.autograd.grad(total, inputs, materialize_grads=True)
    return {name: each.isfinite() if far else each for name, each in zip("qkv", found)}


@fix_attention.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    inputs = [each.requires_grad_() for each in (case.q, case.k, case.v)]
    output = answer.fix_attention(*inputs, case.mask)
    return {"output": output, "gradients": gradients_there(output, inputs, case.direction)}


@fix_attention.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for batch, features, far in [((), 1, 0.0), ((2,), 1, 1e10), ((1, 2), 3, 0.0)]:
        mask = torch.rand(*batch, 4, 5, generator=rng, dtype=torch.float64) > 0.4
        mask[..., 0, :] = True
        mask[..., 2, :] = False
        mask[..., 3, 1:] = False
        mask[..., 1, :3] = torch.tensor([True, False, True])
        q, k = signed(rng, *batch, 4, 3), signed(rng, *batch, 5, 3)
        if far:  # all scores of row 0 are far above 0, all those of row 1 far below it
            q[..., :2, 0], k[..., 0] = torch.tensor([far, -far], dtype=torch.float64), 1.0
            q[..., :2, 1:] = 0.0  # equal scores: no rounding of large numbers shows
        elif len(batch) == 2:  # in row 1 the score of the hidden key 1 is far above those of the visible ones
            q[..., 0], k[..., 0] = 1e4 * torch.eye(4)[1].double(), 1e4 * torch.eye(5)[1].double()
        direction = signed(rng, *batch, 4, features)
        yield Case(q=q, k=k, v=signed(rng, *batch, 5, features), mask=mask, direction=direction, far=far > 0)
