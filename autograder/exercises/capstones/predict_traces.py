"""Exercise: predictions about a published update with eligibility traces."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Traces through `p.grad`", "Следы через `p.grad`"),
    kind="predict",
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`p.grad` is overwritten at the end of a step. What does the next `v.backward()` do with it?",
            "В конце шага в `p.grad` записано обновление. Что сделает с ним следующий `v.backward()`?",
        ),
        Text(
            "`optimizer.step()` of SGD subtracts `lr` times `p.grad`. How often has 0.5 been multiplied in by then, and "
            "with which sign?",
            "Метод `optimizer.step()` у SGD вычитает `p.grad`, умноженный на `lr`. Сколько раз обновление в итоге умножено "
            "на 0.5 и какой у него знак?",
        ),
        Text(
            "Step 1: $\\delta = 0 + 0.9 \\cdot 0.2 - 0.1$, the trace is (1, 0, 0), `p.grad` becomes $0.5 \\delta$ times "
            "the trace. Step 2 begins with that in `p.grad`.",
            "Шаг 1: $\\delta = 0 + 0.9 \\cdot 0.2 - 0.1$, след равен (1, 0, 0), в `p.grad` попадает след, умноженный на "
            "$0.5 \\delta$. С этим содержимым `p.grad` начинается шаг 2.",
        ),
    ],
    why=Why(
        Text(
            "Why does the first weight fall, although its prediction was too low?",
            "Почему первый вес уменьшился, хотя предсказание было занижено?",
        ),
        Text(
            "`step()` subtracts what lies in `p.grad`. The code puts the update itself there, so the optimizer "
            "goes against it.",
            "`step()` вычитает то, что лежит в `p.grad`. Код кладёт туда само обновление, поэтому оптимизатор "
            "идёт против него.",
        ),
    ),
)
def predict_traces(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_traces)}
