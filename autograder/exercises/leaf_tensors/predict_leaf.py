"""Exercise: predictions about leaf tensors."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Which of them are leaves", "Какие тензоры листовые"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Ask of each tensor: was there an operation, was recording on, and did one of its inputs require grad?",
            "Спросите о каждом тензоре: была ли операция, было ли включено отслеживание и требовал ли градиента хоть "
            "один вход?",
        ),
        Text(
            "Three answers are possible: `(True, True)`, `(True, False)`, `(False, True)`. A tensor that does not "
            "require grad is always a leaf.",
            "Возможны три ответа: `(True, True)`, `(True, False)`, `(False, True)`. Тензор, который не требует "
            "градиента, всегда листовой.",
        ),
        Text(
            "A comparison has no derivative to speak of, `round` has one (zero). `.to` with nothing to do returns the "
            "tensor itself. `Parameter` starts a new leaf.",
            "У сравнения производной нет, у `round` она есть (ноль). Если менять нечего, `.to` возвращает сам тензор. "
            "Вызов `Parameter` создаёт новый лист.",
        ),
    ],
    why=Why(
        Text(
            "Why is `torch.nn.Parameter(w * 2)` a leaf, though `w * 2` is not?",
            "Почему `torch.nn.Parameter(w * 2)` — лист, хотя `w * 2` — нет?",
        ),
        Text(
            "A leaf is a tensor without a `grad_fn`. `Parameter` takes the numbers and leaves the history "
            "behind, so no gradient goes from it to `w`.",
            "Лист — это тензор без `grad_fn`. `Parameter` берёт только числа, без истории, поэтому градиент от "
            "него к `w` не пойдёт.",
        ),
    ),
)
def predict_leaf(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_leaf)}
