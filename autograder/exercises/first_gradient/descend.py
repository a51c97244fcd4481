"""Core exercise: one step of gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import number
from autograder.language import Text


@exercise(
    title=Text("One step of descent", "Один шаг спуска"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=7,
    aspects=[
        aspect(
            "trainable",
            0,
            en="`w` and `b` still have `requires_grad=True` and no history.",
            ru="У `w` и `b` по-прежнему `requires_grad=True` и нет истории.",
        ),
        aspect(
            "weights",
            3,
            en="`w` and `b` themselves hold the values after the step.",
            ru="В самих тензорах `w` и `b` лежат значения после шага.",
        ),
        aspect(
            "cleared",
            1,
            en="`w.grad` and `b.grad` are None or zero, ready for the next step.",
            ru="В `w.grad` и `b.grad` лежит None или нули: можно делать следующий шаг.",
        ),
        aspect(
            "loss",
            1,
            en="The loss that comes back is the one before the step.",
            ru="Возвращается значение функции потерь до шага.",
            after=(),
        ),
    ],
    hints=[
        Text(
            "Which call fills `w.grad`, and in which direction does that gradient point: where the loss grows or where "
            "it falls?",
            "Какой вызов заполняет поле `w.grad` и куда направлен этот градиент: туда, где функция потерь растёт, или "
            "туда, где она убывает?",
        ),
        Text(
            "Four things in order: the loss, `backward()`, the step under `torch.no_grad()`, clearing `.grad`.",
            "Четыре действия по порядку: функция потерь, `backward()`, шаг внутри `torch.no_grad()`, обнуление "
            "`.grad`.",
        ),
        Text(
            "loss = bce(x @ w + b, y)\nloss.backward()\nwith torch.no_grad():\n    w -= ...\n    ...\nreturn loss.item()",
            "loss = bce(x @ w + b, y)\nloss.backward()\nwith torch.no_grad():\n    w -= ...\n    ...\nreturn loss.item()",
        ),
    ],
)
def descend(answer: Any, case: Case) -> dict[str, object]:
    returned = answer.descend(case.w, case.b, case.x, case.y, case.lr)
    both = {"w": case.w, "b": case.b}
    with using_answer():
        return {
            "trainable": all(t.is_leaf and t.requires_grad for t in both.values()),
            "weights": {name: t.detach() for name, t in both.items()},
            "cleared": all(t.grad is None or not t.grad.any() for t in both.values()),
            "loss": number(returned),
            "gradients": {name: t.grad for name, t in both.items()},
        }


@descend.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for rows, columns, lr in ((5, 3, 0.3), (2, 4, 0.07)):
        target = torch.randint(0, 2, (columns,), generator=rng, dtype=torch.float64)
        target[0] = 1  # an answer that takes zeros for the labels is wrong on every seed
        # Small weights keep every sigmoid away from saturation, and a step then changes each entry visibly.
        x, w, b = uniform(rng, rows), leaf(rng, rows, columns), leaf(rng, columns)
        with torch.no_grad():
            w /= 10
        yield Case(w=w, b=b, x=x, y=target, lr=lr)


def _loss(w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(x @ w + b, y)


def _add_gradients(w: Tensor, b: Tensor, factor: float) -> None:
    """Add `factor` times `.grad` to `w` and `b` where it is not None, and then set it to None.

    `factor` is negative for a step of descent.
    """
    with torch.no_grad():
        for t in (w, b):
            if t.grad is not None:
                t += factor * t.grad
                t.grad = None


def _step(w: Tensor, b: Tensor, loss: Tensor, lr: float) -> float:
    """Take one step of descent on `loss`, and return the value of `loss`."""
    loss.backward()  # type: ignore[no-untyped-call]
    _add_gradients(w, b, -lr)
    return loss.item()


@descend.mistake(
    en="The step went uphill: the gradient points where the loss grows, so it has to be subtracted.",
    ru="Шаг сделан в обратную сторону: градиент направлен туда, где функция потерь растёт, поэтому его нужно вычитать.",
)
def ascends(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, _loss(w, b, x, y), -lr)


@descend.mistake(
    en="The step made new tensors, as `w = w - ...` does: a name inside the function moved, but the caller's `w` and "
    "`b` did not. They have to be changed in place.",
    ru="Шаг создал новые тензоры, как это делает `w = w - ...`: имя внутри функции теперь указывает на них, а `w` и `b` "
    "вызывающего кода остались прежними. Их нужно изменить на месте.",
)
def rebinds(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    assert w.grad is not None
    assert b.grad is not None
    with torch.no_grad():
        w = w - lr * w.grad
        b = b - lr * b.grad
    return loss.item()


@descend.mistake(
    en="`w` was changed in place while torch was recording. The step itself is not part of the loss and belongs under "
    "`torch.no_grad()`.",
    ru="Тензор `w` изменён на месте при включённом отслеживании. Сам шаг не входит в функцию потерь, и выполнять его "
    "нужно внутри `torch.no_grad()`.",
)
def steps_while_recording(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    assert w.grad is not None
    assert b.grad is not None
    w -= lr * w.grad
    b -= lr * b.grad
    return loss.item()


@descend.mistake(
    en="No step was made, or it was made in new tensors: `w` and `b` hold their old values.",
    ru="Шага не было, или он сделан в новых тензорах: в `w` и `b` лежат прежние значения.",
)
def makes_no_step(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _loss(w, b, x, y).item()


@descend.mistake(
    en="`.grad` was cleared between `backward()` and the step, so the step was zero.",
    ru="Поле `.grad` обнулено между `backward()` и шагом, поэтому шаг получился нулевым.",
)
def clears_before_the_step(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    for t in (w, b):
        assert t.grad is not None
        t.grad.zero_()
    return loss.item()


@descend.mistake(
    en="`requires_grad` was switched off and not switched on again, so a next step cannot be made.",
    ru="Флаг `requires_grad` выключен и не включён снова, поэтому следующий шаг сделать нельзя.",
)
def freezes_the_weights(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    w.requires_grad = b.requires_grad = False
    _add_gradients(w, b, -lr)
    return loss.item()


@descend.mistake(
    en="A sigmoid was taken before the loss. `bce` here takes the raw outputs and applies the sigmoid itself.",
    ru="Перед функцией потерь взята сигмоида. Функция `bce` здесь принимает логиты, то есть выходы до сигмоиды, и "
    "применяет её сама.",
)
def takes_the_sigmoid_twice(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, binary_cross_entropy_with_logits(torch.sigmoid(x @ w + b), y), lr)


@descend.mistake(
    en="The outputs and the targets changed places in the loss.",
    ru="В функции потерь перепутаны выходы и правильные ответы.",
)
def swaps_the_targets(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, binary_cross_entropy_with_logits(y, x @ w + b), lr)


@descend.mistake(
    en="`.grad` was not cleared: the next `backward()` will add to it.",
    ru="Поле `.grad` не обнулено: при следующем вызове `backward()` новые градиенты прибавятся к старым.",
)
def leaves_the_gradient(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    with torch.no_grad():
        for t in (w, b):
            t -= lr * t.grad  # type: ignore[operator]
    return loss.item()


@descend.mistake(
    en="The step of `b` is missing: only `w` took it.",
    ru="Шаг для `b` не сделан: изменён только `w`.",
)
def forgets_the_bias(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad  # type: ignore[operator]
    w.grad = b.grad = None
    return loss.item()


@descend.mistake(
    en="The gradients were subtracted whole, without the learning rate.",
    ru="Градиенты вычтены целиком, без скорости обучения.",
)
def forgets_the_learning_rate(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, _loss(w, b, x, y), 1.0)


@descend.mistake(
    en="At the step `.grad` is None: either `backward()` was not called before it, or `.grad` was cleared too early.",
    ru="Во время шага в `.grad` лежит None: либо до него не вызван `backward()`, либо `.grad` очищен слишком рано.",
)
def forgets_backward(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    with torch.no_grad():
        w -= lr * w.grad  # type: ignore[operator]
        b -= lr * b.grad  # type: ignore[operator]
    return loss.item()


@descend.mistake(
    en="The losses of the outputs were added up, not averaged: the gradient is too large by a factor of their number.",
    ru="Потери по выходам сложены, а не усреднены: градиент больше нужного во столько раз, сколько выходов.",
)
def sums_the_outputs(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, binary_cross_entropy_with_logits(x @ w + b, y, reduction="sum"), lr)


@descend.mistake(
    en="The loss was computed anew after the step. What is asked for is the loss that `backward()` was called on.",
    ru="Значение функции потерь вычислено заново, после шага. Нужно то, от которого выполнен `backward()`.",
)
def loss_after_the_step(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    _step(w, b, _loss(w, b, x, y), lr)
    return _loss(w, b, x, y).item()


@descend.mistake(
    en="The step is right, but nothing comes back. The loss was to be returned.",
    ru="Шаг верен, но функция ничего не возвращает, а должна вернуть значение функции потерь.",
)
def returns_nothing(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> None:
    _step(w, b, _loss(w, b, x, y), lr)


@descend.mistake(
    en="The step is twice as long as it should be, as when `backward()` or the step itself runs twice.",
    ru="Шаг вдвое длиннее нужного: так бывает, если `backward()` или сам шаг выполнен дважды.",
)
def goes_twice_as_far(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, _loss(w, b, x, y), 2 * lr)


@descend.mistake(
    en="`b` took its step with a gradient computed after the step of `w`. Both gradients belong to the old point.",
    ru="Шаг для `b` сделан по градиенту, вычисленному уже после шага для `w`. Оба градиента нужны в прежней точке.",
)
def steps_one_after_the_other(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    for t in (w, b):
        w.grad = b.grad = None
        _loss(w, b, x, y).backward()
        with torch.no_grad():
            t -= lr * t.grad  # type: ignore[operator]
    w.grad = b.grad = None
    return loss.item()


@descend.mistake(
    en="Only the gradient of `w` was cleared: the next `backward()` will add to `b.grad`.",
    ru="Обнулён только градиент `w`: следующий `backward()` прибавит к тому, что лежит в `b.grad`.",
)
def clears_only_w(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    with torch.no_grad():
        for t in (w, b):
            t -= lr * t.grad  # type: ignore[operator]
    w.grad = None
    return loss.item()


@descend.mistake(
    en="The learning rate is 0.1, as in the example. It has to be the `lr` that is passed in.",
    ru="Скорость обучения равна 0.1, как в примере. Нужно взять `lr`, переданный в функцию.",
)
def takes_the_rate_of_the_example(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, _loss(w, b, x, y), 0.1)


@descend.mistake(
    en="The learning rate is 0.001, as in an optimizer that is not given `lr`. It has to be the `lr` that is passed in.",
    ru="Скорость обучения равна 0.001, как в оптимизаторе, которому не передан `lr`. Нужно взять `lr`, переданный в "
    "функцию.",
)
def takes_the_default_rate(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, _loss(w, b, x, y), 0.001)


@descend.mistake(
    en="The step of `w` is missing: only `b` took it.",
    ru="Шаг для `w` не сделан: изменён только `b`.",
)
def forgets_the_weights(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, _loss(w.detach(), b, x, y), lr)


@descend.mistake(
    en="`b` is missing in the loss: it has to be `bce(x @ w + b, y)`.",
    ru="В функции потерь нет `b`, а должно быть `bce(x @ w + b, y)`.",
)
def leaves_the_bias_out(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, binary_cross_entropy_with_logits(x @ w, y), lr)


@descend.mistake(
    en="The labels in the loss are zeros, as in the example. They have to be `y`.",
    ru="Метки в функции потерь нулевые, как в примере, а нужны `y`.",
)
def takes_zero_labels(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, binary_cross_entropy_with_logits(x @ w + b, 0 * y), lr)


@descend.mistake(
    en="The gradient was divided by 3, as in the formula of the example. The mean divides by the number of outputs.",
    ru="Градиент разделён на 3, как в формуле из примера. Но при усреднении делят на число выходов.",
)
def divides_by_three(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _step(w, b, _loss(w, b, x, y) * len(b) / 3, lr) * 3 / len(b)


@descend.mistake(
    en="The step of `w` is made with the gradient of `b`. The rows of `w.grad` equal it only where every input is 1.",
    ru="Шаг для `w` сделан по градиенту `b`. Строки `w.grad` равны ему только там, где все входы равны 1.",
)
def takes_every_input_for_one(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    (gradient,) = torch.autograd.grad(loss, b)
    with torch.no_grad():
        w -= lr * gradient
        b -= lr * gradient
    return loss.item()


@descend.mistake(
    en="What comes back is not the loss but the outputs `x @ w + b`.",
    ru="Возвращено не значение функции потерь, а выходы `x @ w + b`.",
)
def returns_the_outputs(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> Tensor:
    outputs = x @ w + b
    _step(w, b, binary_cross_entropy_with_logits(outputs, y), lr)
    return outputs


@descend.mistake(
    en="The loss was computed under `no_grad()`, so it has no graph. Only the step belongs there.",
    ru="Функция потерь вычислена внутри `no_grad()`, и графа у неё нет. Там нужно делать только шаг.",
)
def records_nothing(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    with torch.no_grad():
        loss = _loss(w, b, x, y)
        loss.backward()
    return loss.item()


@descend.mistake(
    en="The loss became a Python number before `backward()`. A number has no graph: `item()` comes last.",
    ru="Значение функции потерь стало числом Python ещё до `backward()`. У числа графа нет: `item()` вызывают в конце.",
)
def takes_the_number_first(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss: Any = _loss(w, b, x, y).item()
    loss.backward()
    return float(loss)


@descend.mistake(
    en="`Adam` was used. Its first step does not depend on the size of the gradient; asked for is `lr` times the "
    "gradient, as in `SGD`.",
    ru="Использован `Adam`. Его первый шаг не зависит от величины градиента, а нужен градиент, умноженный на `lr`, как в "
    "`SGD`.",
)
def uses_adam(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    optimizer = torch.optim.Adam([w, b], lr=lr)
    loss = _loss(w, b, x, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()
