"""Exercise: predictions about threads."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Which thread sees what", "Что видит каждый поток"),
    kind="predict",
    core=True,
    difficulty=1,
    version=2,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Who does the work of a backward pass on the CPU: a thread of torch, or the one that called?",
            "Кто на CPU выполняет обратный проход: поток самой библиотеки или тот поток, который вызвал метод?",
        ),
        Text(
            "A mode belongs to the thread that entered it. One of the three here does not: it is a switch of the whole "
            "process.",
            "Режим действует только в том потоке, который его включил. Из трёх режимов в таблице это неверно для "
            "одного: он переключается сразу во всём процессе.",
        ),
        Text(
            "Both threads read after both have added: 1 + 2. Anomaly mode is the switch of the process.",
            "Оба потока читают, когда оба уже прибавили свой градиент: 1 + 2. Режим обнаружения аномалий общий для "
            "всего процесса.",
        ),
    ],
    why=Why(
        Text(
            "Why does `no_grad` not reach a thread that is started inside its block?",
            "Почему `no_grad` не действует в потоке, запущенном внутри этого блока?",
        ),
        Text(
            "It is a state of the thread that entered the block, and a new thread begins with the default. "
            "`.grad` belongs to the tensor, so all threads share it.",
            "Режим — это состояние того потока, который вошёл в блок, а новый поток начинает с обычного состояния. "
            "Поле `.grad` принадлежит тензору, поэтому оно у всех потоков общее.",
        ),
    ),
)
def predict_engine(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_engine, former=("order of a, b, c",))}
