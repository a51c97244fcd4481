"""Core exercise: a Function with two inputs and two outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import require_function, result_or_error


@exercise(
    title=Text("A derivative forward", "Производная в прямом режиме"),
    kind="complete",
    asks="Ratio",
    asks_for="class",
    core=True,
    difficulty=3,
    minutes=16,
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
            2,
            en="Forward mode is right, with tangents for both inputs and for one alone; the tangent of the share is 0.",
            ru="Прямой режим верен с касательными для обоих входов и только для одного; у доли касательная равна 0.",
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
            "How does $x / y$ move if $x$ moves by $dx$ and $y$ by $dy$ at the same time? How many tangents does that give?",
            "Как изменится $x / y$, если $x$ сдвинется на $dx$, а $y$ одновременно на $dy$? Сколько касательных при этом "
            "получится?",
        ),
        Text(
            "`jvp(ctx, dx, dy)` returns one tangent for each output, and None for one that is not differentiable. What it "
            "reads is saved by `ctx.save_for_forward`.",
            "`jvp(ctx, dx, dy)` возвращает по касательной на каждый выход, а для недифференцируемого — None. То, что он "
            "читает, сохраняет `ctx.save_for_forward`.",
        ),
        Text.same(
            "def setup_context(ctx, inputs, output):\n    ctx.mark_non_differentiable(output[1])\n"
            "    ctx.save_for_backward(*inputs)\n    ctx.save_for_forward(...)\n\n"
            "def jvp(ctx, dx, dy):\n    x, y = ctx.saved_tensors\n    return dx / y - ..., None"
        ),
    ],
    why=Why(
        Text(
            "Why does `backward` return two values, and `jvp` one number per output?",
            "Почему `backward` возвращает значение на каждый вход, а `jvp` — на каждый выход?",
        ),
        Text(
            "`backward` sends one gradient apart to the inputs. `jvp` brings the movements of all inputs together: an "
            "output moves by their sum.",
            "`backward` разводит один градиент по входам. А `jvp` сводит сдвиги всех входов вместе: выход сдвигается на "
            "их сумму.",
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
        ratio, share = apply(*leaves)
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
