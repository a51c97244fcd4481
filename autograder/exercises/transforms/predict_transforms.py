"""Exercise: predictions about the transforms that a custom Function accepts."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Who accepts which Function", "Какую функцию примет преобразование"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Which methods does each class have? Which of them does the transform need to call?",
            "Какие методы есть у каждого класса? Какие из них понадобятся преобразованию?",
        ),
        Text(
            "`jacrev` is `vmap` over the backward pass, `jacfwd` is `vmap` over forward mode. Which methods run with a "
            "batch inside?",
            "`jacrev` — это `vmap` поверх обратного прохода, а `jacfwd` — `vmap` поверх прямого режима. Какие методы при "
            "этом выполняются с батчем?",
        ),
        Text(
            "`backward` of `Cube` consists of torch operations, which `vmap` knows. `forward` is called as a whole, and "
            "for that `vmap` wants a rule.",
            "Метод `backward` класса `Cube` состоит из операций torch, которые `vmap` знает. Метод `forward` "
            "вызывается целиком: внутрь него `vmap` не заглядывает, поэтому нужно правило.",
        ),
    ],
    why=Why(
        Text(
            "Why does `jacrev` accept a Function that `vmap` refuses?",
            "Почему `jacrev` принимает функцию, которую `vmap` отвергает?",
        ),
        Text(
            "In `jacrev` the forward pass runs once, without a batch. The batch is one of cotangents, and it meets only "
            "`backward`, whose torch operations `vmap` knows.",
            "В `jacrev` прямой проход выполняется один раз и без батча. Батч здесь состоит из ковекторов и попадает "
            "только в `backward`, операции которого `vmap` знает.",
        ),
    ),
)
def predict_transforms(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_transforms)}
