"""Exercise: predictions about vector-Jacobian products."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.language import Text

from .common import with_lists

# A row of the table that a notebook released before asks for.
_FORMER = ("float64 y, float32 v",)


@exercise(
    title=Text("Which v, and what it gives", "Какой вектор v нужен и что получится"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`y` has two entries and `x` has three. Which of the two does `v` weigh?",
            "В `y` два элемента, в `x` три. Чьи элементы взвешивает `v`?",
        ),
        Text(
            "The result is `vᵀJ`: a sum of the rows of the matrix, each times its entry of `v`. It has the shape of "
            "`x`.",
            "Результат — `vᵀJ`: сумма строк матрицы, каждая умножена на свой элемент `v`. Форма у него как у `x`.",
        ),
        Text(
            "For `A`: `1·[1, 2] + 10·[3, 4]`. Without `v`, `backward()` needs an output of one element, of any shape.",
            "Для `A`: `1·[1, 2] + 10·[3, 4]`. Без `v` методу `backward()` нужен выход из одного элемента, любой формы.",
        ),
    ],
    why=Why(
        Text(
            "Why does `v` have the shape of the output, not of the input?",
            "Почему форма `v` — как у выхода, а не как у входа?",
        ),
        Text(
            "The pass computes the gradient of one number: the sum of the outputs, each times its entry of `v`. "
            "So there is one entry for each output.",
            "Проход вычисляет градиент одного числа — суммы выходов, каждый из которых умножен на своё значение "
            "из `v`. Поэтому элементов в нём столько, сколько выходов.",
        ),
    ),
)
def predict_vjp(answer: Any, case: Case) -> dict[str, object]:
    return {"table": with_lists(answer.predict_vjp, former=_FORMER)}
