"""Sentences of the page on what a learner has done."""

from __future__ import annotations

from ..language import Text

WORDS = {
    "title": Text("torch.autograd: what I have done", "torch.autograd: что пройдено и сделано"),
    "name": Text("Name", "Имя"),
    "period": Text("From {first} to {last}", "С {first} по {last}"),
    "days": Text("Days with checks", "Дней с проверками"),
    "passed": Text("Exercises passed", "Сделано упражнений"),
    "at_once": Text("Right at the first check", "Верно с первой проверки"),
    "overcome": Text("Misconceptions overcome", "Исправлено ошибок"),
    "reviews": Text("Right in reviews", "Верно при повторении"),
    "lessons": Text("Lessons", "Уроки"),
    "lesson": Text("Lesson", "Урок"),
    "core": Text("Core", "Основные"),
    "extra": Text("Extra", "Дополнительные"),
    "first_try": Text("First check right", "Верно с первого раза"),
    "dates": Text("Dates", "Даты"),
    "mistakes": Text("Misconceptions overcome", "Исправленные ошибки"),
    "mistakes_about": Text(
        "A check recognised each of these in an answer; a later answer to the same exercise passed.",
        "Каждую из этих ошибок проверка распознала в ответе, а более поздний ответ на то же упражнение оказался верным.",
    ),
    "open": Text("Still open", "Ещё не исправлены"),
    "none": Text("None so far.", "Пока ни одной."),
    "about": Text(
        "This page is computed from the history of checks on the learner's own machine, on {date}. It says what was "
        "done and when. It is neither a certificate nor a grade: nobody watched, solutions could be opened, and the file "
        "could be edited.",
        "Страница составлена по истории проверок на компьютере самого учащегося ({date}). Она говорит, что и когда "
        "было сделано. Это не сертификат и не оценка: за работой никто не наблюдал, решения можно было открыть, а "
        "файл — изменить.",
    ),
    "broken": Text(
        "Lines of the history that could not be read and are not counted: {count}.",
        "Строк истории, которые не удалось прочитать и которые не учтены: {count}.",
    ),
}
