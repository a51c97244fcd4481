"""Exercise: repair an update that leaves the weights unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.language import Text

from .common import flags


def _copy_weights(weights: list[Tensor]) -> list[Tensor]:
    """Return copies of the leaves in `weights`, with copies of their gradients."""
    copies = [weight.detach().clone().requires_grad_() for weight in weights]
    for made, weight in zip(copies, weights):
        made.grad = None if weight.grad is None else weight.grad.clone()
    return copies


def _is_another(weight: Tensor, given: Tensor) -> bool:
    """Return whether `weight` has a gradient that is not zero and not that of `given`."""
    return not _is_empty(weight.grad) and not (given.grad is not None and given.grad.equal(weight.grad))  # type: ignore[arg-type]


def _is_empty(gradient: Tensor | None) -> bool:
    """Return whether a `.grad` is None or has only zeros."""
    return gradient is None or not bool(gradient.any())


@exercise(
    title=Text("A step that changes nothing", "Шаг, который ничего не меняет"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "weights",
            2,
            en="The tensors of the list themselves hold the values after the step, in place.",
            ru="В самих тензорах из списка лежат значения после шага: они изменены на месте.",
        ),
        aspect(
            "flags",
            1,
            en="They are still leaves that require grad.",
            ru="Тензоры из списка — по-прежнему листья, которые требуют градиента.",
        ),
        aspect(
            "cleared",
            1,
            en="Their `.grad` is None or zero.",
            ru="В `.grad` каждого тензора из списка лежит None или нули.",
        ),
        aspect(
            "recording",
            0,
            en="After the call operations are recorded if they were before it.",
            ru="После вызова операции записываются, если записывались до него.",
        ),
        aspect(
            "noticed",
            1,
            en="Autograd can notice each change: the `_version` of every tensor that was stepped has grown.",
            ru="Autograd может заметить каждое изменение: счётчик `_version` каждого изменённого тензора вырос.",
            after=("weights", "recording"),
        ),
    ],
    hints=[
        Text(
            "After `w = w - lr * w.grad`, is `w` the tensor that stands in the list?",
            "После `w = w - lr * w.grad` имя `w` указывает на тот тензор, что стоит в списке?",
        ),
        Text(
            "An in-place operation changes the tensor itself. In grad mode a leaf refuses it; where does it not?",
            "Операция с изменением на месте меняет сам тензор. При включённом отслеживании для листа она запрещена; "
            "а когда разрешена?",
        ),
        Text.same("with torch.no_grad():\n    for w in weights:\n        if w.grad is not None:\n            ..."),
    ],
    why=Why(
        Text(
            "Why is a step under `no_grad()` safer than one through `.data`?",
            "Почему шаг внутри `no_grad()` надёжнее, чем через `.data`?",
        ),
        Text(
            "Both change the same memory. But only the first moves the version counter, so a backward pass that "
            "still needs the old weight raises an error instead of giving a wrong gradient.",
            "Оба меняют одну и ту же память. Но только в первом случае растёт счётчик версий, и обратный проход, "
            "которому нужен прежний вес, сообщит об ошибке, а не даст неверный градиент.",
        ),
    ),
)
def update(answer: Any, case: Case) -> dict[str, object]:
    weights = _copy_weights(case.weights)
    names = {f"weights[{place}]": weight for place, weight in enumerate(weights)}
    memory, versions = [w.data_ptr() for w in weights], [w._version for w in weights]
    listed = list(weights)
    returned = answer.update(listed, case.lr)
    recording = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    answer.update(_copy_weights(case.weights), case.lr)
    under_no_grad = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    cleared = {f"{name}.grad is empty": _is_empty(w.grad) for name, w in names.items()}
    grew = {f"{name}._version has grown": w._version > old for (name, w), old in zip(names.items(), versions)}
    return {
        "weights": {name: w.detach() for name, w in names.items()},
        "flags": {key: value for name, w in names.items() for key, value in flags(name, w).items()},
        "cleared": cleared,
        "recording": {"is_grad_enabled()": recording, "is_grad_enabled() under no_grad()": under_no_grad},
        "noticed": {key: yes for (key, yes), given in zip(grew.items(), case.weights) if given.grad is not None},
        "other_gradients": any(map(_is_another, weights, case.weights)),
        "in_list": [(new is w, isinstance(new, Tensor) and new.requires_grad) for new, w in zip(listed, weights)],
        "returned": returned is not None,
        "same_memory": [w.data_ptr() == before for w, before in zip(weights, memory)],
    }


def _random_weights(rng: torch.Generator, *shapes: tuple[int, ...], unused: int | None) -> list[Tensor]:
    """Return random leaves of these shapes, each with a gradient.

    The leaf at the position `unused` has no gradient, like a weight that no loss used.
    """
    weights = [leaf(rng, *shape) for shape in shapes]
    for place, weight in enumerate(weights):
        if place != unused:
            weight.grad = signed(rng, *weight.shape)
    return weights


@update.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(weights=_random_weights(rng, (2, 3), (4,), unused=None), lr=0.1)
    yield Case(weights=_random_weights(rng, (3,), (2, 2), (), (5,), unused=1), lr=0.25)
    yield Case(weights=_random_weights(rng, (2,), (2,), unused=0), lr=0.5)
