"""Exercise: a hook that changes its argument in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught, error_kind
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform, with_old_gradient
from autograder.checking.labels import Entries
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import garbage_collected, hooks_on


def _tried(run: Any) -> object:
    """Return what `run()` returns, or the RuntimeError that it raises. Its type is compared."""
    try:
        return run()
    except RuntimeError as error:
        return Caught.of(error, error_kind(error))


def _sum_on_a_leaf(damp: Any, case: Case) -> Tensor | None:
    """Return `.grad` of a leaf with the hook after two passes, where something was in `.grad` before."""
    w = with_old_gradient(case.b.detach().clone().requires_grad_())
    with garbage_collected():
        damp(w, case.factor)
    with using_answer():
        for _ in range(2):
            (w * case.seed).sum().backward()
    return w.grad


def _beside_a_hook(used: Tensor, case: Case) -> object:
    """Return the gradient of a pass that needs `used` alone, or the error.

    Another result of the same operation has the hook: torch calls it with None.
    """
    try:
        return torch.autograd.grad(used, case.b, case.seed.clone(), retain_graph=True)[0]
    except Exception as error:  # any error of the answer's hook, which runs inside the pass
        return Caught.of(error, "")


def _second(damp: Any, case: Case) -> object:
    """Return the second derivative of the sixth power of a number. The gradient of its cube is damped.

    Returns None if the first derivative has no history.
    """
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    cube = x**3
    damp(cube, case.factor)
    (first,) = torch.autograd.grad(cube**2, x, create_graph=True)
    return torch.autograd.grad(first, x)[0] if first.requires_grad else None


_LOSSES = Entries(
    (Text("with `v` passed to `grad`", "если в `grad` передан `v`"), Text("after `sum()`", "после `sum()`")),
    Text("gradients", "градиентов"),
)
_OTHERS = Entries(
    (
        Text("gradient of the other branch", "градиент соседней ветви"),
        Text("the gradient passed to `grad`", "градиент, переданный в `grad`"),
        Text("gradient that an earlier hook has kept", "градиент, сохранённый более ранним хуком"),
        Text("another gradient that an earlier hook has kept", "другой градиент, сохранённый более ранним хуком"),
        Text("`tensor` itself", "сам `tensor`"),
        Text("the result `y`", "результат `y`"),
        Text("`.grad` of a leaf after two passes", "`.grad` листа после двух проходов"),
    ),
    Text("tensors", "тензоров"),
)


@exercise(
    title=Text("A hook that reaches too far", "Хук, который задевает лишнее"),
    kind="find the bug",
    core=True,
    difficulty=2,
    rtol=1e-10,  # a product of numbers in float64 has no larger error
    aspects=[
        aspect(
            "damped",
            0.5,
            en="The gradient that goes on from `tensor` is multiplied by `factor`, whatever the loss is.",
            ru="Градиент, который идёт дальше от тензора `tensor`, умножен на `factor`, какой бы ни была функция "
            "потерь.",
            entries=(_LOSSES,),
        ),
        aspect(
            "others",
            1,
            en="Nothing else changes: no other branch, not the gradient passed to `backward`, not what an earlier hook "
            "has kept or an earlier pass has left in `.grad`.",
            ru="Больше ничего не меняется: ни соседние ветви, ни градиент, переданный в `backward`, ни то, что "
            "сохранил более ранний хук или оставил в `.grad` прежний проход.",
            entries=(_OTHERS,),
        ),
        aspect(
            "second",
            0.5,
            en="With `create_graph=True` the second derivative is damped, too.",
            ru="При `create_graph=True` множитель есть и во второй производной.",
        ),
        aspect(
            "removed",
            0.5,
            en="What comes back is the handle: after `remove()` the gradient is the usual one.",
            ru="Возвращается дескриптор хука: после `remove()` градиент снова обычный.",
            after=(),
        ),
        aspect(
            "nothing_came",
            0.5,
            en="A hook that torch calls with None does no harm: the pass goes on.",
            ru="Если torch вызвал хук с None, проход продолжается.",
        ),
    ],
    hints=[
        Text(
            "In `y = a + b` both branches get the same gradient. The same numbers, or the same tensor?",
            "В сумме `y = a + b` обе ветви получают один и тот же градиент. Одинаковые числа или один и тот же тензор?",
        ),
        Text(
            "A hook has two ways to answer: return None, and the gradient goes on as it is, or return a new tensor.",
            "Хук может ответить двояко: вернуть None, тогда градиент идёт дальше как есть, или вернуть новый тензор.",
        ),
        Text(
            "def hook(grad):\n    return ...  # a new tensor\nreturn tensor.register_hook(hook)",
            "def hook(grad):\n    return ...\nreturn tensor.register_hook(hook)",
        ),
    ],
    why=Why(
        Text(
            "Why may a hook not change the gradient that it gets in place?",
            "Почему хуку нельзя менять полученный градиент на месте?",
        ),
        Text(
            "That tensor need not belong to this path alone: an addition passes the same one to both inputs. The "
            "edit would reach the other path, or the caller's own tensor.",
            "Этот тензор может принадлежать не только этому пути: сложение передаёт обоим входам один и тот же. "
            "Изменение дойдёт и до другого пути, а то и до тензора вызывающего кода.",
        ),
    ),
)
def damp(answer: Any, case: Case) -> dict[str, object]:
    a, b = case.a, case.b
    right = b * 1
    left, aside = torch.stack([a, b]).unbind()  # of one node; backward reaches what was made last first
    kept: list[Tensor] = []
    right.register_hook(kept.append)
    left.register_hook(kept.append)
    seed = case.seed.clone()
    handle = answer.damp(left, case.factor)
    with using_answer():
        y = left + right + aside
        into_a, into_b = torch.autograd.grad(y, (a, b), seed, retain_graph=True)
        expanded = _tried(lambda: torch.autograd.grad(y.sum(), a, retain_graph=True)[0])
        second = _tried(lambda: _second(answer.damp, case))
        nothing_came = _beside_a_hook(aside, case)
        on_left = hooks_on([left])
    removable = callable(getattr(handle, "remove", None))
    if removable:
        with using_answer():
            handle.remove()
            after = _tried(lambda: torch.autograd.grad(y, a, case.seed.clone())[0])
    return {
        "damped": [into_a, expanded],
        "others": [into_b, seed, *kept[:2], left, y, _sum_on_a_leaf(answer.damp, case)],
        "second": second,
        "removed": after if removable else None,
        "nothing_came": nothing_came,
        "hooks on the tensor": on_left,
    }


@damp.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(a=leaf(rng, 3), factor=0.5, b=leaf(rng, 3), seed=signed(rng, 3))
    yield Case(a=leaf(rng, 2, 2), factor=-0.3, b=leaf(rng, 2, 2), seed=uniform(rng, 2, 2))
    yield Case(a=leaf(rng), factor=0.0, b=leaf(rng), seed=uniform(rng))
