"""Exercise: predictions about the number of compiled graphs."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("How many graphs", "Сколько графов"),
    kind="predict",
    difficulty=1,
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
            "Форма известна и без чисел, а цикл Python разворачивается. Когда приходит вход другой длины, функция "
            "компилируется ещё раз, уже сразу для всех длин.",
        ),
    ],
    why=Why(
        Text(
            "Why does a condition on the shape break nothing, although one on a sum does?",
            "Почему условие на форму не разрывает граф, а условие на сумму разрывает?",
        ),
        Text(
            "Dynamo records with fake tensors. They have a shape but no numbers. It can answer a question about the shape "
            "and guards the answer; a sum has to be computed first.",
            "Dynamo ведёт запись на фиктивных тензорах: форма у них есть, а чисел нет. На вопрос о форме можно ответить "
            "сразу, запомнив условие (guard), а сумму нужно сначала вычислить.",
        ),
    ),
)
def predict_graphs(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_graphs)}
