"""Exercise: predictions about a `.grad` of None and of zeros."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("None and zero", "None и ноль"),
    kind="predict",
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "What does an optimizer do with a parameter whose `.grad` is None?",
            "Что оптимизатор делает с параметром, у которого `.grad` равен None?",
        ),
        Text(
            "Momentum: velocity = 0.9 * velocity + gradient; then w = w - 0.1 * velocity. Put in a gradient of 0.",
            "Импульс: velocity = 0.9 * velocity + gradient; затем w = w - 0.1 * velocity. Подставьте градиент 0.",
        ),
        Text(
            "After the first step velocity is 1 and w is 0.9. A gradient of 0 leaves a velocity of 0.9; None skips the "
            "parameter.",
            "После первого шага velocity равна 1, а w — 0.9. При градиенте 0 velocity становится 0.9, а при None "
            "параметр пропускается.",
        ),
    ],
)
def predict_zero_grad(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_zero_grad)}
