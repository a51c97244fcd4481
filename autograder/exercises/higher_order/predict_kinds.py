"""Extra exercise: predictions about complex and sparse gradients."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Complex and sparse", "Комплексные и разреженные градиенты"),
    kind="predict",
    minutes=7,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "$|z|^2 = x^2 + y^2$ for $z = x + iy$. What are the two partial derivatives?",
            "Для $z = x + iy$ верно $|z|^2 = x^2 + y^2$. Чему равны две частные производные?",
        ),
        Text(
            "$\\mathrm{Re}\\, z^2 = x^2 - y^2$. And an embedding stores a row for each index that it looked up, twice if "
            "the index came twice.",
            "$\\mathrm{Re}\\, z^2 = x^2 - y^2$. А у эмбеддинга хранится по строке на каждый прочитанный индекс, а "
            "если индекс встретился дважды — две строки.",
        ),
        Text(
            "Plain descent touches the stored rows only. What multiplies every weight, or keeps an average for each, "
            "needs the dense gradient.",
            "Обычному спуску достаточно хранимых строк. Тому, кто умножает каждый вес или хранит для каждого среднее, "
            "нужен плотный градиент.",
        ),
    ],
)
def predict_kinds(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_kinds, former=("gradient of a real leaf is complex", "SGD, momentum"))}
