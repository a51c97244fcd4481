"""Sentences of the site's pages, in both languages."""

from __future__ import annotations

from ..language import Text

WORDS = {
    "course": Text("torch.autograd, learned by doing", "torch.autograd на деле"),
    "about": Text(
        "A course on torch.autograd: read it here, answer predictions in the page, solve the exercises in notebooks.",
        "Курс по torch.autograd: уроки можно читать здесь, на предсказания — отвечать прямо на странице, а упражнения "
        "решать в тетрадях Jupyter.",
    ),
    "language": Text("Русский", "English"),
    "home": Text("All lessons", "Все уроки"),
    "skip": Text("Skip to the text", "Перейти к тексту"),
    "contents": Text("On this page", "На этой странице"),
    "previous": Text("Previous", "Назад"),
    "next": Text("Next", "Дальше"),
    "between": Text("Neighbouring lessons", "Соседние уроки"),
    "minutes": Text("minutes", "мин"),
    "needs": Text("first: {needs}", "сначала: {needs}"),
    "lessons": Text("Lessons", "Уроки"),
    "more": Text("To look up", "Справочные страницы"),
    "hints": Text("Hints", "Подсказки"),
    "hint": Text("Hint {number}", "Подсказка {number}"),
    "in_notebook": Text(
        'Answer in the notebook: run the cell there, then `check("{name}")`.',
        'Отвечайте в тетради: выполните там ячейку, а затем `check("{name}")`.',
    ),
    "written": Text("Answer in the notebook, in your own words.", "Ответьте в тетради своими словами."),
    "spoiler": Text("Show the output: it gives the table away", "Показать вывод: в нём ответы к таблице"),
    "needs_answer": Text(
        "This cell needs your answer: run it in the notebook.",
        "Для этой ячейки нужен ваш ответ: выполните её в тетради.",
    ),
    "check": Text("Check", "Проверить"),
    "reset": Text("Clear", "Очистить"),
    "entry": Text("Expression", "Выражение"),
    "prediction": Text("Your prediction", "Ваше предсказание"),
    "prediction_of": Text("Your prediction: {entry}", "Ваше предсказание: {entry}"),
    "outcome": Text("Result", "Результат"),
    "as_code": Text("The same table as code", "Та же таблица в виде кода"),
    "write": Text(
        "Write a value as in Python: `0.5`, `None`, `True`, `[1, 2]`, `RuntimeError`. Your answers stay in this browser.",
        "Записывайте значения как в Python: `0.5`, `None`, `True`, `[1, 2]`, `RuntimeError`. Ответы хранятся только в "
        "этом браузере.",
    ),
    "needs_script": Text("Without JavaScript nothing is checked here.", "Без JavaScript проверка здесь не работает."),
    "right": Text("✓ right", "✓ верно"),
    "wrong": Text("✗ not yet", "✗ пока неверно"),
    "empty": Text("… empty", "… пусто"),
    "all_right": Text("Every entry is right.", "Все строки верны."),
    "some": Text("Right so far: {right} of {total}.", "Пока верно: {right} из {total}."),
    "looks_like": Text("It looks like this:", "Похоже на такую ошибку:"),
}
