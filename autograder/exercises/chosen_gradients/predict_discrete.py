"""Exercise: predictions about gradients of discrete operations."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Slopes of steps", "Наклоны ступенек"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Draw `x.round()` over `x`. Which slope does it have at 0.6? A slope of 0 is a number, too.",
            "Нарисуйте, как `x.round()` зависит от `x`. Какой там наклон в точке 0.6? Нулевой наклон — тоже наклон.",
        ),
        Text(
            "A comparison gives True or False, and what is made of them is a constant. A product with a constant still "
            "has its other factor.",
            "Сравнение даёт True или False, и всё, что из них получено, — константа. Но в произведении с константой "
            "остаётся и второй множитель.",
        ),
        Text(
            "In the last two lines cross out what is detached, for it is a constant. Then add the slopes of the terms "
            "that are left.",
            "В двух последних строках вычеркните то, что отсоединено от графа: это константы. Затем сложите наклоны "
            "оставшихся слагаемых.",
        ),
    ],
    why=Why(
        Text(
            "Why does torch raise no error when a weight is trained through `round`?",
            "Почему при обучении веса через `round` torch не сообщает об ошибке?",
        ),
        Text(
            "`round` is differentiable almost everywhere, with derivative 0. The zero is right, it goes through the graph "
            "like any other gradient, and the weight stays where it is.",
            "Функция `round` почти всюду дифференцируема, и её производная равна 0. Этот ноль верен, он проходит по "
            "графу, как любой градиент, и вес не меняется.",
        ),
    ),
)
def predict_discrete(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_discrete)}
