"""Exercise: predictions about the exchanges of five loops."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Which pass is averaged?", "Градиенты какого прохода усредняются?"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`forward` fills `missing`, `arrived` empties it. In which of the two is `sync` read?",
            "Множество `missing` наполняет `forward`, а опустошает `arrived`. В каком из этих методов читается `sync`?",
        ),
        Text(
            "Every exchange averages what stands in `.grad` at that moment. What comes after it is added to the mean.",
            "Каждый обмен усредняет то, что лежит в `.grad` в этот момент. Всё, что приходит позже, прибавляется к "
            "среднему.",
        ),
        Text(
            "Two forward passes fill the same set twice. The first backward pass empties it and starts the exchange; "
            "the second finds it empty.",
            "Два прямых прохода дважды наполняют одно и то же множество. Первый обратный проход его опустошает и "
            "начинает обмен, а второй застаёт его пустым.",
        ),
    ],
    why=Why(
        Text(
            "Why do gradients differ between the ranks after two forward passes in a row?",
            "Почему после двух прямых проходов подряд градиенты рангов различаются?",
        ),
        Text(
            "Each forward pass arms the same exchange, so it is armed once. The first backward pass uses it up, and "
            "the second adds its gradient without any exchange.",
            "Каждый прямой проход готовит один и тот же обмен, и второй ничего не добавляет. Первый обратный проход "
            "начинает этот обмен, а второй прибавляет свой градиент уже без обмена.",
        ),
    ),
)
def predict_no_sync(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_no_sync)}
