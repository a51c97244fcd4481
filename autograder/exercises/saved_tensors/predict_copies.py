"""Extra exercise: predictions about edits that autograd makes room for."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What an edit copies", "Что копируется при изменении"),
    kind="predict",
    difficulty=2,
    minutes=5,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Which tensor did the operation save, and which numbers of it will backward need?",
            "Какой тензор сохранила операция, и какие его числа понадобятся обратному проходу?",
        ),
        Text(
            "Before the first edit the saved tensor is copied, whole. After that backward has its copy, and further "
            "edits change nothing. Only what goes through torch is seen.",
            "Перед первым изменением сохранённый тензор копируется целиком. После этого у обратного прохода есть "
            "копия, и дальнейшие изменения ей не мешают. Замечается только то, что проходит через torch.",
        ),
        Text(
            "A float32 takes four bytes. `exp` saves its result, not `b`. The gradient of `b**2` is twice the number "
            "that backward finds. The block keeps the copies until its end.",
            "Один float32 занимает четыре байта. Операция `exp` сохраняет результат, а не `b`. Градиент `b**2` вдвое "
            "больше числа, которое найдёт обратный проход. Копии хранятся до конца блока.",
        ),
    ],
)
def predict_copies(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_copies)}
