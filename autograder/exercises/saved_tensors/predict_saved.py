"""Exercise: predictions about saved tensors."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text

# Rows of the table that a notebook released before asks for.
_FORMER = ("x.sin()", "x + 1", "x * x.sigmoid()", "x.sum()")


@exercise(
    title=Text("What an operation keeps", "Что хранит операция"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Write the derivative of each function. Which tensors stand in it: the input, the result, the other "
            "factor?",
            "Выпишите производную каждой функции. Какие тензоры в неё входят: вход, результат, второй множитель?",
        ),
        Text(
            "`x` takes 65,536 bytes, `W` takes 262,144, a boolean takes one byte. A derivative that is a constant needs "
            "no tensor; a tensor that is saved twice lies in memory once.",
            "Тензор `x` занимает 65 536 байт, `W` — 262 144, логическое значение — один байт. Если производная "
            "постоянна, тензоры не нужны; тензор, сохранённый дважды, лежит в памяти один раз.",
        ),
        Text(
            "For `x @ W` the gradient of `x` needs `W` and the gradient of `W` needs `x`. `frozen` asks for no "
            "gradient. A slice is a view: it keeps the whole storage.",
            "В `x @ W` для градиента `x` нужен `W`, а для градиента `W` нужен `x`. Тензор `frozen` градиента не "
            "требует. Срез — это представление: он удерживает всё хранилище.",
        ),
    ],
    why=Why(
        Text(
            "Why does `x[:2].sin()` keep all 64 rows in memory?",
            "Почему `x[:2].sin()` держит в памяти все 64 строки?",
        ),
        Text(
            "`sin` saves its input, here a slice, and a slice is a view. It has no memory of its own, so the "
            "whole storage stays alive.",
            "`sin` сохраняет свой вход, здесь это срез, а срез — это представление. Своей памяти у него нет, "
            "поэтому в памяти остаётся всё хранилище.",
        ),
    ),
)
def predict_saved(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_saved, former=_FORMER)}
