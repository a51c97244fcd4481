"""Exercise: predictions about the bytes that policies keep."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What a policy keeps", "Что хранится при разных политиках"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Without a checkpoint ask what the derivative of each operation needs. Under a policy ask only which "
            "results are on the list.",
            "Если контрольной точки нет, спросите себя, что нужно производной каждой операции. А если есть политика, "
            "важно только, какие операции стоят в списке.",
        ),
        Text(
            "The result of the network is in memory in any case, and it counts once, also if a policy saves it.",
            "Выход сети лежит в памяти в любом случае и учитывается один раз, даже если его сохраняет ещё и политика.",
        ),
        Text(
            "`tanh` saves its result, and the next `Linear` saves the same tensor. The result of `addmm` is needed by "
            "no derivative here.",
            "`tanh` сохраняет свой результат, и следующий `Linear` сохраняет тот же тензор. А результат `addmm` ни "
            "одной производной здесь не нужен.",
        ),
    ],
    why=Why(
        Text(
            "Why can a policy that saves everything keep more than no checkpoint?",
            "Почему политика «сохранять всё» может хранить больше, чем сеть без контрольной точки?",
        ),
        Text(
            "A graph keeps what derivatives need. A policy keeps results of the listed operations, so that they need "
            "not run again, also those that no derivative asks for.",
            "Граф хранит то, что нужно производным. Политика хранит результаты указанных операций, чтобы не выполнять "
            "их заново, в том числе и те, которые ни одной производной не нужны.",
        ),
    ),
)
def predict_kept(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_kept)}
