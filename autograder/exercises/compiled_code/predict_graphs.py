"""Extra exercise: predictions about the number of compiled graphs."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("How many graphs", "Сколько графов"),
    kind="predict",
    difficulty=1,
    minutes=6,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "A graph ends where Python needs a number out of a tensor. Is the length of a tensor such a number?",
            "Граф обрывается там, где Python нужно число из тензора. А длина тензора — такое число?",
        ),
        Text(
            "Only the code that runs is compiled. One `if` on a number makes two graphs: what comes before it, and the "
            "branch that was taken. What is missing if the other branch is taken later?",
            "Компилируется только то, что выполняется. Один `if` по числу даёт два графа: всё до него и выбранную "
            "ветвь. Чего не хватит, если позже понадобится другая ветвь?",
        ),
        Text(
            "The shape is known without any number, and a loop of Python is unrolled. A second length compiles once "
            "more, for all lengths.",
            "Форма известна и без чисел, а цикл Python разворачивается. При второй длине функция компилируется ещё "
            "раз, сразу для всех длин.",
        ),
    ],
)
def predict_graphs(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_graphs)}
