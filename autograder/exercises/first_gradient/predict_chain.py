"""Exercise: predictions about `.grad` along a chain of operations."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Whose derivative is in `.grad`", "Чья производная лежит в `.grad`"),
    kind="predict",
    core=True,
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
    why=Why(
        Text(
            "Why is `y.grad` not 6y, the derivative of the line that uses `y`?",
            "Почему в `y.grad` лежит не 6y — производная той строки, где стоит `y`?",
        ),
        Text(
            "`backward()` starts with 1 at `out` and multiplies on its way back. When it comes to `y`, the 1/4 "
            "of the mean is already in the product.",
            "`backward()` начинает с 1 в `out` и умножает на каждом шаге назад. Когда очередь доходит до `y`, в "
            "произведении уже есть 1/4 от среднего.",
        ),
    ),
)
def predict_chain(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_chain)}
