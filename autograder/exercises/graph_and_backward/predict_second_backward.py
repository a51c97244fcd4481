"""Core exercise: predictions about a second backward pass."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Backward, once more", "Второй обратный проход"),
    kind="predict",
    core=True,
    minutes=5,
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
)
def predict_second_backward(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_second_backward)}
