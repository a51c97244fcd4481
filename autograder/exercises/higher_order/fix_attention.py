"""Core exercise: masked attention without NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import graph_nodes


@exercise(
    title=Text("A row that sees nothing", "Строка, которой ничего не видно"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "output",
            1,
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
        aspect("mask", 0.5, en="The mask is not changed.", ru="Маска не меняется.", after=("output",)),
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
        Text(
            "seen = mask.any(dim=-1, keepdim=True)\n"
            "scores = scores.masked_fill(~mask & seen, -torch.inf)\n"
            "weights = scores.softmax(-1) * ...",
            "seen = mask.any(dim=-1, keepdim=True)\n"
            "scores = scores.masked_fill(~mask & seen, -torch.inf)\n"
            "weights = scores.softmax(-1) * ...",
        ),
    ],
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
            second: object = _second(gradients, inputs)
        except RuntimeError as error:
            second = f"RuntimeError: {str(error).splitlines()[0][:120]}"
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


def _second(gradients: Any, inputs: list[Tensor]) -> dict[str, Tensor]:
    """Return the gradient of the sum of squares of all first derivatives, for each input."""
    total = torch.stack([(g**2).sum() for g in gradients]).sum()
    return dict(zip("qkv", torch.autograd.grad(total, inputs, materialize_grads=True)))


@fix_attention.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for batch, features, far in [((), 3, 0.0), ((2,), 2, 1e5), ((1, 2), 3, 0.0)]:
        mask = torch.rand(*batch, 4, 5, generator=rng, dtype=torch.float64) > 0.4
        mask[..., 0, :] = True
        mask[..., 2, :] = False
        mask[..., 3, 1:] = False
        mask[..., 1, :3] = torch.tensor([True, False, True])
        q, k = signed(rng, *batch, 4, 3), signed(rng, *batch, 5, 3)
        if far:  # all scores of row 0 are far above 0, all those of row 1 far below it
            q[..., :2, 0], k[..., 0] = torch.tensor([far, -far], dtype=torch.float64), 1.0
        direction = signed(rng, *batch, 4, features)
        yield Case(q=q, k=k, v=signed(rng, *batch, 5, features), mask=mask, direction=direction)


def _scores(q: Tensor, k: Tensor) -> Tensor:
    scores: Tensor = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return scores


def _hidden(mask: Tensor) -> Tensor:
    zeros: Tensor = torch.zeros(mask.shape, dtype=torch.float64)
    return zeros.masked_fill(~mask, -torch.inf)


@fix_attention.mistake(
    en="The NaN is removed from the output, after the product with `v`. In backward the gradient for `v` is "
    "$weights^\\top$ times what arrives, and $0 \\cdot$ NaN is NaN: every row of it is lost.",
    ru="NaN убран из выхода, уже после умножения на `v`. В обратном проходе градиент по `v` — это $weights^\\top$, "
    "умноженная на пришедший градиент, а $0 \\cdot$ NaN — это NaN: испорчена каждая его строка.",
)
def cures_the_output(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    seen = mask.any(-1, keepdim=True)
    return torch.where(seen, _scores(q, k).masked_fill(~mask, -torch.inf).softmax(-1) @ v, 0.0)


@fix_attention.mistake(
    en="The NaN is removed from the weights, after the softmax. Output and gradients are right now, but the softmax has "
    "saved its NaN: it appears in the backward pass.",
    ru="NaN убран из весов, уже после softmax. Выход и градиенты теперь верны, но softmax сохранил свой NaN: он "
    "появляется в обратном проходе.",
)
def cures_the_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return _scores(q, k).masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0) @ v


@fix_attention.mistake(
    en="The mask is added as $-\\infty$, and the NaN is removed after the softmax. The gradients for `q` and `k` are "
    "NaN: an addition lets everything through.",
    ru="Маска прибавлена как $-\\infty$, а NaN убран после softmax. Градиенты по `q` и `k` — NaN: сложение "
    "пропускает всё.",
)
def adds_the_mask(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return (_scores(q, k) + _hidden(mask)).softmax(-1).nan_to_num(0) @ v


@fix_attention.mistake(
    en="Nothing is NaN any more, but the masked row sees everything: in a row of equal numbers the softmax is "
    "$1/m$ everywhere. Its weights have to be 0.",
    ru="NaN больше нет, но закрытой строке видно всё: если в строке все числа одинаковы, softmax всюду равен $1/m$. "
    "Веса должны быть равны 0.",
)
def large_negative_number(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return _scores(q, k).masked_fill(~mask, -1e9).softmax(-1) @ v


@fix_attention.mistake(
    en="The rule for an ordinary row has changed: its weights no longer add up to 1. The entries that are not seen must "
    "be left out before the softmax.",
    ru="Изменились и обычные строки: сумма их весов больше не равна 1. Невидимые элементы нужно исключать до softmax.",
)
def masks_after_the_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return (_scores(q, k).softmax(-1) * mask) @ v


@fix_attention.mistake(
    en="The masked row sees everything, with ordinary weights: the softmax is the same whether its scores are left as "
    "they are or all lowered by one number. Its weights have to be 0.",
    ru="Закрытой строке видно всё, причём с обычными весами: softmax не изменится, если оставить её оценки прежними или "
    "все их уменьшить на одно число. Веса должны быть равны 0.",
)
def row_left_open(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    seen = mask.any(-1, keepdim=True)
    return _scores(q, k).masked_fill(~mask & seen, -torch.inf).softmax(-1) @ v


@fix_attention.mistake(
    en="The division by the root of the dimension is lost.",
    ru="Потеряно деление на корень из размерности.",
)
def without_the_root(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1)
    return (scores.masked_fill(~mask & seen, -torch.inf).softmax(-1) * seen) @ v


@fix_attention.mistake(
    en="The fused kernel of `scaled_dot_product_attention` was chosen. Its values and gradients are right, and 0 in a "
    "masked row, but it has no second derivative.",
    ru="Выбрано слитое ядро `scaled_dot_product_attention`. Его значения и градиенты верны и в закрытой строке равны 0, "
    "но второй производной у него нет.",
)
def fused_kernel(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


@fix_attention.mistake(
    en="A row that sees nothing is NaN in the output. A product with 0 does not remove a NaN.",
    ru="Если запросу не виден ни один ключ, строка выхода равна NaN. Умножение на 0 его не убирает.",
)
def leaves_the_nan(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return (_scores(q, k).masked_fill(~mask, -torch.inf).softmax(-1) * mask) @ v


def _weights(scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Return the right weights if `dim` is the last one."""
    seen = mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask & seen, -torch.inf).softmax(dim).masked_fill(~mask, 0.0)


