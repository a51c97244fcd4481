"""Exercise: predictions about what reaches the parameter of a solver."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What reaches the parameter", "Что доходит до параметра"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Where does `z` come to rest? Solve $z = wz + 3$ for $w = 0.5$.",
            "Где `z` перестаёт меняться? Решите уравнение $z = wz + 3$ при $w = 0.5$.",
        ),
        Text(
            "Inside one recorded step the incoming `z` is a constant. What is the derivative of `w * z + 3` by `w` then?",
            "В одном записанном шаге `z` на входе — константа. Чему тогда равна производная `w * z + 3` по `w`?",
        ),
        Text(
            "With each further step the derivative so far is multiplied by the slope $w$, and one more `z` is added.",
            "С каждым следующим шагом накопленная производная умножается на наклон $w$, и к ней прибавляется ещё одно `z`.",
        ),
    ],
    why=Why(
        Text(
            "Why is one recorded step at the fixed point not enough?",
            "Почему одного записанного шага в неподвижной точке мало?",
        ),
        Text(
            "The step takes its input as a constant. But the fixed point moves with the parameter as well, and the step "
            "hands this movement on, again and again.",
            "Для этого шага его вход — константа. Но вместе с параметром сдвигается и сама неподвижная точка, а шаг "
            "передаёт этот сдвиг дальше, снова и снова.",
        ),
    ),
)
def predict_solvers(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_solvers)}
