"""Exercise: predictions about stopped gradients."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Who is trained by which loss", "Кто обучается и на какой функции потерь"),
    kind="predict",
    difficulty=2,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "All losses have the value 4, for the difference is 2. The gradient is twice the difference, times the slope of "
            "what is inside the square and not stopped.",
            "Все значения функции потерь равны 4, ведь разность равна 2. Градиент — это удвоенная разность, умноженная на "
            "наклон того, что стоит в скобках и не остановлено.",
        ),
        Text(
            "Write down the two slopes: that of `target` and that of `value`. In each line, which of the two is left?",
            "Выпишите два наклона: у `target` и у `value`. Какой из них остался в каждой строке?",
        ),
        Text(
            "A copy is an operation like any other: it is recorded. A Python number has no history.",
            "Копирование — такая же операция, как другие: оно записывается. А у числа Python истории нет.",
        ),
    ],
    why=Why(
        Text(
            "Why can a test of the loss value not find a missing `detach`?",
            "Почему по значению функции потерь нельзя заметить пропущенный `detach`?",
        ),
        Text(
            "`detach` returns the same number. Every variant has the same loss in the same step; only the gradient differs, "
            "so a test must look at gradients.",
            "Метод `detach` возвращает то же число. На одном и том же шаге потери у всех вариантов одинаковы, различаются "
            "только градиенты, и проверять нужно их.",
        ),
    ),
)
def predict_stops(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_stops)}
