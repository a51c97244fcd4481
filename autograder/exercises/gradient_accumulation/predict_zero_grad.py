"""Extra exercise: predictions about a `.grad` of None and of zeros."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("None and zero", "None и ноль"),
    kind="predict",
    minutes=6,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "What does an optimizer do with a parameter whose `.grad` is None?",
            "Что оптимизатор делает с параметром, у которого `.grad` равен None?",
        ),
        Text(
            "Momentum: velocity = 0.9 * velocity + gradient; then w = w - 0.1 * velocity. Put in a gradient of 0.",
            "Импульс: velocity = 0.9 * velocity + gradient; затем w = w - 0.1 * velocity. Подставьте градиент 0.",
        ),
        Text(
            "After the first step velocity is 1 and w is 0.9. A gradient of 0 leaves a velocity of 0.9; None skips the "
            "parameter.",
            "После первого шага velocity равна 1, а w — 0.9. Градиент 0 оставляет velocity 0.9; None пропускает "
            "параметр.",
        ),
    ],
)
def predict_zero_grad(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_zero_grad)}


predict_zero_grad.wrong(
    "none_counts_as_zero",
    {"w: None, momentum": 0.81},
    en="None was taken for a gradient of zero. A parameter whose `.grad` is None is skipped, momentum and all.",
    ru="Значение None принято за нулевой градиент. Но параметр, у которого в `.grad` лежит None, пропускается целиком, "
    "вместе с импульсом.",
)


predict_zero_grad.wrong(
    "zero_stops_the_step",
    {"w: zero, momentum": 0.9},
    en="You expected a gradient of zero to stop the step. Momentum goes on moving the weight.",
    ru="Вы ожидали, что при нулевом градиенте шага не будет. Но вес продолжает меняться за счёт импульса.",
)


predict_zero_grad.wrong(
    "default_leaves_zeros",
    {"w.grad after zero_grad()": 0.0},
    en="You expected `zero_grad()` to leave zeros. By default it leaves None; zeros need `set_to_none=False`.",
    ru="Вы ожидали, что `zero_grad()` оставит нули. Но по умолчанию остаётся None; для нулей нужен "
    "`set_to_none=False`.",
)


predict_zero_grad.wrong(
    "moves_without_momentum",
    {"w: zero, no momentum": 0.81},
    en="You expected the weight to move without momentum too. Plain descent on a gradient of zero stays where it is.",
    ru="Вы ожидали, что вес изменится и без импульса. Но при обычном спуске с нулевым градиентом он остаётся на месте.",
)


predict_zero_grad.wrong(
    "both_leave_zeros",
    {"w.grad after zero_grad()": 0.0, "w: None, momentum": 0.81},
    en="You expected `zero_grad()` to leave zeros. By default it leaves None; zeros need `set_to_none=False`.",
    ru="Вы ожидали, что `zero_grad()` оставит нули. Но по умолчанию остаётся None; для нулей нужен "
    "`set_to_none=False`.",
)


predict_zero_grad.wrong(
    "swaps_the_flag",
    {
        "w.grad after zero_grad()": 0.0,
        "w: None, momentum": 0.81,
        "w.grad after zero_grad(set_to_none=False)": None,
        "w: zero, momentum": 0.9,
    },
    en="The two settings of `set_to_none` are swapped: None is the default, `set_to_none=False` leaves zeros.",
    ru="Перепутаны два значения `set_to_none`: по умолчанию там None, а нули оставляет `set_to_none=False`.",
)


predict_zero_grad.wrong(
    "uses_the_old_gradient_again",
    {"w: zero, momentum": 0.71},
    en="The old gradient was used a second time. It is zero now; only the velocity goes on, as $0.9$.",
    ru="Прежний градиент использован второй раз. Теперь он равен нулю, и действует только накопленная скорость, $0.9$.",
)


predict_zero_grad.wrong(
    "velocity_stays_one",
    {"w: zero, momentum": 0.8},
    en="The velocity stayed 1. Each step multiplies it by the momentum, $0.9$.",
    ru="Накопленная скорость осталась равной 1. На каждом шаге она умножается на коэффициент импульса $0.9$.",
)
