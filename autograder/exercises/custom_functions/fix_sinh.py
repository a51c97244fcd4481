"""Exercise: a custom Function with a wrong second derivative."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import Case, Why, exercise
from autograder.language import Text

from .common import SECOND_ASPECTS, observe_both, second_cases


@exercise(
    title=Text("Right once, wrong the second time", "Первая производная верна, вторая — нет"),
    kind="find the bug",
    asks="Sinh",
    asks_for="class",
    core=True,
    difficulty=2,
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
    why=Why(
        Text(
            "Why must `backward` compute with the saved `x` and not with `e` and `i`?",
            "Почему `backward` должен считать по сохранённому `x`, а не по `e` и `i`?",
        ),
        Text(
            "`forward` is not recorded, so `e` and `i` are constants to a second derivative. `x` is an input "
            "with its own place in the graph, and what `backward` computes from it can be recorded.",
            "`forward` не записывается, поэтому для второй производной `e` и `i` — константы. А `x` — вход, у "
            "него есть место в графе, и то, что `backward` по нему вычисляет, можно записать.",
        ),
    ),
)
def fix_sinh(answer: Any, case: Case) -> dict[str, object]:
    return observe_both(answer.Sinh, case)


fix_sinh.cases(second_cases)
