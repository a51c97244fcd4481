"""Sentences of the site's pages for instructors, in both languages."""

from __future__ import annotations

from ..language import Text

SAYS = {
    "instructors": Text("For instructors", "Преподавателю"),
    "about": Text(
        "What a class gets, how it is graded, how long it takes, and the first commands.",
        "Что получает группа, как проверяются работы, сколько времени занимает курс и с каких команд начать.",
    ),
    "figures": Text(
        "The course has {lessons} lessons, {hours} hours in all, and {exercises} exercises, {core} of which count. Its "
        "checks know {mistakes} mistakes by name.",
        "Уроков в курсе: {lessons}, всего часов: {hours}, упражнений: {exercises}, из них в зачёт идут {core}. Типичных "
        "ошибок, которые распознают проверки: {mistakes}.",
    ),
    "seen": Text("What a student sees", "Что видит студент"),
    "report": Text("What you see of the class", "Что вы узнаёте о группе"),
    "pictures": Text("What students draw of their own tensors", "Рисунки по собственным тензорам студента"),
    "commands": Text("The first commands", "Первые команды"),
    "systems": Text("With an LMS", "Если работы сдаются в LMS"),
    "tables": Text(
        "`autograder collect` reads submissions of {read}, and plain folders; `autograder return` fills in the tables of "
        "grades of {written}.",
        "Команда `autograder collect` читает работы из {read} и из обычных папок, а `autograder return` заполняет "
        "таблицы оценок {written}.",
    ),
    "promises": Text("What grading guarantees", "Что гарантирует проверка"),
    "time": Text("How long it takes", "Сколько времени занимает курс"),
    "minutes": Text(
        "Minutes of reading and of the exercises that count; extra exercises come on top.",
        "В минутах указано время на чтение и на упражнения, которые идут в зачёт; дополнительные упражнения — сверх него.",
    ),
    "columns": Text("| lesson | min | graded | extra |", "| урок | мин | в зачёт | доп. |"),
    "questions": Text("What instructors ask", "О чём спрашивают преподаватели"),
    "guide_about": Text(
        "The guide for instructors: a question, the command, and what it prints.",
        "Руководство для преподавателя: вопрос, команда и то, что она выводит.",
    ),
}
