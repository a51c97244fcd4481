"""Exercise: predictions about in-place edits and backward passes."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text

# Rows of the table that a notebook released before asks for.
_FORMER = (
    "y = h.sqrt(); y.add_(1)",
    "y = h * 3; h.add_(1)",
    "y = h.relu_()",
    "y = h.relu_().relu_()",
    "y = h; h.unbind()[0].mul_(10)",
    "x.add_(1); y = x * 2",
    "x[0].mul_(10); y = x * 2",
)


@exercise(
    title=Text("Which edits break backward", "Какие изменения ломают обратный проход"),
    kind="predict",
    core=True,
    difficulty=2,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "For each line: what does the derivative of the first operation need, its input, its output or neither? Is "
            "it that tensor which is edited?",
            "Для каждой строки: что нужно, чтобы вычислить производную первой операции, — её вход, её выход или "
            "ничего? И этот ли тензор меняют?",
        ),
        Text(
            "`h ** 2` needs `h`, `h.sqrt()` needs its result, `h * k` needs `k`. A leaf that requires grad, a view of "
            "it and the parts that `unbind` makes of a result may not be edited at all.",
            "Для `h ** 2` нужен `h`, для `h.sqrt()` — результат, для `h * k` — `k`. Лист, который требует градиента, "
            "его представление и части результата, которые вернул `unbind`, менять нельзя вовсе.",
        ),
        Text(
            "An edit that is allowed is recorded: `y.mul_(3)` multiplies the gradient by 3, `y.add_(1)` by 1, and "
            "`y[0] = 7` leaves 0 at its place.",
            "Разрешённое изменение записывается: `y.mul_(3)` умножает градиент на 3, `y.add_(1)` — на 1, а `y[0] = "
            "7` даёт на этом месте 0.",
        ),
    ],
    why=Why(
        Text(
            "Why does an edit of the result break `sqrt`, but not `h ** 2`?",
            "Почему изменение результата ломает `sqrt`, но не `h ** 2`?",
        ),
        Text(
            "Each operation saves what its derivative is computed from: `sqrt` its result, the square its input. "
            "An edit breaks backward only if it hits a saved tensor.",
            "Операция сохраняет то, из чего вычисляется её производная: `sqrt` — результат, возведение в квадрат "
            "— вход. Изменение ломает обратный проход, только если задет сохранённый тензор.",
        ),
    ),
)
def predict_in_place(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_in_place, former=_FORMER)}
