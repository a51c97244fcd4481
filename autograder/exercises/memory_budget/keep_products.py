"""Exercise: a checkpoint that keeps the results of expensive products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

from .common import MARGIN, Mixed, Run, chain, four_results, in_two_calls, measure

_LEAST = 16  # inner size of an expensive product


@exercise(
    title=Text("Save the expensive products", "Сохранить дорогие произведения"),
    kind="complete",
    core=True,
    difficulty=2,
    version=2,
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
            en="After the forward pass the results of the expensive products are in memory, and nothing else (bytes).",
            ru="После прямого прохода в памяти лежат результаты дорогих произведений и больше ничего (байты).",
            measured=BYTES_KEPT,
        ),
        aspect(
            "products",
            4,
            en="No expensive product of the forward pass runs a second time.",
            ru="Ни одно дорогое произведение прямого прохода не выполняется второй раз.",
            after=("gradients", "kept"),
            measured=Text("Expensive products that ran again", "Повторных дорогих произведений"),
        ),
    ],
    hints=[
        Text(
            "A list of names is not enough here: two products with one name may differ in their inner size. What does a "
            "policy get besides the operation?",
            "Списка имён здесь мало: у двух произведений с одним именем внутренний размер может быть разным. Что "
            "политика получает кроме операции?",
        ),
        Text(
            "It gets the arguments of the operation, and the second factor is the last of them in all three products. "
            "Which of its dimensions is the inner one?",
            "Политика получает и аргументы операции. Во всех трёх произведениях второй множитель среди них последний. "
            "Какое из его измерений внутреннее?",
        ),
        Text.same(
            "def keep_products(f, x):\n"
            "    def policy(ctx, operation, *args, **kwargs):\n"
            "        product = operation in (aten.mm.default, aten.addmm.default, aten.bmm.default)\n"
            "        return ... if product and ... >= 16 else ...\n\n"
            "    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(...))"
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
    def call(x: Tensor) -> object:
        return answer.keep_products(case.f, x)

    plain = measure(case.f, case.f, case.x)
    with using_answer():
        run = measure(call, case.f, case.x)
        twice = in_two_calls(call, case.f, case.x)
    limit = sum(product.nbytes for product in plain.forward if _is_expensive(product)) + MARGIN
    return {
        "gradients": {**run.found, **twice},
        "kept": AtMost(limit, run.kept),
        "products": AtMost(0, _expensive(run) - _expensive(plain)),
        "expensive products again": _expensive(run) - _expensive(plain),
        "products again": len(run.forward) + len(run.backward) - len(plain.forward) - len(plain.backward),
        "kept, in sizes of x": run.kept // (case.x.numel() * case.x.element_size()),
    }


def _expensive(run: Run) -> int:
    return sum(map(_is_expensive, [*run.forward, *run.backward]))


def _is_expensive(product: Product) -> bool:
    return product.multiplications * product.dtype.itemsize >= _LEAST * product.nbytes


@keep_products.weigh("kept", most=109 << 20)
def weigh(keep_products: Callable[..., Tensor], rng: torch.Generator) -> object:
    """Keep the graphs of four calls with 4 expensive products, whose results take 2 MB each."""
    f = chain(rng, [64] * 5, nn.GELU(), nn.Softplus(), nn.Sigmoid())
    return four_results(lambda x: keep_products(f, x), rng)


@keep_products.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    """Yield functions with expensive and cheap products of each kind.

    Neither rows nor columns, nor the size of a result, tell which they are.
    """
    layers = chain(rng, [20, 10, 16, 6], nn.GELU(), nn.Softplus(), nn.Sigmoid())
    yield Case(f=layers, x=signed(rng, 12, 20).requires_grad_())
    yield Case(f=Mixed(rng, 6), x=signed(rng, 2, 18, 6))
    frozen = Mixed(rng, 16)
    for parameter in frozen.first.parameters():
        parameter.requires_grad_(False)
    yield Case(f=nn.Sequential(frozen, nn.SiLU()).eval(), x=signed(rng, 2, 5, 16).requires_grad_())
    u, v = signed(rng, 17, 9) / 17, signed(rng, 9, 20) / 9
    f = Formula("sigmoid(exp(sin(x @ u)) @ v)", lambda x: ((x @ u).sin().exp() @ v).sigmoid())
    yield Case(f=f, x=signed(rng, 12, 17).requires_grad_())
    f = Formula("sigmoid(sin(x @ x.mT))", lambda x: (x @ x.mT).sin().sigmoid())
    yield Case(f=f, x=signed(rng, 18, 2, 3).requires_grad_())
