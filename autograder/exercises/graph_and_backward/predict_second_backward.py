"""Exercise: predictions about a second backward pass."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Backward, once more", "Второй обратный проход"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "What does the derivative of `x + w` need to know about `x` and `w`? And that of `x * x`?",
            "Что нужно знать об `x` и `w`, чтобы найти производную `x + w`? А производную `x * x`?",
        ),
        Text(
            "A backward pass frees what the graph has saved, not the graph. Only a node that misses its saved values "
            "raises.",
            "Обратный проход освобождает то, что граф сохранил, а не сам граф. Ошибка возникает только в узле, "
            "которому нужно освобождённое.",
        ),
        Text(
            "In `x * x + w` the addition makes two nodes ready: that of `w`, an `AccumulateGrad`, and the "
            "multiplication. Which of them is run first?",
            "В `x * x + w` после сложения готовы два узла: `AccumulateGrad` для `w` и узел умножения. Какой из них "
            "выполняется первым?",
        ),
    ],
    why=Why(
        Text(
            "Why may a second `backward()` run through an addition, but not through `x * x`?",
            "Почему второй `backward()` проходит через сложение, но не через `x * x`?",
        ),
        Text(
            "The derivative of a sum is 1: nothing has to be saved for it. That of `x * x` needs `x` itself, and "
            "the first pass freed everything that was saved.",
            "Производная суммы равна 1, сохранять для неё нечего. Для производной `x * x` нужен сам `x`, а "
            "первый проход освободил всё, что было сохранено.",
        ),
    ),
)
def predict_second_backward(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_second_backward)}
