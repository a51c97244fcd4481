"""Exercise: predictions about which hooks run, how often and where."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Which hooks run", "Какие хуки сработают"),
    kind="predict",
    difficulty=2,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`w` is used twice, so two gradients come to it. Does the hook on `w` need each of them, or the complete one?",
            "`w` используется дважды, поэтому к нему приходят два градиента. Нужен ли хуку на `w` каждый из них или полный?",
        ),
        Text(
            "`autograd.grad` computes gradients on the usual way, and adds nothing to `.grad`. Which of the two hooks is "
            "about `.grad`?",
            "Вызов `autograd.grad` вычисляет градиенты обычным путём, но к `.grad` ничего не прибавляет. Который из двух "
            "хуков связан с `.grad`?",
        ),
        Text(
            "A hook stays with the value that the tensor had when the hook was registered. The loss is the new `h`, four "
            "times the old one.",
            "Хук остаётся с тем значением тензора, при котором он был зарегистрирован. Функция потерь — новое значение "
            "`h`, то есть старое, умноженное на 4.",
        ),
    ],
    why=Why(
        Text(
            "Why does the hook on `w` run once, although `w` is used twice?",
            "Почему хук на `w` вызывается один раз, хотя `w` используется дважды?",
        ),
        Text(
            "The node of `w` runs once per pass, when the gradients of all its uses have arrived and been added. The "
            "hook belongs to that node and gets the sum.",
            "Узел тензора `w` выполняется за проход один раз, когда градиенты всех его использований пришли и сложены. "
            "Хук относится к этому узлу и получает сумму.",
        ),
    ),
)
def predict_hook_calls(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_hook_calls)}
