"""Exercise: predictions about grad modes."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text

# Rows of the table that a notebook released before asks for.
_FORMER = (
    "w * 2 after a line torch.no_grad()",
    "torch.ones(2, requires_grad=True) under no_grad",
    "w * 2, enable_grad in no_grad",
    "f.clone() * w",
)


@exercise(
    title=Text("What the modes let happen", "Что разрешает каждый режим"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Ask of each line: which mode is on at that moment, and does the line make a new result or use an old one?",
            "Спросите о каждой строке: какой режим включён в этот момент и что делает строка — создаёт новый "
            "результат или берёт старый?",
        ),
        Text(
            "`no_grad` stops the recording of new operations and nothing else. `inference_mode` also marks what is "
            "made inside. `eval` is a switch of layers.",
            "`no_grad` отключает запись новых операций в граф, и больше ничего. `inference_mode` вдобавок помечает "
            "всё, что создано внутри. `eval` переключает слои.",
        ),
        Text(
            "An inference tensor is refused where it would be saved for backward or edited: a product saves a "
            "factor when the other one requires grad, a sum saves nothing.",
            "Inference-тензор отвергают там, где его пришлось бы сохранить для обратного прохода или изменить: "
            "произведение сохраняет множитель, если другой требует градиента, сумма не сохраняет ничего.",
        ),
    ],
    why=Why(
        Text(
            "Why may a tensor from `inference_mode()` be added to `w`, but not multiplied by `w`?",
            "Почему тензор из `inference_mode()` можно сложить с `w`, но нельзя умножить на `w`?",
        ),
        Text(
            "For the gradient of `w` a product needs the other factor and would save it, which such a tensor "
            "refuses. For the derivative of a sum nothing is needed.",
            "Для градиента `w` произведению нужен второй множитель, его пришлось бы сохранить для обратного "
            "прохода, а такой тензор сохранять нельзя. Для производной суммы не нужно ничего.",
        ),
    ),
)
def predict_modes(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_modes, former=_FORMER)}
