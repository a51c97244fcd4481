"""Exercises of lesson 00, a first gradient: what `.grad` holds, a derivative checked by differences, one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from autograder.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.inputs import Formula, leaf, uniform
from autograder.language import Text
from autograder.observation import entries
from autograder.probe import using_answer

Function = Callable[[Tensor], Tensor]

# ------------------------------------------------------------------------------ core: a derivative without autograd


@exercise(
    title=Text("A derivative from two values", "Производная по двум значениям"),
    kind="complete",
    core=True,
    minutes=6,
    aspects=[
        aspect(
            "slope",
            4,
            en="It is the central difference: the change of `f` from `x - h` to `x + h`, divided by the way between them.",
            ru="Это центральная разность: изменение `f` от `x - h` до `x + h`, делённое на расстояние между ними.",
        ),
    ],
    hints=[
        Text(
            "How far apart are the two places where you look at `f`?",
            "На каком расстоянии друг от друга две точки, в которых вы вычисляете `f`?",
        ),
        Text(
            "Rise over run: the rise is `f(x + h) - f(x - h)`, the run is the distance from `x - h` to `x + h`.",
            "Приращение функции надо разделить на приращение аргумента: первое — `f(x + h) - f(x - h)`, второе — "
            "расстояние от `x - h` до `x + h`.",
        ),
        Text("rise = f(x + h) - f(x - h)\nreturn rise / ...", "rise = f(x + h) - f(x - h)\nreturn rise / ..."),
    ],
)
def numerical_slope(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        return {"slope": float(answer.numerical_slope(case.f, case.x, case.h))}


def _wave(a: float, b: float) -> Formula:
    return Formula(
        f"{a:.2f} * x**3 + {b:.2f} * torch.sin(x)", lambda x: round(a, 2) * x**3 + round(b, 2) * torch.sin(x)
    )


@numerical_slope.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for h in (0.5, 0.01):
        a, b = uniform(rng, 2).tolist()
        yield Case(f=_wave(a, b), x=uniform(rng), h=h)


@numerical_slope.mistake(
    en="It looks as if the change was divided by `h`. From `x - h` to `x + h` it is twice as far.",
    ru="Похоже, что изменение разделено на `h`. От `x - h` до `x + h` вдвое дальше.",
)
def divides_by_h(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x - h)) / h


@numerical_slope.mistake(
    en="It looks as if it says `/ 2 * h`, which divides by 2 and then multiplies by `h`. The product needs brackets.",
    ru="Похоже, что написано `/ 2 * h`: это деление на 2, а потом умножение на `h`. Произведению нужны скобки.",
)
def forgets_the_brackets(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x - h)) / 2 * h


@numerical_slope.mistake(
    en="It looks as if one of the two places is `x` itself. That is the forward difference; its error is of order h "
    "and not h².",
    ru="Похоже, что одна из двух точек — сам `x`. Это правая разность: её погрешность порядка h, а не h².",
)
def forward_difference(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x)) / h


@numerical_slope.mistake(
    en="It looks as if one of the two places is `x` itself. That is the backward difference; its error is of order h "
    "and not h².",
    ru="Похоже, что одна из двух точек — сам `x`. Это левая разность: её погрешность порядка h, а не h².",
)
def backward_difference(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x) - f(x - h)) / h


@numerical_slope.mistake(
    en="It looks as if the change of `f` was not divided by anything.",
    ru="Похоже, что изменение `f` ни на что не разделено.",
)
def forgets_to_divide(f: Function, x: Tensor, h: float) -> Tensor:
    return f(x + h) - f(x - h)


@numerical_slope.mistake(
    en="It looks as if the two values were subtracted the wrong way round: the sign is wrong.",
    ru="Похоже, что значения вычтены в обратном порядке: знак неверен.",
)
def subtracts_backwards(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x - h) - f(x + h)) / (2 * h)


@numerical_slope.mistake(
    en="It looks as if autograd computed this. The point here is a number that does not come from it.",
    ru="Похоже, что это вычислил autograd. Здесь нужно число, которое получено без него.",
)
def asks_autograd(f: Function, x: Tensor, h: float) -> Tensor:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(f(x), x)[0]


# --------------------------------------------------------------------------------- core: .grad is of what, by what?


@exercise(
    title=Text("Whose derivative is in `.grad`", "Чья производная лежит в `.grad`"),
    kind="predict",
    core=True,
    minutes=5,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`backward()` was called on `out`. Which derivative is it, then: of what, by what?",
            "`backward()` вызван у `out`. Чья это производная и по чему?",
        ),
        Text(
            "Begin at the end: out changes as much as out does. Then z: out is the mean of its four entries. Then y.",
            "Начните с конца: out меняется так же, как out. Затем z: out — среднее четырёх его элементов. Затем y.",
        ),
        Text(
            "One entry of y contributes 3y²/4 to out, so its derivative is 6y/4, and every y is 3.",
            "Один элемент y вносит в out вклад 3y²/4, поэтому производная равна 6y/4, а каждый y равен 3.",
        ),
    ],
)
def predict_chain(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_chain)}


@predict_chain.mistake(
    en="It looks as if `.grad` held the derivative of the next line only: dz/dy, d(out)/dz. It holds the derivative of "
    "`out`, on which `backward()` was called.",
    ru="Похоже, что вы искали в `.grad` производную одной строки: dz/dy, d(out)/dz. Там производная от `out`, у которого "
    "вызван `backward()`.",
)
def local_derivatives() -> dict[str, object]:
    return {"y.grad": 18.0, "out.grad": 0.25}


@predict_chain.mistake(
    en="It looks as if `y.grad` was taken as dy/dx, which is 1. It is the derivative of `out` by `y`.",
    ru="Похоже, что `y.grad` понят как dy/dx, то есть 1. Это производная `out` по `y`.",
)
def derivative_of_y_by_x() -> dict[str, object]:
    return {"y.grad": 1.0}


@predict_chain.mistake(
    en="It looks as if the mean was divided by the number of rows, 2. A mean over a matrix divides by the number of its "
    "entries, 4.",
    ru="Похоже, что среднее разделено на число строк, 2. Среднее по матрице делит на число её элементов, 4.",
)
def mean_over_rows() -> dict[str, object]:
    return {"z.grad": 0.5}


@predict_chain.mistake(
    en="It looks as if the mean was forgotten: `x.grad` is as if `out` was a sum.",
    ru="Похоже, что забыто среднее: `x.grad` такой, как если бы `out` был суммой.",
)
def forgets_the_mean() -> dict[str, object]:
    return {"x.grad": 18.0}


@predict_chain.mistake(
    en="It looks as if `out.grad` was expected to be empty. `retain_grad()` keeps it, and the derivative of `out` by "
    "itself is 1.",
    ru="Похоже, что `out.grad` ожидался пустым. `retain_grad()` сохраняет его, а производная `out` по самому себе равна 1.",
)
def nothing_at_the_root() -> dict[str, object]:
    return {"out.grad": None}


# -------------------------------------------------------------------------------------------- core: one step downhill


@exercise(
    title=Text("One step of descent", "Один шаг спуска"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=7,
    aspects=[
        aspect(
            "weights",
            3,
            en="`w` and `b` themselves hold the values after the step.",
            ru="Сами `w` и `b` содержат значения после шага.",
        ),
        aspect(
            "trainable",
            0,
            en="`w` and `b` are still leaves with `requires_grad=True`.",
            ru="`w` и `b` по-прежнему листовые тензоры с `requires_grad=True`.",
        ),
        aspect(
            "cleared",
            1,
            en="`w.grad` and `b.grad` are None or zero, ready for the next step.",
            ru="`w.grad` и `b.grad` равны None или нулю: можно делать следующий шаг.",
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
            "In which direction does the gradient point: where the loss grows or where it falls?",
            "Куда направлен градиент: туда, где функция потерь растёт, или туда, где она убывает?",
        ),
        Text(
            "Four things in order: the loss, `backward()`, the step under `torch.no_grad()`, clearing `.grad`.",
            "Четыре действия по порядку: функция потерь, `backward()`, шаг под `torch.no_grad()`, очистка `.grad`.",
        ),
        Text(
            "loss = bce(x @ w + b, y)\nloss.backward()\nwith torch.no_grad():\n    w -= ...\n    ...\nreturn loss.item()",
            "loss = bce(x @ w + b, y)\nloss.backward()\nwith torch.no_grad():\n    w -= ...\n    ...\nreturn loss.item()",
        ),
    ],
)
def descend(answer: Any, case: Case) -> dict[str, object]:
    returned = answer.descend(case.w, case.b, case.x, case.y, case.lr)
    both = case.w, case.b
    with using_answer():
        return {
            "weights": [t.detach() for t in both],
            "trainable": all(t.is_leaf and t.requires_grad for t in both),
            "cleared": all(t.grad is None or not t.grad.any() for t in both),
            "loss": returned if returned is None else float(returned),
        }


@descend.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for rows, columns in ((5, 3), (2, 4)):
        target = torch.randint(0, 2, (columns,), generator=rng, dtype=torch.float64)
        # Small enough that no sigmoid is flat: each entry moves visibly.
        x, w, b = uniform(rng, rows), leaf(rng, rows, columns), leaf(rng, columns)
        with torch.no_grad():
            w /= 10
        yield Case(w=w, b=b, x=x, y=target, lr=0.5)


def _loss(w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(x @ w + b, y)


def _step(w: Tensor, b: Tensor, by: float) -> None:
    with torch.no_grad():
        for t in (w, b):
            assert t.grad is not None
            t += by * t.grad
            t.grad = None


@descend.mistake(
    en="It looks as if the step went uphill: the gradient points where the loss grows, so it is subtracted.",
    ru="Похоже, что шаг сделан вверх: градиент направлен туда, где функция потерь растёт, поэтому его вычитают.",
)
def ascends(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    _step(w, b, lr)
    return loss.item()


@descend.mistake(
    en="It looks as if `w = w - ...` made new tensors: inside the function the names moved, the caller's `w` and `b` did "
    "not. Change them in place.",
    ru="Похоже, что `w = w - ...` создал новые тензоры: сменились имена внутри функции, а `w` и `b` вызывающего кода "
    "остались прежними. Изменяйте их на месте.",
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
    en="It looks as if `w` was changed in place while torch was recording. The step itself is not part of the loss: put "
    "it under `torch.no_grad()`.",
    ru="Похоже, что `w` изменён на месте, пока torch вёл запись вычислений. Сам шаг не входит в функцию потерь: "
    "выполняйте его под `torch.no_grad()`.",
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
    en="It looks as if `.grad` was not cleared: the next `backward()` will add to it.",
    ru="Похоже, что `.grad` не очищен: следующий `backward()` прибавит к нему.",
)
def leaves_the_gradient(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    with torch.no_grad():
        for t in (w, b):
            t -= lr * t.grad  # type: ignore[operator]
    return loss.item()


@descend.mistake(
    en="It looks as if only `w` took the step.",
    ru="Похоже, что шаг сделал только `w`.",
)
def forgets_the_bias(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad  # type: ignore[operator]
    w.grad = b.grad = None
    return loss.item()


@descend.mistake(
    en="It looks as if the gradients were subtracted whole, without the learning rate.",
    ru="Похоже, что градиенты вычтены целиком, без скорости обучения.",
)
def forgets_the_learning_rate(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    _step(w, b, -1.0)
    return loss.item()


@descend.mistake(
    en="It looks as if the loss was computed and `backward()` was never called: `.grad` is None.",
    ru="Похоже, что функция потерь вычислена, а `backward()` не вызван: в `.grad` лежит None.",
)
def forgets_backward(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    with torch.no_grad():
        w -= lr * w.grad  # type: ignore[operator]
        b -= lr * b.grad  # type: ignore[operator]
    return loss.item()


@descend.mistake(
    en="It looks as if the losses of the outputs were added up and not averaged: the gradient is too large by their "
    "number.",
    ru="Похоже, что потери по выходам сложены, а не усреднены: градиент больше нужного во столько раз, сколько выходов.",
)
def sums_the_outputs(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = binary_cross_entropy_with_logits(x @ w + b, y, reduction="sum")
    loss.backward()
    _step(w, b, -lr)
    return loss.item()


@descend.mistake(
    en="It looks as if the loss was computed anew after the step. The one that `backward()` was called on is asked for.",
    ru="Похоже, что функция потерь вычислена заново, после шага. Нужно то значение, у которого вызван `backward()`.",
)
def loss_after_the_step(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    _loss(w, b, x, y).backward()
    _step(w, b, -lr)
    return _loss(w, b, x, y).item()


@descend.mistake(
    en="It looks as if the step is right and nothing comes back. Return the loss.",
    ru="Похоже, что шаг верен, но функция ничего не возвращает. Верните значение функции потерь.",
)
def returns_nothing(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> None:
    _loss(w, b, x, y).backward()
    _step(w, b, -lr)
