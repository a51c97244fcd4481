"""Sentences between the cells of every lesson."""

from __future__ import annotations

from ..language import Text, sentence

SAYS: dict[str, Text] = {
    "exercise": Text("### Exercise `{name}`: {title}", "### Упражнение `{name}`: {title}"),
    "extra": Text("### Extra exercise `{name}`: {title}", "### Дополнительное упражнение `{name}`: {title}"),
    "about": Text.same("*{kind} · {dots} · {minutes} · {points}*"),
    "about_extra": Text(
        "*{kind} · {dots} · {minutes} · {points} · extra*", "*{kind} · {dots} · {minutes} · {points} · дополнительно*"
    ),
    "stop": Text(
        "> **A place to stop.** About {done} of the core lie behind you, {left} before you.",
        "> **Здесь можно прерваться.** Основная часть: позади примерно {done}, впереди {left}.",
    ),
    "end": Text(
        "> **This is the end of the core.** Everything below is extra, {exercises} in about {minutes}, and "
        "counts only where your teacher says so: take what you need.",
        "> **Основная часть закончилась.** Дальше всё дополнительно: {exercises}, примерно {minutes}. В зачёт это идёт, только "
        "если так решил преподаватель: возьмите то, что вам пригодится.",
    ),
    "recall": Text(
        "**Two minutes of recall.** Two questions on what this lesson builds on. Say the answer, then open ours. Without "
        "points; in a hurry, go on.",
        "**Две минуты на повторение.** Два вопроса о том, на что опирается урок. Сначала ответьте, потом откройте наш ответ. "
        "Баллов за это нет, а если спешите, идите дальше.",
    ),
    "behind_table": Text(
        "Your table is complete? Read what it shows.", "Таблица заполнена? Прочтите, что из неё видно."
    ),
    "behind_check": Text(
        "Your answer has passed? Read what lay behind it.", "Проверка пройдена? Прочтите, в чём было дело."
    ),
    "your_turn": Text("**Your turn.**", "**Ваш ход.**"),
    "compare": Text("Tried it? Compare.", "Попробовали? Сравните."),
    "conditions": Text("Exact conditions", "Точные условия"),
}


def say(id: str, language: str, **parameters: object) -> str:
    """Return the sentence `id` in `language`, with `parameters` filled in."""
    return sentence(SAYS, id, language, parameters)
