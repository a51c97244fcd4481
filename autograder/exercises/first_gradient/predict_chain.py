"""Core exercise: predictions about `.grad` along a chain of operations."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Whose derivative is in `.grad`", "Чья производная лежит в `.grad`"),
    kind="predict",
    core=True,
    minutes=5,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`backward()` was called on `out`. Which derivative is it, then: of what, by what?",
            "Вызов `backward()` сделан для `out`. Чья это производная и по чему?",
        ),
        Text(
            "Begin at the end: the derivative of `out` by itself. Then `z`: `out` is the mean of its four entries, so "
            "what does one of them contribute? Then `y`.",
            "Начните с конца: производная `out` по самому себе. Затем `z`: `out` — среднее четырёх его элементов; "
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


predict_chain.wrong(
    "forgets_the_mean",
    {"z.grad": 1.0},
    en="The mean was forgotten: `out` changes by a quarter of what one entry of `z` changes.",
    ru="Забыто усреднение: когда меняется один элемент `z`, значение `out` меняется вчетверо слабее.",
)


predict_chain.wrong(
    "mean_over_rows",
    {"z.grad": 0.5},
    en="The mean was divided by the number of rows. A mean over a matrix divides by the number of its entries.",
    ru="При усреднении сумма разделена на число строк матрицы, а делить нужно на число её элементов.",
)


predict_chain.wrong(
    "derivative_of_one_line",
    {"y.grad": 18.0},
    en="The derivative of the next line alone, dz/dy, was taken for `y.grad`. It holds the derivative of `out`, on "
    "which `backward()` was called.",
    ru="За `y.grad` принята производная только следующей строки, dz/dy. Но там лежит производная `out`, от которого "
    "выполнен `backward()`.",
)


predict_chain.wrong(
    "derivative_of_y_by_x",
    {"y.grad": 1.0},
    en="The derivative dy/dx was taken for `y.grad`. It holds the derivative of `out` with respect to `y`.",
    ru="За `y.grad` принята производная dy/dx. Но там лежит производная `out` по `y`.",
)


predict_chain.wrong(
    "derivative_of_the_first_line",
    {"x.grad": 1.0},
    en="The derivative of the first line alone, dy/dx, was taken for `x.grad`. It holds the derivative of `out` with "
    "respect to `x`.",
    ru="За `x.grad` принята производная только первой строки, dy/dx. Но там лежит производная `out` по `x`.",
)


predict_chain.wrong(
    "last_line_at_the_root",
    {"out.grad": 0.25},
    en="The derivative of the last line with respect to `z` was taken for `out.grad`. It holds the derivative of `out` "
    "with respect to itself.",
    ru="За `out.grad` принята производная последней строки по `z`. Но там лежит производная `out` по самому себе.",
)


predict_chain.wrong(
    "nothing_at_the_root",
    {"out.grad": None},
    en="You expected `out.grad` to be empty. `retain_grad()` keeps the gradient of any tensor, the root's as well.",
    ru="Вы ожидали, что поле `out.grad` пусто. Но `retain_grad()` сохраняет градиент любого тензора, в том числе "
    "корня.",
)


predict_chain.wrong(
    "values_of_the_tensors",
    {"x.grad": 1.0, "y.grad": 3.0, "z.grad": 27.0, "out.grad": 27.0},
    en="These are the values of the tensors. `.grad` holds the derivatives of `out` by them.",
    ru="Это значения самих тензоров. В `.grad` лежат производные `out` по ним.",
)


predict_chain.wrong(
    "zero_at_the_root",
    {"out.grad": 0.0},
    en="You expected `out.grad` to be 0. The derivative of `out` by itself is 1.",
    ru="Вы ожидали, что `out.grad` равен 0. Но производная `out` по самому себе равна 1.",
)


predict_chain.wrong(
    "value_at_the_root",
    {"out.grad": 27.0},
    en="The value of `out` was taken for `out.grad`. It holds the derivative of `out` with respect to itself.",
    ru="За `out.grad` принято значение `out`. Но там лежит производная `out` по самому себе.",
)


predict_chain.wrong(
    "a_third",
    {"x.grad": 1.5, "y.grad": 1.5},
    en="1.5 is a third of the derivative: either $y$ was taken for 1, though it is 3, or the factor 3 of `z` was left "
    "out.",
    ru="1.5 — это треть производной: либо $y$ принят за 1, хотя он равен 3, либо потерян множитель 3 из `z`.",
)


predict_chain.wrong(
    "square_not_differentiated",
    {"x.grad": 2.25, "y.grad": 2.25},
    en="The exponent was lost: the derivative of $3y^2$ is $6y$, not $3y$.",
    ru="Потерян показатель степени: производная $3y^2$ равна $6y$, а не $3y$.",
)


predict_chain.wrong(
    "divides_again",
    {"x.grad": 1.125},
    en="`x.grad` was divided by 4 once more. The mean is in `y.grad` already, and $y$ moves as much as $x$.",
    ru="Градиент `x.grad` ещё раз разделён на 4. Но усреднение уже учтено в `y.grad`, а $y$ меняется на столько же, на "
    "сколько $x$.",
)
