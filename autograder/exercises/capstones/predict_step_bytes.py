"""Exercise: predictions about the bytes of a training step."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Where the bytes are", "Где лежат байты"),
    kind="predict",
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Which tensors are there after each line, and who holds each: a variable, or the graph?",
            "Какие тензоры есть после каждой строки и кто держит каждый из них: переменная или граф?",
        ),
        Text(
            "The gradient of a trained layer's weights needs the layer's input. `tanh` keeps its result. Cross-entropy "
            "keeps the logarithms of the softmax.",
            "Для градиента весов обучаемого слоя нужен вход этого слоя. `tanh` хранит свой результат. Кросс-энтропия "
            "хранит логарифмы softmax.",
        ),
        Text(
            "At the peak three tables of the size of the logits are there: what cross-entropy keeps, the gradient with "
            "respect to that, and the gradient of the logits. After backward there are gradients of weights, and `h`.",
            "На пике в памяти три таблицы такого же размера, как логиты: логарифмы, которые хранит кросс-энтропия, "
            "градиент по ним и градиент логитов. После обратного прохода остаются градиенты весов и `h`.",
        ),
    ],
)
def predict_step_bytes(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_step_bytes)}
