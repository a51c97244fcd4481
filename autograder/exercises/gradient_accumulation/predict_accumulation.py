"""Exercise: predictions about the contents of `.grad`."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What `.grad` holds", "Что лежит в `.grad`"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`backward()` never looks at what you did with an earlier gradient. Does it replace `.grad` or change it?",
            "Вызов `backward()` не учитывает, что вы делали с прошлым градиентом. Он заменяет `.grad` или изменяет "
            "его?",
        ),
        Text(
            "The second `backward()` adds to the same tensor in place. Ask of each name: is it that tensor, or a copy?",
            "Второй `backward()` прибавляет градиент к тому же тензору на месте. Для каждого имени спросите: это тот "
            "же тензор или копия?",
        ),
        Text(
            "The two gradients are −32 and −8. Of `first` and `copy` one is another name for `w.grad`: `...`.",
            "Два градиента равны −32 и −8. Одна из переменных `first` и `copy` — лишь другое имя для `w.grad`: `...`.",
        ),
    ],
    why=Why(
        Text(
            "Why does `first` change although nobody touched it?",
            "Почему меняется `first`, хотя его никто не трогал?",
        ),
        Text(
            "`first = w.grad` copies nothing, it gives the gradient's tensor a second name. The next "
            "`backward()` adds to that tensor in place, so both names show the sum.",
            "`first = w.grad` ничего не копирует, а даёт тензору с градиентом второе имя. Следующий `backward()` "
            "прибавляет к этому тензору новый градиент на месте, и сумма видна под обоими именами.",
        ),
    ),
)
def predict_accumulation(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_accumulation)}
