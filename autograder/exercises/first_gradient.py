"""Exercises of lesson 00, a first gradient: what `.grad` holds, a derivative checked by differences, one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from autograder.checking.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import entries, number
from autograder.language import Text

Function = Callable[[Tensor], Tensor]

# ------------------------------------------------------------------------------ core: a derivative without autograd


@exercise(
    title=Text("A derivative from two values", "Производная по двум значениям"),
    kind="complete",
    core=True,
    minutes=6,
    aspects=[
        aspect("x", 0, en="`x` holds what it held.", ru="В `x` лежит то же, что и раньше."),
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
    slope = answer.numerical_slope(case.f, case.x, case.h)
    with using_answer():
        return {"x": case.x, "slope": number(slope)}


@numerical_slope.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    a, b, c, d = (round(number, 2) for number in uniform(rng, 4).tolist())
    rising = Formula(f"{a} * x**3 + {b} * torch.sin(x)", lambda x: a * x**3 + b * torch.sin(x))
    falling = Formula(f"1 - {c} * x**3 - {d} * x", lambda x: 1 - c * x**3 - d * x)
    yield Case(f=rising, x=uniform(rng), h=0.3)
    yield Case(f=falling, x=-uniform(rng), h=0.04)


@numerical_slope.mistake(
    en="It looks as if `x += h` changed the caller's `x`: it is the same tensor. `x + h` makes a new one.",
    ru="Похоже, что `x += h` изменил `x` вызывающего кода: это тот же тензор. `x + h` создаёт новый.",
)
def moves_x(f: Function, x: Tensor, h: float) -> Tensor:
    x += h
    right = f(x)
    x -= 2 * h
    return (right - f(x)) / (2 * h)


@numerical_slope.mistake(
    en="It looks as if the change was divided by `h`. From `x - h` to `x + h` it is twice as far.",
    ru="Похоже, что изменение разделено на `h`. Расстояние от `x - h` до `x + h` вдвое больше.",
)
def divides_by_h(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x - h)) / h


@numerical_slope.mistake(
    en="It looks as if it says `/ 2 * h`, which divides by 2 and then multiplies by `h`. The product needs brackets.",
    ru="Похоже, что написано `/ 2 * h`: это деление на 2, а потом умножение на `h`. Возьмите произведение в скобки.",
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
    en="It looks as if this is the derivative itself and not the central difference with this `h`: either autograd "
    "computed it, or `h` was replaced by a smaller step.",
    ru="Похоже, что это сама производная, а не центральная разность с этим `h`: либо её вычислил autograd, либо `h` "
    "заменён меньшим шагом.",
)
def asks_autograd(f: Function, x: Tensor, h: float) -> Tensor:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(f(x), x)[0]


@numerical_slope.mistake(
    en="It looks as if the step is always 0.01, as in the text. Use the `h` that is passed in.",
    ru="Похоже, что шаг всегда равен 0.01, как в тексте. Возьмите `h`, который передан в функцию.",
)
def ignores_h(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + 0.01) - f(x - 0.01)) / 0.02


@numerical_slope.mistake(
    en="It looks as if the two places are `x + h / 2` and `x - h / 2`: half the step that is asked for.",
    ru="Похоже, что взяты точки `x + h / 2` и `x - h / 2`: вдвое меньший шаг, чем требуется.",
)
def halves_the_step(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h / 2) - f(x - h / 2)) / h


@numerical_slope.mistake(
    en="It looks as if only the second value was divided: a difference that is divided needs brackets.",
    ru="Похоже, что разделено только второе значение: разность, которую делят, нужно взять в скобки.",
)
def divides_the_second(f: Function, x: Tensor, h: float) -> Tensor:
    return f(x + h) - f(x - h) / (2 * h)


@numerical_slope.mistake(
    en="It looks as if the derivative of `x**2` came back, whatever `f` is. Call `f`.",
    ru="Похоже, что вернулась производная `x**2`, какой бы ни была `f`. Вызывайте `f`.",
)
def ignores_f(f: Function, x: Tensor, h: float) -> Tensor:
    return ((x + h) ** 2 - (x - h) ** 2) / (2 * h)


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
            "Begin at the end: the derivative of `out` by itself. Then `z`: `out` is the mean of its four entries, so "
            "what does one of them contribute? Then `y`.",
            "Начните с конца: производная `out` по самому себе. Затем `z`: `out` — среднее четырёх его элементов; "
            "какой вклад вносит один из них? Затем `y`.",
        ),
        Text(
            "One entry of `y` contributes 3y²/4 to `out`, so its derivative is 6y/4, and every y is 3. When `x` moves, "
            "`y = x + 2` moves as much.",
            "Один элемент `y` вносит в `out` вклад 3y²/4, поэтому производная равна 6y/4, а каждый y равен 3. На сколько "
            "сдвинется `x`, на столько же и `y = x + 2`.",
        ),
    ],
)
def predict_chain(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_chain)}


@predict_chain.mistake(
    en="It looks as if the mean was forgotten: `out` changes by a quarter of what one entry of `z` changes.",
    ru="Похоже, что забыто усреднение: когда меняется один элемент `z`, `out` меняется вчетверо меньше.",
)
def forgets_the_mean() -> dict[str, object]:
    return {"z.grad": 1.0}


@predict_chain.mistake(
    en="It looks as if the mean was divided by the number of rows. A mean over a matrix divides by the number of its "
    "entries.",
    ru="Похоже, что при усреднении сумма разделена на число строк матрицы, а делить нужно на число её элементов.",
)
def mean_over_rows() -> dict[str, object]:
    return {"z.grad": 0.5}


@predict_chain.mistake(
    en="It looks as if `y.grad` was taken as the derivative of the next line only, dz/dy. It is the derivative of `out`, "
    "on which `backward()` was called.",
    ru="Похоже, вы считаете, что `y.grad` — это производная только следующей строки, dz/dy. На самом деле это "
    "производная `out`, у которого вызван `backward()`.",
)
def derivative_of_one_line() -> dict[str, object]:
    return {"y.grad": 18.0}


@predict_chain.mistake(
    en="It looks as if `y.grad` was taken as dy/dx. It is the derivative of `out` by `y`.",
    ru="Похоже, вы считаете, что `y.grad` — это dy/dx. На самом деле это производная `out` по `y`.",
)
def derivative_of_y_by_x() -> dict[str, object]:
    return {"y.grad": 1.0}


@predict_chain.mistake(
    en="It looks as if `x.grad` was taken as the derivative of the first line only, dy/dx. It is the derivative of `out` "
    "by `x`.",
    ru="Похоже, вы считаете, что `x.grad` — это производная только первой строки, dy/dx. На самом деле это "
    "производная `out` по `x`.",
)
def derivative_of_the_first_line() -> dict[str, object]:
    return {"x.grad": 1.0}


@predict_chain.mistake(
    en="It looks as if `out.grad` was taken as the derivative of the last line by `z`. It is the derivative of `out` by "
    "itself.",
    ru="Похоже, вы считаете, что `out.grad` — это производная последней строки по `z`. На самом деле это производная "
    "`out` по самому себе.",
)
def last_line_at_the_root() -> dict[str, object]:
    return {"out.grad": 0.25}


@predict_chain.mistake(
    en="It looks as if you expected `out.grad` to be empty. `retain_grad()` keeps the gradient of any tensor, the root's "
    "as well.",
    ru="Похоже, вы считаете, что `out.grad` пуст. На самом деле `retain_grad()` сохраняет градиент любого тензора, в "
    "том числе корня.",
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
            "trainable",
            0,
            en="`w` and `b` still have `requires_grad=True` and no history.",
            ru="У `w` и `b` по-прежнему `requires_grad=True` и нет истории.",
        ),
        aspect(
            "weights",
            3,
            en="`w` and `b` themselves hold the values after the step.",
            ru="Сами `w` и `b` содержат значения после шага.",
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
            "Which call fills `w.grad`, and in which direction does that gradient point: where the loss grows or where "
            "it falls?",
            "Какой вызов заполняет `w.grad` и куда направлен этот градиент: туда, где функция потерь растёт, или туда, "
            "где она убывает?",
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
def _(rng: torch.Generator) -> Iterator[Case]:
    for rows, columns, lr in ((5, 3, 0.3), (2, 4, 0.07)):
        target = torch.randint(0, 2, (columns,), generator=rng, dtype=torch.float64)
        # Small enough that no sigmoid is flat: each entry moves visibly.
        x, w, b = uniform(rng, rows), leaf(rng, rows, columns), leaf(rng, columns)
        with torch.no_grad():
            w /= 10
        yield Case(w=w, b=b, x=x, y=target, lr=lr)


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
    ru="Похоже, что шаг сделан в обратную сторону: градиент направлен туда, где функция потерь растёт, поэтому его "
    "вычитают.",
)
def ascends(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    _step(w, b, lr)
    return loss.item()


@descend.mistake(
    en="It looks as if `w = w - ...` made new tensors: inside the function the names moved, the caller's `w` and `b` did "
    "not. Change them in place.",
    ru="Похоже, что `w = w - ...` создал новые тензоры: имена внутри функции теперь указывают на них, а `w` и `b` "
    "вызывающего кода остались прежними. Изменяйте их на месте.",
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
    "выполняйте его внутри `torch.no_grad()`.",
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
    en="It looks as if no step was made: `w` and `b` hold their old values.",
    ru="Похоже, что шага не было: в `w` и `b` лежат прежние значения.",
)
def makes_no_step(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    return _loss(w, b, x, y).item()


@descend.mistake(
    en="It looks as if `.grad` was cleared between `backward()` and the step, so the step was zero.",
    ru="Похоже, что `.grad` обнулён между `backward()` и шагом, и шаг получился нулевым.",
)
def clears_before_the_step(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    for t in (w, b):
        assert t.grad is not None
        t.grad.zero_()
    return loss.item()


@descend.mistake(
    en="It looks as if `requires_grad` was switched off and not switched on again: there is no next step.",
    ru="Похоже, что `requires_grad` выключен и не включён снова: следующего шага не получится.",
)
def freezes_the_weights(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = _loss(w, b, x, y)
    loss.backward()
    w.requires_grad = b.requires_grad = False
    _step(w, b, -lr)
    return loss.item()


@descend.mistake(
    en="It looks as if a sigmoid was taken before the loss. `bce` here takes the raw outputs and applies its own.",
    ru="Похоже, что перед функцией потерь взята сигмоида. Функция `bce` здесь принимает «сырые» выходы и применяет "
    "сигмоиду сама.",
)
def takes_the_sigmoid_twice(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = binary_cross_entropy_with_logits(torch.sigmoid(x @ w + b), y)
    loss.backward()
    _step(w, b, -lr)
    return loss.item()


@descend.mistake(
    en="It looks as if the outputs and the targets changed places in the loss.",
    ru="Похоже, что в функции потерь выходы и правильные ответы поменялись местами.",
)
def swaps_the_targets(w: Tensor, b: Tensor, x: Tensor, y: Tensor, lr: float) -> float:
    loss = binary_cross_entropy_with_logits(y, x @ w + b)
    loss.backward()
    _step(w, b, -lr)
    return loss.item()


@descend.mistake(
    en="It looks as if `.grad` was not cleared: the next `backward()` will add to it.",
    ru="Похоже, что `.grad` не обнулён: следующий `backward()` прибавит к тому, что в нём лежит.",
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
    ru="Похоже, что шаг сделан только для `w`.",
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
    ru="Похоже, что значение функции потерь вычислено заново, после шага. Нужно то, у которого вызван `backward()`.",
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
