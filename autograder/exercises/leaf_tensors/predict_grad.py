"""Exercise: predictions about which tensors get a gradient."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Who gets a gradient", "Кто получит градиент"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`backward()` walks from `loss` to the leaves. In which tensors does it leave something?",
            "`backward()` идёт от `loss` к листьям. В каких тензорах он что-то оставляет?",
        ),
        Text(
            "Leaves that require grad, and tensors that were asked in time to keep theirs. What they hold is the "
            "derivative of `loss`, not of the line they stand in.",
            "В листьях, которые требуют градиента, и в тензорах, для которых сохранение запрошено заранее. Там лежит "
            "производная `loss`, а не той строки, в которой они стоят.",
        ),
        Text(
            "`early` is 6, `late` is `...`. The derivative of `late ** 2` with respect to `late` is 22. A "
            "view of a leaf is no leaf; its gradient lands `...`.",
            "`early` равно 6, `late` равно `...`. Производная `late ** 2` по `late` равна 22. Представление "
            "листа — не лист, и его градиент попадает `...`.",
        ),
    ],
    why=Why(
        Text(
            "Why does `retain_grad()` have to come before `backward()`?",
            "Почему `retain_grad()` нужно вызвать до `backward()`?",
        ),
        Text(
            "The pass computes the gradient of every result on its way, hands it on and drops it. What nobody "
            "has asked for by then is gone when the pass is over.",
            "Проход вычисляет градиент каждого промежуточного результата, передаёт его дальше и отбрасывает. "
            "Если к этому времени никто не попросил его сохранить, после прохода его уже нет.",
        ),
    ),
)
def predict_grad(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_grad)}
