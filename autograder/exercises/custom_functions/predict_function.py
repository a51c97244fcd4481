"""Exercise: predictions about `forward` and `backward` of a custom Function."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text

_FORMER = (
    "a.requires_grad in forward",
    "Tenfold()(a, b)",
    "a None too many",
    "relu at 0",
    "maximum at 0",
    "where(x > 0) at 0",
    "where(x >= 0) at 0",
)


@exercise(
    title=Text("What happens in `forward` and `backward`", "Что происходит в `forward` и `backward`"),
    kind="predict",
    core=True,
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
            "`3 * result` multiplies the gradient by 3 before it arrives. And every argument of `apply` needs an entry "
            "in what `backward` returns, None included.",
            "В `3 * result` градиент умножается на 3 ещё до того, как придёт. И на каждый аргумент `apply` метод "
            "`backward` должен вернуть значение, хотя бы None.",
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
    return {"table": entries(answer.predict_function, former=_FORMER)}
