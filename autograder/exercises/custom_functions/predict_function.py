"""Core exercise: predictions about `forward` and `backward` of a custom Function."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What happens in `forward` and `backward`", "Что происходит в `forward` и `backward`"),
    kind="predict",
    core=True,
    minutes=12,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Does autograd compare the `10` in `backward` with anything? Who would tell it that the `10` is wrong?",
            "Сравнивает ли autograd число `10` в `backward` с чем-нибудь? Откуда известно, что `10` неверно?",
        ),
        Text(
            "Inside `forward` recording is off, although the inputs keep their flags. `backward` is recorded only when "
            "somebody asked for it. Without `apply` a `forward` is an ordinary function.",
            "Внутри `forward` отслеживание выключено, хотя флаги у входов прежние. `backward` записывается, только "
            "если об этом попросили. Без `apply` метод `forward` — обычная функция.",
        ),
        Text(
            "At the kink each operation has its own choice. One of them answers with the middle between 0 and 1. For "
            "`where` the condition decides: to which side does it send 0?",
            "На изломе у каждой операции свой выбор. Одна из них даёт середину между 0 и 1. В `where` всё решает "
            "условие: к какой стороне оно относит нуль?",
        ),
    ],
    why=Why(
        Text(
            "Why does autograd not notice a wrong derivative in `backward`?",
            "Почему autograd не замечает неверной производной в `backward`?",
        ),
        Text(
            "Recording is off in `forward`, so autograd has no derivative of its own to compare with. What "
            "`backward` returns goes on as the gradient.",
            "В `forward` запись выключена, поэтому своей производной, с которой можно сравнить, у autograd нет. "
            "Что вернёт `backward`, то и идёт дальше как градиент.",
        ),
    ),
)
def predict_function(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_function)}
