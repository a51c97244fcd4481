"""Exercise: predictions about the shape of Jacobians of a batch."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.language import Text

from .common import with_lists


@exercise(
    title=Text("Shapes of Jacobians of a batch", "Формы матриц Якоби для батча"),
    kind="predict",
    difficulty=2,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`functional.jacobian` knows no batch. Which derivatives does it compute for an output of shape (4, 1)?",
            "Функция `functional.jacobian` не знает о батче. Какие производные она вычислит для выхода формы (4, 1)?",
        ),
        Text(
            "Its result has the output's shape, then the input's. `vmap` adds one dimension in front.",
            "Форма её результата — форма выхода, за ней форма входа. `vmap` добавляет одно измерение спереди.",
        ),
        Text(
            "Samples do not mix, so only the 4 diagonal blocks of 3 numbers can differ from zero.",
            "Примеры не смешиваются, поэтому от нуля могут отличаться только 4 диагональных блока по 3 числа.",
        ),
    ],
)
def predict_shapes(answer: Any, case: Case) -> dict[str, object]:
    return {"table": with_lists(answer.predict_shapes)}
