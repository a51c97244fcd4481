"""Exercise: predictions about conversion to and from NumPy."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("The bridge to NumPy", "Тензоры и массивы NumPy"),
    kind="predict",
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Of each call ask: does it copy, or give a second name to the same memory?",
            "О каждом вызове спросите: он создаёт копию или даёт второе имя той же памяти?",
        ),
        Text(
            "`from_numpy` and `numpy()` share, `torch.tensor` copies. NumPy knows nothing of version counters.",
            "У `from_numpy` и `numpy()` память общая, `torch.tensor` копирует. О счётчиках версий NumPy ничего не "
            "знает.",
        ),
        Text(
            "NumPy's default is float64, and the bridge keeps the dtype. `numpy()` asks one question only: would the "
            "array hide a history that is being recorded?",
            "В NumPy по умолчанию float64, и при преобразовании dtype сохраняется. Вызов `numpy()` проверяет одно: не "
            "пройдут ли действия с массивом мимо графа, который сейчас записывается?",
        ),
    ],
)
def predict_bridge(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_bridge)}
