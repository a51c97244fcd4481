"""Core exercise: a checkpoint that keeps the results of matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import BYTES_KEPT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import MARGIN, Mixed, Run, chain, gradients, measure, measure_plain


@exercise(
    title=Text("Save the products", "Сохранить произведения"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "kept",
            1,
            en="After the forward pass the results of the matrix products are in memory, and nothing else (bytes).",
            ru="После прямого прохода в памяти лежат результаты матричных произведений и больше ничего (байты).",
            measured=BYTES_KEPT,
        ),
        aspect(
            "gradients",
            1,
            en="Result and gradients are those of `f` without a checkpoint.",
            ru="Результат и градиенты такие же, как у `f` без контрольной точки.",
        ),
        aspect(
            "products",
            3,
            en="No matrix product of the forward pass runs a second time.",
            ru="Ни одно матричное произведение прямого прохода не выполняется второй раз.",
            after=("kept", "gradients"),
            measured=Text("Products that ran again", "Повторных произведений"),
        ),
    ],
    hints=[
        Text(
            "Which operations are matrix products? Print those of each network with `Operations`.",
            "Какие операции здесь — матричные произведения? Выведите операции каждой сети с помощью `Operations`.",
        ),
        Text(
            "`saving` above takes a list of operations. It needs all three names of a product.",
            "Функция `saving` выше принимает список операций. В нём нужны все три имени произведения.",
        ),
        Text(
            "`context_fn=lambda: create_selective_checkpoint_contexts([...])` with `aten.mm.default`, "
            "`aten.addmm.default` and `aten.bmm.default`.",
            "`context_fn=lambda: create_selective_checkpoint_contexts([...])`, где в списке `aten.mm.default`, "
            "`aten.addmm.default` и `aten.bmm.default`.",
        ),
    ],
    why=Why(
        Text(
            "When does saving the products pay off against no checkpoint at all?",
            "Когда сохранять произведения выгоднее, чем обойтись без контрольной точки?",
        ),
        Text(
            "Each product costs one tensor, and no product runs twice. That pays where the cheap operations behind a "
            "product would keep several tensors without a checkpoint.",
            "За каждое произведение платят одним тензором, и ни одно не повторяется. Это выгодно, если без контрольной "
            "точки граф хранил бы несколько тензоров для дешёвых операций после произведения.",
        ),
    ),
)
def keep_products(answer: Any, case: Case) -> dict[str, object]:
    plain = measure_plain(case.f, case.x)
    with using_answer():
        run = measure(lambda: answer.keep_products(case.f, case.x), case.f, case.x)
        found = gradients(lambda: answer.keep_products(case.f, case.x), case.f, case.x)
    return {
        "kept": AtMost(sum(product.nbytes for product in plain.forward) + MARGIN, run.kept, of=run.right),
        "gradients": found,
        "products": AtMost(0, _products(run) - _products(plain), of=run.right),
        "products again": _products(run) - _products(plain),
        "kept, in sizes of x": run.kept // (case.x.numel() * case.x.element_size()),
        "wrong gradients": None if run.right else found,
    }


def _products(run: Run) -> int:
    return len(run.forward) + len(run.backward)


@keep_products.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(f=chain(rng, [12] * 5, nn.GELU(), nn.Softplus(), nn.Sigmoid()), x=signed(rng, 40, 12).requires_grad_())
    yield Case(f=Mixed(rng, 8), x=signed(rng, 3, 20, 8))
    frozen = Mixed(rng, 10)
    for parameter in frozen.first.parameters():
        parameter.requires_grad_(False)
    yield Case(f=nn.Sequential(frozen, nn.SiLU()), x=signed(rng, 2, 16, 10).requires_grad_())
