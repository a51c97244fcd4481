"""Extra exercise: predictions about nested tensors."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Rows of different lengths", "Строки разной длины"),
    kind="predict",
    difficulty=2,
    minutes=7,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`torch.tensor(x)` and `torch.as_tensor(x)`: which of the two copies a tensor and leaves its graph behind?",
            "Есть `torch.tensor(x)` и `torch.as_tensor(x)`: какой из двух вызовов копирует тензор и обрывает граф?",
        ),
        Text(
            "A gradient has the form of its tensor. How many rows does the nested tensor store?",
            "Градиент устроен так же, как его тензор. Сколько строк хранит вложенный тензор?",
        ),
        Text(
            "Of the last three one is accepted: that which goes by an ordinary tensor. To add, the offsets must be shared.",
            "Из трёх последних действий выполнится одно — то, где берётся обычный тензор. А чтобы складывать, смещения "
            "должны быть общими.",
        ),
    ],
)
def predict_ragged(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_ragged)}
