"""Core exercise: repair an update that leaves the weights unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.language import Text

from .common import flags


def _copy_weights(weights: list[Tensor]) -> list[Tensor]:
    """Return copies of the leaves in `weights`, with copies of their gradients."""
    copies = [weight.detach().clone().requires_grad_() for weight in weights]
    for made, weight in zip(copies, weights):
        made.grad = None if weight.grad is None else weight.grad.clone()
    return copies


def _is_empty(gradient: Tensor | None) -> bool:
    """Return whether a `.grad` is None or has only zeros."""
    return gradient is None or not bool(gradient.any())


@exercise(
    title=Text("Find the bug: a step that changes nothing", "Найдите ошибку: шаг, который ничего не меняет"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "weights",
            2,
            en="The tensors of the list themselves hold the values after the step, in place.",
            ru="Сами тензоры из списка содержат значения после шага: они изменены на месте.",
        ),
        aspect(
            "flags",
            1,
            en="They are still leaves that require grad.",
            ru="Они по-прежнему листья, которые требуют градиента.",
        ),
        aspect(
            "cleared",
            1,
            en="Their `.grad` is None or zero.",
            ru="Их `.grad` равен None или нулю.",
        ),
        aspect(
            "noticed",
            1,
            en="Autograd can notice each change: the `_version` of every tensor that was stepped has grown.",
            ru="Autograd может заметить каждое изменение: `_version` каждого изменённого тензора вырос.",
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
        Text(
            "with torch.no_grad():\n    for w in weights:\n        if w.grad is not None:\n            ...",
            "with torch.no_grad():\n    for w in weights:\n        if w.grad is not None:\n            ...",
        ),
    ],
)
def update(answer: Any, case: Case) -> dict[str, object]:
    weights = _copy_weights(case.weights)
    names = {f"weights[{place}]": weight for place, weight in enumerate(weights)}
    memory, versions = [w.data_ptr() for w in weights], [w._version for w in weights]
    listed = list(weights)
    returned = answer.update(listed, case.lr)
    cleared = {f"{name}.grad": "None or zero" if _is_empty(w.grad) else w.grad for name, w in names.items()}
    grew = {f"{name}._version has grown": w._version > old for (name, w), old in zip(names.items(), versions)}
    return {
        "weights": {name: w.detach() for name, w in names.items()},
        "flags": {key: value for name, w in names.items() for key, value in flags(name, w).items()},
        "cleared": cleared,
        "noticed": {key: yes for (key, yes), given in zip(grew.items(), case.weights) if given.grad is not None},
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
    yield Case(weights=_random_weights(rng, (3,), (2, 2), (1,), (5,), unused=1), lr=0.25)
    yield Case(weights=_random_weights(rng, (2,), (3, 1), unused=0), lr=0.5)


def _with_gradients(weights: list[Tensor]) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield position, weight and gradient of each weight that has a gradient."""
    for place, weight in enumerate(weights):
        if weight.grad is not None:
            yield place, weight, weight.grad


