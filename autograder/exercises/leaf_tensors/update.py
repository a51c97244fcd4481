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
    minutes=8,
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
            ru="Они по-прежнему листья, которые требуют градиента.",
        ),
        aspect(
            "cleared",
            1,
            en="Their `.grad` is None or zero.",
            ru="В их `.grad` лежит None или нули.",
        ),
        aspect(
            "recording",
            0,
            en="After the call operations are recorded again.",
            ru="После вызова операции снова записываются.",
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
    recording = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    cleared = {f"{name}.grad is empty": _is_empty(w.grad) for name, w in names.items()}
    grew = {f"{name}._version has grown": w._version > old for (name, w), old in zip(names.items(), versions)}
    return {
        "weights": {name: w.detach() for name, w in names.items()},
        "flags": {key: value for name, w in names.items() for key, value in flags(name, w).items()},
        "cleared": cleared,
        "recording": recording,
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
    yield Case(weights=_random_weights(rng, (3,), (2, 2), (1,), (5,), unused=1), lr=0.25)
    yield Case(weights=_random_weights(rng, (2,), (2,), unused=0), lr=0.5)


def _with_gradients(weights: list[Tensor]) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield position, weight and gradient of each weight that has a gradient."""
    for place, weight in enumerate(weights):
        if weight.grad is not None:
            yield place, weight, weight.grad


@update.mistake(
    en="Of the tensors in the list only `.grad` has changed. The step has to change the tensors themselves, while the "
    "gradients are still there.",
    ru="У тензоров из списка изменилось только поле `.grad`. На шаге должны измениться сами тензоры, пока градиенты ещё "
    "на месте.",
)
def only_clears(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w.grad = None
        w = w - lr * gradient


@update.mistake(
    en="The step still makes new tensors and binds a name to them, under `no_grad()` or not. The list holds the old "
    "ones, which have not changed.",
    ru="На шаге по-прежнему создаются новые тензоры и связываются с именем, внутри `no_grad()` или нет. В списке стоят "
    "старые, и они не изменились.",
)
def rebinds_the_name(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w = w - lr * gradient


@update.mistake(
    en="`.grad` is set to None before the step, and no gradient is left for it.",
    ru="Полю `.grad` присвоено None ещё до шага, и градиента для шага не остаётся.",
)
def drops_them_first(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, _ in _with_gradients(weights):
            w.grad = None
            w -= lr * w.grad  # type: ignore[operator]


@update.mistake(
    en="The loop ends at the first weight without a gradient. The weights after it need their step too.",
    ru="Цикл заканчивается на первом весе без градиента, а шаг нужен и весам после него.",
)
def stops_at_the_first_gap(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for w in weights:
            if w.grad is None:
                break
            w -= lr * w.grad
            w.grad = None


@update.mistake(
    en="The step is the gradient itself: `lr` is not in it.",
    ru="Шаг равен самому градиенту: множителя `lr` в нём нет.",
)
def leaves_out_the_rate(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= gradient
            w.grad = None


@update.mistake(
    en="The learning rate is 0.1 whatever `lr` says.",
    ru="Скорость обучения всегда равна 0.1, чему бы ни был равен `lr`.",
)
def writes_the_rate(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= 0.1 * gradient
            w.grad = None


@update.mistake(
    en="Each weight was stepped twice.",
    ru="Для каждого веса шаг сделан дважды.",
)
def steps_twice(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= 2 * lr * gradient
            w.grad = None


@update.mistake(
    en="New tensors were put into the list. Whatever holds the weights, a model or an optimizer, still holds the old "
    "ones.",
    ru="В список записаны новые тензоры. Там, где хранятся веса, в модели или оптимизаторе, остались старые.",
)
def replaces_in_the_list(weights: list[Tensor], lr: float) -> None:
    for place, w, gradient in _with_gradients(weights):
        weights[place] = w - lr * gradient


@update.mistake(
    en="New tensors, made under `no_grad()`, were put into the list. They do not require grad, so the next loss would "
    "have no graph.",
    ru="В список записаны новые тензоры, созданные внутри `no_grad()`. Градиента они не требуют, поэтому у следующей "
    "функции потерь не будет графа.",
)
def replaces_with_constants(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for place, w, gradient in _with_gradients(weights):
            weights[place] = w - lr * gradient


@update.mistake(
    en="The new weights were returned. They are not used: the tensors in the list are what a model holds.",
    ru="Функция возвращает новые веса. Они никуда не попадут: в модели хранятся именно те тензоры, что стоят в списке.",
)
def returns_new_weights(weights: list[Tensor], lr: float) -> list[Tensor]:
    return [w if w.grad is None else w - lr * w.grad for w in weights]


@update.mistake(
    en="A leaf is changed in place while recording is on. Autograd refuses that: the change would be recorded, and the "
    "leaf would no longer be one.",
    ru="Лист меняется на месте при включённом отслеживании. Autograd это запрещает: изменение было бы записано, и лист "
    "перестал бы быть листом.",
)
def steps_in_grad_mode(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w -= lr * gradient


@update.mistake(
    en="You expected every weight to have a gradient. A weight that no loss used has None in `.grad`.",
    ru="Не учтено, что градиент есть не у каждого веса. Если функция потерь от веса не зависела, в его `.grad` лежит "
    "None.",
)
def expects_every_gradient(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for w in weights:
            w -= lr * w.grad  # type: ignore[operator]


@update.mistake(
    en="The gradients are cleared before the step, and nothing is left for it to use.",
    ru="Градиенты обнуляются до шага, и для шага ничего не остаётся.",
)
def clears_first(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            gradient.zero_()
            w -= lr * gradient


@update.mistake(
    en="The gradient is added, not subtracted: the step goes uphill.",
    ru="Градиент прибавляется, а не вычитается: шаг идёт в сторону роста функции потерь.",
)
def ascends(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w += lr * gradient
            w.grad = None


@update.mistake(
    en="`requires_grad` was switched off for the step and not switched on again.",
    ru="Флаг `requires_grad` выключен на время шага и не включён снова.",
)
def leaves_them_frozen(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w.requires_grad_(False)
        w -= lr * gradient
        w.grad = None


@update.mistake(
    en="The gradients stay in `.grad`. The next `backward()` adds to them.",
    ru="Градиенты остались в `.grad`. При следующем вызове `backward()` к ним прибавятся новые.",
)
def forgets_to_clear(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= lr * gradient


@update.mistake(
    en="The step goes through `.data` or NumPy. The values are right, but the version counter did not move: autograd "
    "would not notice that a graph still needs the old values.",
    ru="Шаг сделан через `.data` или NumPy. Значения верны, но счётчик версий не изменился: если графу ещё нужны "
    "прежние значения, autograd ничего не заметит.",
)
def steps_through_data(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w.data -= lr * gradient
        w.grad = None


@update.mistake(
    en="The weight was given other memory, for example by `w.data = ...`. The values are right, but the version "
    "counter did not move.",
    ru="Весу присвоена другая память, например строкой `w.data = ...`. Значения верны, но счётчик версий не изменился.",
)
def assigns_data(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        w.data = w.data - lr * gradient
        w.grad = None


@update.mistake(
    en="The gradients that exist are put into a list, and weights and gradients are paired by position. After a weight "
    "without a gradient each gradient meets the wrong weight.",
    ru="Имеющиеся градиенты собраны в список, и веса сопоставлены с ними по порядку. После веса без градиента каждый "
    "градиент достаётся не своему весу.",
)
def pairs_by_position(weights: list[Tensor], lr: float) -> None:
    gradients = [w.grad for w in weights if w.grad is not None]
    with torch.no_grad():
        for w, gradient in zip(weights, gradients):
            if w.shape == gradient.shape:
                w -= lr * gradient
    for w in weights:
        w.grad = None


@update.mistake(*update.mistakes["pairs_by_position"].says)
def pairs_by_position_whatever_the_shape(weights: list[Tensor], lr: float) -> None:
    gradients = [w.grad for w in weights if w.grad is not None]
    with torch.no_grad():
        for w, gradient in zip(weights, gradients):
            w -= lr * gradient
            w.grad = None


@update.mistake(
    en="Recording was switched off by `torch.set_grad_enabled(False)` and not switched on again: the caller's next "
    "forward pass leaves no graph.",
    ru="Отслеживание выключено вызовом `torch.set_grad_enabled(False)` и не включено снова: следующий прямой проход в "
    "вызывающем коде не оставит графа.",
)
def leaves_recording_off(weights: list[Tensor], lr: float) -> None:
    torch.set_grad_enabled(False)
    for _, w, gradient in _with_gradients(weights):
        w -= lr * gradient
        w.grad = None


@update.mistake(
    en="The step is multiplied by `lr` twice.",
    ru="Шаг умножен на `lr` дважды.",
)
def applies_the_rate_twice(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= lr * lr * gradient
            w.grad = None


@update.mistake(
    en="The loop ends after the first step: `return` or `break` stands inside it.",
    ru="Цикл заканчивается после первого шага: внутри него стоит `return` или `break`.",
)
def leaves_the_loop(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= lr * gradient
            w.grad = None
            return


@update.mistake(
    en="`if w.grad:` asks whether a tensor is true, and a tensor of several numbers is neither. Compare with None: "
    "`is not None`.",
    ru="Условие `if w.grad:` спрашивает, истинен ли тензор, а для тензора из нескольких чисел ответа нет. Сравнивайте с "
    "None: `is not None`.",
)
def asks_for_truth(weights: list[Tensor], lr: float) -> None:
    for w in weights:
        if w.grad:
            w.grad = None


@update.mistake(
    en="Only the last weight's `.grad` was cleared: the line stands after the loop.",
    ru="Обнулён только `.grad` последнего веса: строка стоит после цикла.",
)
def clears_the_last(weights: list[Tensor], lr: float) -> None:
    forgets_to_clear(weights, lr)
    weights[-1].grad = None


@update.mistake(
    en="`.grad` is zeroed for every weight. A weight that no loss used has None there, and None has no `zero_()`.",
    ru="Поле `.grad` обнуляется у каждого веса. Но если функция потерь от веса не зависела, там лежит None, а у None нет "
    "`zero_()`.",
)
def zeroes_every_gradient(weights: list[Tensor], lr: float) -> None:
    forgets_to_clear(weights, lr)
    for w in weights:
        w.grad.zero_()  # type: ignore[union-attr]


@update.mistake(
    en="The step is not that of gradient descent: `Adam` divides the gradient by its size. `SGD` makes the step that is "
    "asked for.",
    ru="Это не шаг градиентного спуска: `Adam` делит градиент на его величину. Нужный шаг делает `SGD`.",
)
def uses_adam(weights: list[Tensor], lr: float) -> None:
    optimizer = torch.optim.Adam(weights, lr=lr)
    optimizer.step()
    optimizer.zero_grad()


@update.mistake(
    en="The step was made on `.grad` itself, and the tensors in the list keep their old values.",
    ru="Шаг сделан на самом `.grad`, а в тензорах из списка лежат прежние значения.",
)
def steps_the_gradient(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in _with_gradients(weights):
        gradient -= lr * w.detach()
