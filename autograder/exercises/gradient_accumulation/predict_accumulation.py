"""Core exercise: predictions about the contents of `.grad`."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What `.grad` holds", "Что лежит в `.grad`"),
    kind="predict",
    core=True,
    minutes=6,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`backward()` never looks at what you did with an earlier gradient. Does it replace `.grad` or change it?",
            "Вызов `backward()` не учитывает, что вы делали с прошлым градиентом. Он заменяет `.grad` или изменяет "
            "его?",
        ),
        Text(
            "The second `backward()` adds to the same tensor in place. Ask of each name: is it that tensor, or a copy?",
            "Второй `backward()` прибавляет к тому же тензору на месте. Для каждого имени спросите: это тот же тензор "
            "или копия?",
        ),
        Text(
            "The two gradients are −32 and −8. `first` is another name for `w.grad`; `copy` is not.",
            "Два градиента равны −32 и −8. `first` — другое имя для `w.grad`, а `copy` — нет.",
        ),
    ],
)
def predict_accumulation(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_accumulation)}
