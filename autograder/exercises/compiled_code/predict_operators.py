"""Exercise: predictions about custom operators."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What an operator leaves unsaid", "О чём оператор молчит"),
    kind="predict",
    core=True,
    difficulty=2,
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
    why=Why(
        Text(
            "Why can `opcheck` not notice that a derivative is three times too large?",
            "Почему `opcheck` не замечает, что производная втрое больше верной?",
        ),
        Text(
            "It compares the operator with itself, run plainly and traced, and both ways lead through the same formula. "
            "Finite differences come from outside.",
            "Он сравнивает оператор с ним самим: обычный вызов с записанным в граф. Формула в обоих случаях одна. "
            "Конечные разности дают независимую проверку.",
        ),
    ),
)
def predict_operators(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_operators)}
