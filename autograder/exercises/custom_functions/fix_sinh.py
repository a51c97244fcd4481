"""Core exercise: a custom Function with a wrong second derivative."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import Case, exercise
from autograder.language import Text

from .common import SECOND_ASPECTS, observe_both, second_cases


@exercise(
    title=Text("Right once, wrong the second time", "Первая производная верна, вторая — нет"),
    kind="find the bug",
    asks="Sinh",
    asks_for="class",
    core=True,
    difficulty=2,
    minutes=10,
    rtol=1e-4,
    aspects=SECOND_ASPECTS,
    hints=[
        Text(
            "Which of the tensors that `backward` uses does autograd know as functions of `x`?",
            "О каких из тензоров, которыми пользуется `backward`, autograd знает, что они зависят от `x`?",
        ),
        Text(
            "Recording is off inside `forward`, so `e` and `i` are constants there. An input that was saved comes back "
            "from `saved_tensors` connected to the graph; so does an output.",
            "Внутри `forward` отслеживание выключено, поэтому `e` и `i` — константы. Сохранённый вход возвращается из "
            "`saved_tensors` вместе со своим местом в графе, и выход тоже.",
        ),
        Text(
            "ctx.save_for_backward(x)\n...\n(x,) = ctx.saved_tensors\nreturn grad_output * ...  # computed from x, here",
            "ctx.save_for_backward(x)\n...\n(x,) = ctx.saved_tensors\nreturn grad_output * ...  # вычислено здесь из x",
        ),
    ],
)
def fix_sinh(answer: Any, case: Case) -> dict[str, object]:
    return observe_both(answer.Sinh, case)


fix_sinh.cases(second_cases)
