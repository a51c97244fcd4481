"""Extra exercise: a loop that runs backward only for the last micro-batch."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import WEIGHTS_AFTER_STEPS
from autograder.language import Text

from .common import ONE_BACKWARD_EACH, observe_training, training_cases
from .fix_zero_inside import fix_zero_inside


@exercise(
    title=Text("The other cell that prints 1.46", "Другая ячейка, которая печатает 1.46"),
    kind="find the bug",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect("weights", 2, *fix_zero_inside.aspects[0].says, entries=(WEIGHTS_AFTER_STEPS,)),
        aspect(
            "backward_runs",
            1,
            *ONE_BACKWARD_EACH.says,
            entries=ONE_BACKWARD_EACH.entries,
        ),
    ],
    hints=[
        Text(
            "How many losses are computed in a window, and how many of them go backward?",
            "Сколько значений функции потерь вычисляется за окно и для скольких из них выполняется обратный проход?",
        ),
        Text(
            "`loss` is one name. Each turn of the loop gives it a new value; what happens to the old one?",
            "Имя `loss` одно. На каждой итерации оно указывает на новое значение; что становится со старым?",
        ),
        Text("Move one line out of the `if`.", "Вынесите одну строку из `if`."),
    ],
)
def fix_backward_last(answer: Any, case: Case) -> dict[str, object]:
    return observe_training(answer.fix_backward_last, case)


fix_backward_last.cases(training_cases)
