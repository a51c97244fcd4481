"""Extra exercise: predictions about custom operators."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What an operator leaves unsaid", "О чём оператор молчит"),
    kind="predict",
    difficulty=2,
    minutes=8,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Which of the two checks knows the right derivative? Which one writes the formula into a graph?",
            "Какой из двух проверок известна верная производная? Какая записывает формулу в граф?",
        ),
        Text(
            "An operator says nothing of forward mode, and `mutates_args` is read by the compiler, not by autograd. "
            "Neither of the two raises an error.",
            "О прямом режиме оператор не сообщает ничего, а `mutates_args` читает компилятор, но не autograd. Ошибки ни "
            "в том, ни в другом случае нет.",
        ),
        Text(
            "The body runs in each pass, the formula only while it is traced. To autograd `z` is still three times `a`. "
            "What is not known counts as 0 in forward mode.",
            "Тело оператора выполняется в каждом проходе, а формула — только при записи графа. Для autograd `z` — "
            "по-прежнему утроенное `a`. То, что в прямом режиме неизвестно, считается нулём.",
        ),
    ],
)
def predict_operators(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_operators)}