@fix_attention.mistake(
    en="The output and the gradients are right, but the mask was changed in place. The caller still needs it.",
    ru="Выход и градиенты верны, но маска изменена на месте. Вызывающему коду она ещё нужна.",
)
def changes_the_mask(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    output = _weights(_scores(q, k), mask.clone()) @ v
    mask.logical_not_()
    return output


@fix_attention.mistake(
    en="The scores were divided by the root of the size of `v`. It is the size $d$ of `q` and `k` that counts.",
    ru="Оценки разделены на корень из размера `v`. Нужен размер $d$ векторов `q` и `k`.",
)
def root_of_the_other_size(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return _weights(q @ k.transpose(-2, -1) / v.shape[-1] ** 0.5, mask) @ v


@fix_attention.mistake(
    en="Hidden entries were given a number that is not low enough: in a row whose scores are lower still, they get a "
    "weight.",
    ru="Невидимым элементам дано недостаточно малое число: в строке, где оценки ещё меньше, они получают вес.",
)
def not_low_enough(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return (_scores(q, k).masked_fill(~mask, -1e4).softmax(-1) * mask.any(-1, keepdim=True)) @ v


@fix_attention.mistake(
    en="Hidden entries were given a number that is not low enough: in a row whose scores are lower still, they take all "
    "the weight, which is then set to 0.",
    ru="Невидимым элементам дано недостаточно малое число: в строке, где оценки ещё меньше, весь вес достаётся им, а "
    "потом обнуляется.",
)
def not_low_enough_and_zeroed(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return (_scores(q, k).masked_fill(~mask, -1e4).softmax(-1) * mask) @ v


@fix_attention.mistake(
    en="The exponentials were computed without subtracting the largest score: large scores overflow, very low ones give "
    "0. `softmax` subtracts it.",
    ru="Экспоненты вычислены без вычитания наибольшей оценки: большие оценки дают бесконечность, очень малые — 0. "
    "Функция `softmax` её вычитает.",
)
def without_the_largest(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    powers = _scores(q, k).exp() * mask
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total > 0, total, 1.0) @ v


@fix_attention.mistake(
    en="The softmax runs over the queries. The weights of one query add up to 1 over the keys, the last dimension.",
    ru="Операция softmax выполнена по запросам. Сумма весов одного запроса должна быть равна 1 по ключам, то есть по последнему "
    "измерению.",
)
def over_the_queries(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return _weights(_scores(q, k), mask, dim=-2) @ v


@fix_attention.mistake(
    en="The sum of the exponentials counts as a constant in the backward pass. It depends on the scores.",
    ru="Сумма экспонент считается в обратном проходе константой. Но она зависит от оценок.",
)
def sum_without_a_graph(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    scores = _scores(q, k).masked_fill(~mask, -1e300)
    powers = (scores - scores.amax(-1, keepdim=True).detach()).exp() * mask
    total = powers.sum(-1, keepdim=True).detach()
    return powers / torch.where(total > 0, total, 1.0) @ v
