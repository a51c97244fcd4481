"""Exercise: predictions about the moments at which hooks run."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("When a hook sees what", "Когда и что видит хук"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Walk backward: 5 arrives at `h`, its hooks run one after the other, then the gradient goes on to `w`. "
            "What does the second hook get?",
            "Пройдите назад: к `h` приходит 5, её хуки выполняются один за другим, потом градиент идёт к `w`. Что "
            "получит второй хук?",
        ),
        Text(
            "A tensor hook runs before anything is added to `.grad`; a post-accumulate hook runs after. "
            "`retain_grad()` keeps what is left after all hooks.",
            "Хук тензора выполняется раньше, чем градиент прибавлен к `.grad`, а post-accumulate — позже. После "
            "`retain_grad()` сохраняется то, что осталось после всех хуков.",
        ),
        Text(
            "On the way: 5, then ten times that, then `...`. In `w.grad` there was 100 before.",
            "По дороге: 5, потом вдесятеро больше, потом `...`. В `w.grad` до этого было 100.",
        ),
    ],
    why=Why(
        Text(
            "Why does a hook on a leaf not see what `.grad` already held?",
            "Почему хук листа не видит того, что уже лежало в `.grad`?",
        ),
        Text(
            "A tensor hook may replace the gradient of this pass, so it runs before anything is added. The "
            "earlier gradient joins only afterwards, in `.grad`.",
            "Хук тензора может заменить градиент этого прохода, поэтому вызывается до сложения. К прежнему "
            "градиенту новый прибавляется уже потом, в `.grad`.",
        ),
    ),
)
def predict_hook_order(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_hook_order)}
