"""Exercise: predictions about saved-tensor hooks."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text

# Rows of the table that a notebook released before asks for.
_FORMER = ("packs of x + 1", "packs of x.exp() under no_grad", "x ** 2 at 3 with pack = 4 * t")


@exercise(
    title=Text("Which saves the hooks see", "Какие сохранения видят хуки"),
    kind="predict",
    difficulty=2,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "When does an operation save its tensors: when it runs, or when backward comes?",
            "Когда операция сохраняет тензоры: когда выполняется или когда начинается обратный проход?",
        ),
        Text(
            "`pack` runs once per save while the operation runs, in the thread that entered the `with`; of two pairs "
            "only the inner one is called. `unpack` runs each time a saved tensor is needed.",
            "`pack` вызывается один раз на каждое сохранение, во время самой операции и в том потоке выполнения, где "
            "открыт блок `with`; из двух пар вызывается только внутренняя. `unpack` вызывается каждый раз, когда "
            "сохранённый тензор нужен.",
        ),
        Text(
            "`x * x` saves both factors, `x @ W` saves `x` and `W`. What `unpack` gives back is used as it is: for "
            "`x ** 2` the gradient is twice that.",
            "`x * x` сохраняет оба множителя, `x @ W` — `x` и `W`. То, что вернёт `unpack`, берётся как есть: градиент "
            "`x ** 2` вдвое больше этого значения.",
        ),
    ],
    why=Why(
        Text(
            "Why must hooks be on in the forward pass, and not in the backward pass?",
            "Почему хуки должны быть включены при прямом проходе, а не при обратном?",
        ),
        Text(
            "A tensor is packed at the moment an operation saves it, and the graph keeps the packed object "
            "together with its `unpack`. Backward calls that `unpack`, whatever is on by then.",
            "Тензор упаковывается, когда операция его сохраняет, и граф держит упакованное вместе с его "
            "`unpack`. Обратный проход вызывает этот `unpack`, что бы ни было включено к тому времени.",
        ),
    ),
)
def predict_hooks(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_hooks, former=_FORMER)}