@update.mistake(
    en="It looks as if only `.grad` has changed. Either it was cleared before the step could use it, or the step made new "
    "tensors and bound a name to them; those in the list are others.",
    ru="Похоже, что изменился только `.grad`. Либо он обнулён до того, как шаг его использовал, либо шаг создал "
    "новые тензоры и связал с ними имя, а в списке остались прежние.",
)
def only_clears(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w.grad = None
        w = w - lr * gradient


@update.mistake(
    en="It looks as if the step still makes new tensors and binds a name to them, under `no_grad()` or not. The tensors in "
    "the list are the old ones, and nothing has happened to them.",
    ru="Похоже, что шаг по-прежнему создаёт новые тензоры и связывает с ними имя, внутри `no_grad()` или нет. В списке "
    "стоят старые, и с ними ничего не произошло.",
)
def rebinds_the_name(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w = w - lr * gradient


@update.mistake(
    en="It looks as if `.grad` is set to None before the step, which then has nothing to use.",
    ru="Похоже, что `.grad` становится None ещё до шага, и градиента для шага не остаётся.",
)
def drops_them_first(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, _ in _with_gradients(weights):
            w.grad = None
            w -= lr * w.grad  # type: ignore[operator]


@update.mistake(
    en="It looks as if the loop ends at the first weight without a gradient. Those after it wait for their step, too.",
    ru="Похоже, что цикл кончается на первом весе без градиента. Весам после него тоже нужен шаг.",
)
def stops_at_the_first_gap(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for w in weights:
            if w.grad is None:
                break
            w -= lr * w.grad
            w.grad = None


@update.mistake(
    en="It looks as if the step is the gradient itself: `lr` is not in it.",
    ru="Похоже, что шаг равен самому градиенту: `lr` в нём нет.",
)
def leaves_out_the_rate(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= gradient
            w.grad = None


@update.mistake(
    en="It looks as if the learning rate is 0.1 whatever `lr` says.",
    ru="Похоже, что скорость обучения всегда 0.1, чему бы ни был равен `lr`.",
)
def writes_the_rate(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= 0.1 * gradient
            w.grad = None


@update.mistake(
    en="It looks as if each weight was stepped twice.",
    ru="Похоже, что для каждого веса шаг сделан дважды.",
)
def steps_twice(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= 2 * lr * gradient
            w.grad = None


@update.mistake(
    en="It looks as if new tensors were put into the list. Whoever holds the weights, a model or an optimizer, still "
    "holds the old ones.",
    ru="Похоже, что в список положены новые тензоры. Модель и оптимизатор по-прежнему хранят старые.",
)
def replaces_in_the_list(weights: list[Tensor], lr: float) -> None:
    for place, w, gradient in _with_gradients(weights):
        weights[place] = w - lr * gradient


@update.mistake(
    en="It looks as if new tensors, made under `no_grad()`, were put into the list. They do not require grad: the next "
    "loss would have no graph.",
    ru="Похоже, что в список положены новые тензоры, созданные внутри `no_grad()`. Градиента они не требуют: у следующей "
    "функции потерь не будет графа.",
)
def replaces_with_constants(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for place, w, gradient in _with_gradients(weights):
            weights[place] = w - lr * gradient


@update.mistake(
    en="It looks as if the new weights are returned. Nobody takes them: the tensors in the list are what a model holds.",
    ru="Похоже, что функция возвращает новые веса. Их никто не возьмёт: модель хранит именно те тензоры, что стоят в "
    "списке.",
)
def returns_new_weights(weights: list[Tensor], lr: float) -> list[Tensor]:
    return [w if w.grad is None else w - lr * w.grad for w in weights]


@update.mistake(
    en="It looks as if a leaf is changed in place in grad mode. Autograd refuses that: the change would be recorded, and "
    "the leaf would no longer be one.",
    ru="Похоже, что лист меняется на месте при включённом отслеживании. Autograd это запрещает: изменение было бы "
    "записано, и лист перестал бы быть листом.",
)
def steps_in_grad_mode(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w -= lr * gradient


@update.mistake(
    en="It looks as if every weight was expected to have a gradient. One that no loss used has None in `.grad`.",
    ru="Похоже, вы считаете, что градиент есть у каждого веса. На самом деле у веса, от которого функция потерь не "
    "зависела, в `.grad` лежит None.",
)
def expects_every_gradient(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for w in weights:
            w -= lr * w.grad  # type: ignore[operator]


@update.mistake(
    en="It looks as if the gradients are cleared before the step, which then has nothing to use.",
    ru="Похоже, что градиенты обнуляются до шага, и для шага ничего не остаётся.",
)
def clears_first(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            gradient.zero_()
            w -= lr * gradient


@update.mistake(
    en="It looks as if the step goes up the slope: the gradient is added.",
    ru="Похоже, что шаг идёт вверх: градиент прибавляется, а не вычитается.",
)
def ascends(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w += lr * gradient
            w.grad = None


@update.mistake(
    en="It looks as if `requires_grad` was switched off for the step and not on again.",
    ru="Похоже, что `requires_grad` выключен на время шага, а потом не включён снова.",
)
def leaves_them_frozen(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w.requires_grad_(False)
        w -= lr * gradient
        w.grad = None


@update.mistake(
    en="It looks as if the gradients stay in `.grad`. The next `backward()` adds to them.",
    ru="Похоже, что градиенты остались в `.grad`. Следующий `backward()` прибавит к ним новые.",
)
def forgets_to_clear(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= lr * gradient


@update.mistake(
    en="It looks as if the step goes through `.data` or NumPy. The values are right, but the version counter did not move: "
    "a graph that still needs the old values would not notice.",
    ru="Похоже, что шаг сделан через `.data` или NumPy. Значения верны, но счётчик версий не изменился: граф, которому ещё нужны "
    "прежние значения, ничего не заметит.",
)
def steps_through_data(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w.data -= lr * gradient
        w.grad = None


@update.mistake(
    en="It looks as if the weight was given other memory, say by `w.data = ...`. The values are right, but the version "
    "counter did not move.",
    ru="Похоже, что весу дали другую память, например строкой `w.data = ...`. Значения верны, но счётчик версий не "
    "изменился.",
)
def assigns_data(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w.data = w.data - lr * gradient
        w.grad = None
