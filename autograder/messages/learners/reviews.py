"""Sentences of reviews, variants and placement."""

from __future__ import annotations

from ...language import Text

REVIEWS: dict[str, Text] = {
    # -- reviews ------------------------------------------------------------------------------------------------
    "review.title": Text("Due for review: {count}", "Пора повторить: {count}"),
    "review.now": Text("**{exercise}** (lesson {lesson})", "**{exercise}** (урок {lesson})"),
    "review.cell": Text(
        "The next cell (in a terminal: the next prompt) has a stub and the check. Answer there without looking the old "
        "answer up.",
        "В следующей ячейке (в терминале — в следующей строке ввода) заготовка и проверка. Ответьте в ней, не подглядывая "
        "в прежний ответ.",
    ),
    "review.text": Text(
        "Answer it again without looking the old answer up. This is the code to begin with:",
        "Ответьте ещё раз, не подглядывая в прежний ответ. Начните с этого кода:",
    ),
    "review.then": Text(
        "After its check, `review()` shows the next one.", "После проверки `review()` покажет следующее."
    ),
    "review.none": Text("Nothing is due for review.", "Повторять пока нечего."),
    "review.later": Text("The first exercise is due on {date}.", "Первое упражнение пора будет повторить {date}."),
    "review.never": Text(
        "An exercise that has passed its check comes back after 1, 3, 7 and 21 days.",
        "Упражнение, которое вы выполнили верно, возвращается через 1, 3, 7 и 21 день.",
    ),
    "again.absent": Text(
        "There are no variants of `{name}` here: they are computed from the lesson's source, which is not installed.",
        "Вариантов упражнения `{name}` здесь нет: они строятся по исходному файлу урока, а он не установлен.",
    ),
    "again.number": Text(
        'Variants are numbered from 1; {number} is none. `again("{name}")` shows a new one.',
        'Варианты нумеруются с 1, варианта {number} нет. Новый вариант покажет `again("{name}")`.',
    ),
    # -- placement --------------------------------------------------------------------------------------------------
    "placement.about": Text(
        "One row of each lesson's table, {total} questions, about a minute each. Read the program and do not run it in "
        "parts. What you know can be skipped. Leave `...` if you do not know.",
        "По одной строке из таблицы каждого урока: вопросов {total}, на каждый примерно минута. Прочитайте программу, "
        "но не запускайте её по частям. Уроки, материал которых вы знаете, можно будет пропустить. Если ответа не знаете, "
        "оставьте `...`.",
    ),
    "placement.title": Text("**Question {number} of {total}** · {lesson}", "**Вопрос {number} из {total}** · {lesson}"),
    "placement.cell": Text(
        "The program is in the next cell (in a terminal: the next prompt). Put your answer in place of `...`, and run it.",
        "Программа в следующей ячейке (в терминале — в следующей строке ввода). Поставьте ответ вместо `...` и выполните "
        "её.",
    ),
    "placement.row": Text(
        "What does {function}() return for {label!r}? Put it in place of the dots.",
        "Что вернёт {function}() для {label!r}? Поставьте ответ вместо многоточия.",
    ),
    "placement.right": Text("✓ Right.", "✓ Верно."),
    "placement.unknown_answer": Text("Not known yet: the lesson teaches it.", "Пока не знаете. Этому научит урок."),
    "placement.wrong": Text("✗ Not so. The lesson shows why.", "✗ Неверно. Почему — покажет урок."),
    "placement.done": Text("Where to begin", "С чего начать"),
    "placement.answer": Text("answer", "ответ"),
    "placement.proposal": Text("proposal", "предложение"),
    "placement.skip": Text("skip it, or read its last section", "пропустить или прочесть последний раздел"),
    "placement.begin": Text("begin here", "начать отсюда"),
    "placement.finished": Text("done", "пройден"),
    "placement.do": Text("do it", "пройти"),
    "placement.below": Text(
        "One row says little: a lesson that you skip stays open. Its exercises count as not done.",
        "По одной строке судить трудно: пропущенный урок остаётся открытым, а его упражнения считаются несделанными.",
    ),
    "placement.absent": Text(
        "There is no placement here: it is computed from the lessons' sources, which are not installed.",
        "Узнать, с какого урока начать, здесь нельзя: вопросы строятся по исходным файлам уроков, а они не "
        "установлены.",
    ),
    "placement.unknown": Text(
        "There is no question on `{name}`. `placement()` shows the next one.",
        "Вопроса по `{name}` нет. Следующий вопрос покажет `placement()`.",
    ),
}
