"""Exercise: predictions about the functions that a checkpoint calls again."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What runs again", "Что выполняется заново"),
    kind="predict",
    difficulty=2,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Which of the three functions save something for backward? The recomputation ends with the last of these.",
            "Какие из трёх функций сохраняют что-нибудь для обратного прохода? На последней из них повторное вычисление "
            "и заканчивается.",
        ),
        Text(
            "What was recomputed is not kept for the next backward pass. And a function that saves nothing runs again "
            "if a later one needs its result.",
            "То, что вычислено заново, не хранится до следующего обратного прохода. А функция, которая ничего не сохраняет, "
            "выполняется заново, если её результат нужен следующей.",
        ),
        Text(
            "A checkpoint inside another one: the outer recomputation calls its function, and keeps nothing of it "
            "either; so it is called a third time.",
            "Контрольная точка внутри другой: внешнее повторное вычисление вызывает функцию и опять ничего от неё не "
            "хранит, поэтому её приходится вызвать в третий раз.",
        ),
    ],
    why=Why(
        Text(
            "Why does the recomputation not reach the end of the segment?",
            "Почему повторное вычисление не доходит до конца сегмента?",
        ),
        Text(
            "It runs for the tensors that the segment saves. With the last of them an exception ends it, because the "
            "segment's result is known already.",
            "Оно выполняется ради тензоров, которые сохраняет сегмент. Как только получен последний из них, оно "
            "прерывается исключением: выход сегмента уже известен.",
        ),
    ),
)
def predict_repeats(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_repeats)}
