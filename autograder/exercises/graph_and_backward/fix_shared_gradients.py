"""Exercise: repair gradients that share memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.checking.labels import Entries
from autograder.checking.observe import using_answer
from autograder.language import Text

_INPUTS = Entries(Text.same("`inputs[{i}]`"), Text("gradients", "градиентов"))


@exercise(
    title=Text("One factor too many", "Лишний множитель"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            1,
            en="Each gradient is multiplied by its own factor, and an input that `y` does not use gets zeros.",
            ru="Каждый градиент умножен на свой множитель, а для входа, от которого `y` не зависит, возвращаются нули.",
            entries=(_INPUTS,),
        ),
        aspect(
            "own",
            1,
            en="No gradient shares memory with `v` or with another one, and none has a graph.",
            ru="У градиентов нет ни графа, ни общей памяти: ни с `v`, ни друг с другом.",
        ),
        aspect(
            "untouched",
            1,
            en="`v` and the `.grad` of the inputs are what they were.",
            ru="Тензор `v` и поля `.grad` входов остались прежними.",
            entries=(_INPUTS,),
        ),
    ],
    hints=[
        Text(
            "For `y = a + b`, what is the gradient with respect to `a`, and what is it with respect to `b`? Are these "
            "two tensors?",
            "Чему для `y = a + b` равен градиент по `a` и чему по `b`? Это два тензора?",
        ),
        Text(
            "Compare with `is`: `torch.autograd.grad(a + b, [a, b], v)` may give you `v` itself, twice. Look for "
            "`materialize_grads`, too.",
            "Сравните с помощью `is`: `torch.autograd.grad(a + b, [a, b], v)` может дважды вернуть сам `v`. "
            "Посмотрите и на `materialize_grads`.",
        ),
        Text.same(
            "gradients = torch.autograd.grad(y, inputs, v, ...)\nreturn [... for gradient, factor in zip(gradients, factors)]"
        ),
    ],
)
def fix_shared_gradients(answer: Any, case: Case) -> dict[str, object]:
    inputs = list(case.inputs)
    gradients = answer.fix_shared_gradients(case.y, case.inputs, case.v, case.factors)
    with using_answer():
        tensors = [g for g in gradients if isinstance(g, Tensor)] if isinstance(gradients, (list, tuple)) else []
        places = {each.untyped_storage().data_ptr() for each in (*tensors, case.v)}
    return {
        "gradients": gradients,
        "own": {
            "shared": len(places) <= len(tensors),
            "requires_grad": any(each.requires_grad for each in tensors),
        },
        "untouched": {"v": case.v, ".grad": [x.grad for x in inputs]},
    }


@fix_shared_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    a, b, c = leaf(rng, 3), leaf(rng, 3), leaf(rng, 2, 2)
    yield Case(y=a + b, inputs=[a, b, c], v=signed(rng, 3), factors=[2.0, -5.0, 3.0])
    a, b, c = leaf(rng, 2, 3), leaf(rng, 4), leaf(rng, 2, 3)
    yield Case(y=(a * c).sin() + a, inputs=[c, b, a], v=signed(rng, 2, 3), factors=[0.5, 7.0, 4.0])
    a, b = leaf(rng, 4), leaf(rng, 4)
    yield Case(y=a + b.exp(), inputs=[a, b], v=signed(rng, 4), factors=[1.0, 0.1])
    a, b = leaf(rng, 3), leaf(rng, 3)  # the gradient of `a` is a view of `v`, not `v` itself
    yield Case(y=a.reshape(3, 1).reshape(3) + b.sin(), inputs=[a, b], v=signed(rng, 3), factors=[3.0, -2.0])
    a, b, c, d = leaf(rng, 3), leaf(rng, 2), leaf(rng, 2), leaf(rng, 2).detach().float().requires_grad_()
    yield Case(y=a.cos(), inputs=[a, b, c, d], v=signed(rng, 3), factors=[2.0, 3.0, 4.0, 5.0])  # three are unused
