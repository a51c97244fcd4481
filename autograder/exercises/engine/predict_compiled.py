"""Extra exercise: predictions about compiled functions and their backward passes."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What a compiled backward can do", "Что умеет скомпилированный обратный проход"),
    kind="predict",
    difficulty=3,
    minutes=10,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "A compiled backward pass may write over what only the graph holds. When can it know that nobody needs that "
            "again?",
            "Скомпилированный обратный проход вправе записывать поверх того, что есть только у графа. Когда становится "
            "известно, что оно больше не понадобится?",
        ),
        Text(
            "The backward half is compiled in the first backward pass, for the kind of pass that this is. `growth` keeps "
            "`exp(x)`, which nobody else has; `wave` keeps `x` alone, and recomputes.",
            "Обратная половина компилируется при первом обратном проходе и рассчитана на проход именно такого вида. Для "
            "`growth` хранится `exp(x)`, и больше ни у кого этого тензора нет; для `wave` хранится только `x`, остальное "
            "вычисляется повторно.",
        ),
        Text(
            "`if` on a tensor makes two graphs, `where` one. A second length compiles once more, for all lengths. The second "
            "derivative raises only when it is computed.",
            "Инструкция `if` по тензору даёт два графа, `where` — один. При второй длине функция компилируется ещё раз, "
            "сразу для всех длин. Вторая производная вызывает ошибку, только когда её вычисляют.",
        ),
    ],
)
def predict_compiled(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_compiled)}
