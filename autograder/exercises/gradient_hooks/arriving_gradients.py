"""Exercise: read gradients by hooks, and take these off again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, signed, with_old_gradient
from autograder.checking.labels import Entries
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

from .common import hooks_on, quiet_gradients


class _HookError(Exception):
    """The error of a hook that is not the answer's."""


def _fail(_: Tensor) -> None:
    raise _HookError


def _after_an_error(answer: Any, kind: type[Exception]) -> tuple[bool, int]:
    """Return whether an error of `backward` came through `answer`, and how many hooks `answer` has left.

    A RuntimeError comes from torch, because the graph is freed. A `_HookError` comes from a hook.
    """
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    h = w * 2
    loss = (h * h).sum()
    if kind is _HookError:
        h.register_hook(_fail)
    else:
        loss.backward()
    before = hooks_on([h, w])
    try:
        answer.arriving_gradients(loss, [h, w])
        raised = False
    except AnswerRaised as error:
        raised = isinstance(error.__cause__, kind)
        error.__cause__.__traceback__ = None  # type: ignore[union-attr]
    return raised, hooks_on([h, w]) - before


def _beside_a_used_result(answer: Any) -> object:
    """Return the list for two results of one operation, or the error.

    torch calls a hook on the second result with None.
    """
    used, aside = (torch.arange(4, dtype=torch.float64, requires_grad=True) * 2).split(2)
    try:
        found = answer.arriving_gradients((used * used).sum(), [used, aside])
    except AnswerRaised as error:
        return Caught.of(error.__cause__ or error, f"{type(error.__cause__).__name__}: {error.__cause__}")
    return list(found) if isinstance(found, (list, tuple)) else None


def _memory_of(tensors: object) -> set[int]:
    """Return the addresses of the memory of the tensors in a list or tuple, or nothing for another value."""
    found = tensors if isinstance(tensors, (list, tuple)) else []
    return {each.untyped_storage().data_ptr() for each in found if isinstance(each, Tensor)}


def _is_freed(loss: Tensor) -> bool:
    """Return whether another pass raises an error. The graph must have saved tensors."""
    try:
        loss.backward()
    except RuntimeError:
        return True
    return False


@exercise(
    title=Text("Gradients as they arrive", "Пришедшие градиенты"),
    kind="complete",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            1,
            en="The list holds, for each tensor, the gradient that this pass brought to it, or None.",
            ru="В списке для каждого тензора лежит градиент, который пришёл к нему в этом проходе, или None.",
            entries=(Entries(Text.same("`tensors[{i}]`"), Text("gradients", "градиентов")),),
        ),
        aspect(
            "grad_fields",
            0.5,
            en="`.grad` is as after an ordinary `backward()`: leaves have accumulated, the others still have None. No "
            "later pass changes the list.",
            ru="Поля `.grad` такие же, как после обычного `backward()`: у листьев накоплен градиент, у остальных "
            "по-прежнему None. Следующие проходы списка не меняют.",
            after=(),
            entries=(Entries(Text("number {n}", "номер {n}"), Text("tensors", "тензоров")),),
        ),
        aspect(
            "hooks_left",
            1,
            en="No hook of yours stays, even if `backward()` raises; its error goes on to the caller. The graph is freed.",
            ru="Ни одного вашего хука не остаётся, даже если `backward()` завершился ошибкой; сама ошибка доходит до "
            "вызывающего кода. Сохранённое в графе освобождено.",
        ),
        aspect(
            "nothing_came",
            0.5,
            en="A hook that torch calls with None does no harm: there is None in the list.",
            ru="Если torch вызвал хук с None, проход продолжается, а в списке стоит None.",
            entries=(Entries(Text.same("`tensors[{i}]`"), Text("gradients", "градиентов")),),
        ),
    ],
    hints=[
        Text(
            "A hook gets the gradient as its argument. Where can it put it so that your function finds it later?",
            "Хук получает градиент аргументом. Куда его положить, чтобы ваша функция потом его нашла?",
        ),
        Text(
            "Several hooks in a loop: each one needs its own position. And `try: ... finally: ...` runs in any case.",
            "Хуки ставятся в цикле, и каждому нужна своя позиция. А `try: ... finally: ...` сработает в любом случае.",
        ),
        Text(
            "found = [None] * len(tensors)\nhandles = [...]  # one hook for each position\n"
            "try:\n    loss.backward()\nfinally:\n    ...  # every handle",
            "found = [None] * len(tensors)\nhandles = [...]\ntry:\n    loss.backward()\nfinally:\n    ...",
        ),
    ],
    why=Why(
        Text(
            "Why must the hooks come off even when `backward()` raises?",
            "Почему хуки нужно снять, даже если `backward()` завершился ошибкой?",
        ),
        Text(
            "A hook on a leaf lives as long as the leaf, and with it everything its function refers to. Left "
            "there, it would write into this list in every later pass.",
            "Хук листа живёт столько же, сколько сам лист, а с ним и всё, на что ссылается его функция. Если его "
            "оставить, он будет писать в этот список при каждом следующем проходе.",
        ),
    ),
)
def arriving_gradients(answer: Any, case: Case) -> dict[str, object]:
    before = hooks_on(case.tensors)
    found = answer.arriving_gradients(case.loss, case.tensors)
    alone = _memory_of(found).isdisjoint(_memory_of([leaf.grad for leaf in case.leaves]))
    with using_answer():
        fields = {
            ".grad of the tensors": quiet_gradients(case.tensors),
            ".grad of the leaves": quiet_gradients(case.leaves),
        }
        left = hooks_on(case.tensors) - before
        retained = any(tensor.retains_grad for tensor in case.tensors if not tensor.is_leaf)
        freed = _is_freed(case.loss)
    from_torch, from_a_hook = (_after_an_error(answer, kind) for kind in (RuntimeError, _HookError))
    return {
        "gradients": "dict" if isinstance(found, dict) else list(found) if isinstance(found, tuple) else found,
        "grad_fields": {**fields, "retain_grad() stays on": retained, "shares memory with the list": not alone},
        "hooks_left": {
            "hooks": left,
            "error passed on": from_torch[0],
            "hooks after an error": from_torch[1],
            "error of a hook passed on": from_a_hook[0],
            "hooks after an error of a hook": from_a_hook[1],
            "graph freed": freed,
        },
        "nothing_came": _beside_a_used_result(answer),
    }


@arriving_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    w, v = with_old_gradient(leaf(rng, 3)), leaf(rng, 3)
    aside, h = torch.stack([v.sin(), w * v]).unbind()  # two results of one node
    y = h * signed(rng, 3) + h.exp() + aside
    yield Case(loss=y.sum(), tensors=[h, y], leaves=[w, v])
    w, aside, zero, other = (with_old_gradient(leaf(rng, 2)) for _ in range(4))
    h, unused = w * 3, w * 5
    unused.register_hook(lambda grad: grad * 7)
    h.register_hook(lambda grad: grad * 7)  # somebody else's, which stays
    loss = (h * h * signed(rng, 2) + 0 * zero + other.sin()).sum()
    yield Case(loss=loss, tensors=[w, unused, h, aside, zero], leaves=[w, aside, zero, other])
    w = leaf(rng, 4)
    h = w[:2]  # it begins where `w` does in memory
    yield Case(loss=(h * h).sum(), tensors=[h, w], leaves=[w])
    w, other = leaf(rng, 2), leaf(rng, 2)
    yield Case(loss=other.sin().sum(), tensors=[w, w * 3], leaves=[w, other])  # nothing comes to any of them
