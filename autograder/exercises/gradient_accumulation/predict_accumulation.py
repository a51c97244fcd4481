"""Core exercise: predictions about the contents of `.grad`."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What `.grad` holds", "Что лежит в `.grad`"),
    kind="predict",
    core=True,
    minutes=6,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`backward()` never looks at what you did with an earlier gradient. Does it replace `.grad` or change it?",
            "Вызов `backward()` не учитывает, что вы делали с прошлым градиентом. Он заменяет `.grad` или изменяет "
            "его?",
        ),
        Text(
            "The second `backward()` adds to the same tensor in place. Ask of each name: is it that tensor, or a copy?",
            "Второй `backward()` прибавляет к тому же тензору на месте. Для каждого имени спросите: это тот же тензор "
            "или копия?",
        ),
        Text(
            "The two gradients are −32 and −8. `first` is another name for `w.grad`; `copy` is not.",
            "Два градиента равны −32 и −8. `first` — другое имя для `w.grad`, а `copy` — нет.",
        ),
    ],
)
def predict_accumulation(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_accumulation)}


predict_accumulation.wrong(
    "backward_overwrites",
    {"w.grad after the second backward": -8.0},
    en="You expected the second `backward()` to replace the first gradient. It adds to it.",
    ru="Вы ожидали, что второй `backward()` заменит первый градиент. Но новый градиент прибавляется к нему.",
)


predict_accumulation.wrong(
    "alias_is_a_snapshot",
    {"first": -32.0},
    en="`first = w.grad` was taken for a snapshot. It is a second name for the tensor that the next `backward()` adds "
    "to.",
    ru="Строка `first = w.grad` принята за снимок. Но это второе имя того же тензора, к которому прибавляет следующий "
    "`backward()`.",
)


predict_accumulation.wrong(
    "clone_is_an_alias",
    {"copy": -40.0},
    en="You expected `clone()` to stay connected to `w.grad`. A clone has its own memory.",
    ru="Вы ожидали, что результат `clone()` меняется вместе с `w.grad`. Но у копии своя память.",
)


predict_accumulation.wrong(
    "zero_grad_leaves_zeros",
    {"w.grad after zero_grad": 0.0},
    en="You expected `zero_grad()` to leave a tensor of zeros. By default it puts None there.",
    ru="Вы ожидали, что `zero_grad()` оставит тензор из нулей. Но по умолчанию там остаётся None.",
)


predict_accumulation.wrong(
    "starts_at_zero",
    {"w.grad before": 0.0},
    en="You expected `.grad` to be zero before any backward pass. Until the first one it is None.",
    ru="Вы ожидали, что до первого обратного прохода в `.grad` лежит ноль. Но до него там None.",
)


predict_accumulation.wrong(
    "takes_the_mean",
    {"first": -20.0, "w.grad after the second backward": -20.0},
    en="The two gradients were averaged. `.grad` holds their sum.",
    ru="Взято среднее двух градиентов, а в `.grad` лежит их сумма.",
)


predict_accumulation.wrong(
    "wrong_sign",
    {"copy": 32.0},
    en="The sign is wrong: a larger `w` makes the loss smaller here.",
    ru="Неверен знак: чем больше `w`, тем меньше здесь функция потерь.",
)
