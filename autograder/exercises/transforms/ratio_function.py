"""Exercise: a Function with two inputs and two outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import require_function, result_or_error


@exercise(
    title=Text("A Function for every transform", "Функция для любого преобразования"),
    kind="complete",
    asks="Ratio",
    asks_for="class",
    difficulty=3,
    aspects=[
        aspect(
            "first",
            1,
            en="Values and gradients are right, by `backward()` and by `torch.func.grad`; the share has no graph.",
            ru="Верны значения и градиенты: и у `backward()`, и у `torch.func.grad`; у доли нет графа.",
        ),
        aspect(
            "batches",
            1,
            en="`vmap` gives what a loop over samples gives.",
            ru="`vmap` даёт то же, что цикл по примерам.",
        ),
        aspect(
            "forward_mode",
            1,
            en="Forward mode is right, with tangents for both inputs and for one alone; the tangent of the share is 0.",
            ru="Прямой режим верен и при двух касательных векторах, и при одном; касательный вектор доли равен 0.",
        ),
        aspect(
            "matrices",
            1,
            en="`jacfwd`, `hessian` and `jacrev` of `jacrev` are right, with respect to both inputs.",
            ru="`jacfwd`, `hessian` и `jacrev` от `jacrev` верны по обоим входам.",
            after=("first", "batches", "forward_mode"),
        ),
    ],
    hints=[
        Text(
            "What does each of the transforms ask for? The explanation below the table at the beginning of the lesson says it.",
            "Что нужно каждому из преобразований? Об этом сказано под таблицей в начале урока.",
        ),
        Text(
            "`forward` loses the context; `setup_context` saves for each of the two passes and says which output has no "
            "graph. `jvp` returns one tangent for each output, and None for such a one.",
            "Метод `forward` больше не принимает контекст: `setup_context` сохраняет всё, что понадобится в "
            "обратном проходе и в прямом режиме, и сообщает, у какого выхода нет графа. Метод `jvp` возвращает по касательному вектору на каждый "
            "выход, а для такого выхода — None.",
        ),
        Text.same(
            "generate_vmap_rule = ...\n\ndef setup_context(ctx, inputs, output):\n"
            "    ctx.mark_non_differentiable(output[1])\n    ctx.save_for_backward(*inputs)\n"
            "    ctx.save_for_forward(...)\n\n"
            "def jvp(ctx, dx, dy):\n    x, y = ctx.saved_tensors\n    return ..., None"
        ),
    ],
    why=Why(
        Text(
            "Why must `forward` do without the context here?",
            "Почему `forward` должен обходиться здесь без контекста?",
        ),
        Text(
            "A transform may call `forward` on tensors of its own making and connect the context to others. So computing "
            "is one method, and saving for the derivatives another.",
            "Преобразование может вызвать `forward` для одних тензоров, а контекст связать с другими. Поэтому вычисление — "
            "это один метод, а сохранение для производных — другой.",
        ),
    ),
)
def ratio_function(answer: Any, case: Case) -> dict[str, object]:
    function = answer.Ratio
    require_function(function)
    x, y, dx, dy = case.x, case.y, case.dx, case.dy
    apply = function.apply

    def weighted(x: Tensor, y: Tensor) -> Any:
        return (apply(x, y)[0] * dx).sum()

    with using_answer():
        leaves = [x.clone().requires_grad_(), y.clone().requires_grad_()]
        ratio, share = pair = apply(*leaves)
        _ = call_with_other_numbers(pair, apply, *leaves)
        first: dict[str, object] = {"value": ratio, "share": share, "share has a graph": share.requires_grad}
        first["gradients"] = list(torch.autograd.grad((ratio * dx).sum(), leaves))
        first["torch.func.grad"] = result_or_error(lambda: list(grad(weighted, argnums=(0, 1))(x, y)))
        forward = {
            "jvp": result_or_error(lambda: [list(each) for each in jvp(apply, (x, y), (dx, dy))]),
            "tangent for x": result_or_error(lambda: _one_tangent(apply, x, y, dx, of_x=True)),
            "tangent for y": result_or_error(lambda: _one_tangent(apply, x, y, dy, of_x=False)),
        }
        batches: dict[str, object] = {}
        matrices: dict[str, object] = {}
        if x.dim() == 2:
            batches["vmap"] = result_or_error(lambda: list(vmap(apply)(x, y)))
            batches["vmap, in_dims=(0, None)"] = result_or_error(lambda: list(vmap(apply, (0, None))(x, y[0])))
            batches["vmap, in_dims=1"] = result_or_error(lambda: list(vmap(apply, in_dims=1)(x, y)))
        if x.dim() < 2:
            matrices["jacfwd"] = result_or_error(lambda: list(jacfwd(lambda *xy: apply(*xy)[0], argnums=(0, 1))(x, y)))
            matrices["hessian"] = result_or_error(lambda: [list(r) for r in hessian(weighted, argnums=(0, 1))(x, y)])
            twice = jacrev(jacrev(weighted, argnums=(0, 1)), argnums=(0, 1))
            matrices["jacrev of jacrev"] = result_or_error(lambda: [list(row) for row in twice(x, y)])
    return {"first": first, "batches": batches, "forward_mode": forward, "matrices": matrices}


def _one_tangent(apply: Any, x: Tensor, y: Tensor, tangent: Tensor, *, of_x: bool) -> object:
    """Return the tangent of the ratio where one input alone has a tangent."""
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x if of_x else y, tangent)
        ratio, _ = apply(dual, y) if of_x else apply(x, dual)
        return forward_ad.unpack_dual(ratio).tangent


@ratio_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    two_shares = torch.tensor([[0.5, 0.8, -1.5], [-0.7, 1.4, 0.6]], dtype=torch.float64)  # of y / x: 2/3 and 1/3
    for shape in ((3,), (2, 3), ()):
        x, y = signed(rng, *shape), signed(rng, *shape)
        if x.dim() == 2:
            y = x * two_shares
        yield Case(x=x, y=y, dx=signed(rng, *shape), dy=signed(rng, *shape))
