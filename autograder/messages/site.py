"""Sentences of the site's pages, in both languages."""

from __future__ import annotations

from ..language import Text

WORDS = {
    "course": Text("torch.autograd, learned by doing", "torch.autograd на деле"),
    "about": Text(
        "A course on torch.autograd: read it here, answer predictions in the page, solve the exercises in notebooks.",
        "Курс по torch.autograd: уроки можно читать здесь, таблицы предсказаний — заполнять прямо на странице, а "
        "упражнения — решать в тетрадях Jupyter.",
    ),
    "promise": Text(
        "See what backward() does in your own code: predict, run, mend bugs that raise no error, and build the engine.",
        "Поймите, что делает backward() в вашем коде: предсказывайте, проверяйте, исправляйте ошибки, о которых никто "
        "не предупреждает, и напишите свой движок.",
    ),
    "begin": Text("Begin here", "Начать"),
    "question": Text("A question to begin with", "Вопрос для начала"),
    "question_is": Text(
        "Which numbers does this function return? Say it before you run anything.",
        "Какие числа вернёт эта функция? Ответьте, ничего не запуская.",
    ),
    "question_from": Text("It is from the lesson", "Он из урока"),
    "card": Text("A check that names the mistake", "Проверка, которая называет ошибку"),
    "card_about": Text(
        "In a notebook a wrong answer is not just wrong. The course holds each common mistake as a program, so the check "
        "can say which one yours behaves like.",
        "В тетради неверный ответ не просто неверен. Каждая типичная ошибка хранится в курсе как программа, поэтому "
        "проверка может сказать, на какую из них похож ваш ответ.",
    ),
    "card_shows": Text(
        "A wrong answer in a notebook, and below it the card of the check: what holds, what does not, and which mistake "
        "it looks like",
        "Неверный ответ в тетради, а под ним карточка проверки: что выполнено, что нет и на какую ошибку это похоже",
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
    "colab": Text("Open in Colab", "Открыть в Colab"),
    "download": Text("Download this notebook", "Скачать эту тетрадь"),
    "install": Text(
        "To run it, install the course first: `%pip install {package}`.",
        "Чтобы выполнять ячейки, сначала установите курс: `%pip install {package}`.",
    ),
    "install_file": Text(
        'To run it, install the course first: `%pip install "FILE"`. FILE is the wheel that `make wheel` writes.',
        'Чтобы выполнять ячейки, сначала установите курс: `%pip install "ФАЙЛ"`. ФАЙЛ — это wheel, который создаёт '
        "`make wheel`.",
    ),
    "share": Text(
        "The graph behind a loss, with what it has saved",
        "Граф функции потерь, на котором видно, что в нём сохранено",
    ),
    "paths": Text("Paths through the course", "Пути по курсу"),
    "paths_about": Text(
        "Not all of it: a path has the lessons and exercises that one purpose needs, with the hours of a first reader.",
        "Не обязательно проходить всё: в пути есть уроки и упражнения для одной цели, а часы рассчитаны на тех, кто "
        "встречает их впервые.",
    ),
    "path_hours": Text("{hours} hours.", "Часов: {hours}."),
    "path_afterwards": Text("Afterwards you can:", "После этого вы сможете:"),
    "path_week": Text("week", "неделя"),
    "path_evening": Text("evening", "вечер"),
    "path_part": Text("part", "часть"),
    "path_lesson": Text("lesson", "урок"),
    "path_counts": Text("what counts", "что идёт в зачёт"),
    "path_short": Text("Short of time? Choose a path:", "Мало времени? Выберите путь:"),
    "hours": Text("h", "ч"),
    "way": Text("The way through the course", "Путь по курсу"),
    "way_about": Text(
        "An arrow leads from a lesson to those whose exercises use its ideas.",
        "Стрелка ведёт от урока к тем, в упражнениях которых нужны его идеи.",
    ),
    "teaching": Text("For instructors: the course in five minutes", "Преподавателю: о курсе за пять минут"),
    "search_about": Text(
        "Search the lessons and the explained errors by words.",
        "Поиск по урокам и объяснениям ошибок.",
    ),
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
    "folded": Text("Show the code", "Показать код"),
    "compare": Text("Compare", "Сравнить"),
    "said_right": Text("I said the same", "Мой ответ такой же"),
    "said_wrong": Text("I did not", "Мой ответ другой"),
    "noted": Text("Noted in this browser.", "Записано в этом браузере."),
    "as_code": Text("The same table as code", "Та же таблица в виде кода"),
    "write": Text(
        "Write a value as in Python: `0.5`, `None`, `True`, `[1, 2]`, `RuntimeError`. Your answers stay in this browser.",
        "Записывайте значения как в Python: `0.5`, `None`, `True`, `[1, 2]`, `RuntimeError`. Ответы хранятся только в "
        "этом браузере.",
    ),
    "errors": Text("Errors and warnings, explained", "Объяснения ошибок и предупреждений"),
    "errors_about": Text(
        "What torch.autograd's errors and warnings mean: cause, cure, and the smallest program that raises each.",
        "Что означают ошибки и предупреждения torch.autograd: причина, исправление и наименьшая программа, которая "
        "их вызывает.",
    ),
    "error_cause": Text("Cause and cure", "Причина и исправление"),
    "error_program": Text("The smallest program that shows it", "Наименьшая программа, в которой это происходит"),
    "error_output": Text("What Python prints, with torch {version}", "Что выводит Python с torch {version}"),
    "error_others": Text("The same text has other causes", "Другие причины того же сообщения"),
    "error_taught": Text("The lesson [{title}]({page}.html) is about this.", "Об этом — урок [{title}]({page}.html)."),
    "error_practised": Text(
        "Its exercise [`{exercise}`]({page}.html#{exercise}) is about it.",
        "Об этом же — упражнение [`{exercise}`]({page}.html#{exercise}).",
    ),
    "error_device": Text(
        "It needs a GPU: there is no program here that raises it.",
        "Для этой ошибки нужен графический процессор, поэтому программы здесь нет.",
    ),
    "error_no_cure": Text(
        "No program is shown here: this error needs a GPU, or torch sometimes hangs in place of it.",
        "Программы здесь нет: для этой ошибки нужен графический процессор, или torch вместо неё иногда зависает.",
    ),
    "error_cure": Text("The cure as a program", "Исправленная программа"),
    "error_without": Text("A program without it", "Программа без этой ошибки"),
    "error_difference": Text(
        "The struck-out lines after “−” go, those after “+” come. A copy holds the mended program alone.",
        "Зачёркнутые строки со знаком «−» убраны, строки со знаком «+» добавлены. Копируется только исправленная программа.",
    ),
    "error_met": Text(
        "The device `meta` stands for a GPU here, so that it runs on every machine. torch words it a little differently.",
        "Вместо GPU здесь устройство `meta`, чтобы программу можно было выполнить на любой машине. Текст сообщения "
        "немного отличается.",
    ),
    "error_graph": Text("The graph at that moment", "Граф в этот момент"),
    "error_similar": Text("Similar errors", "Похожие ошибки"),
    "asked": Text("People look for this lesson with", "По каким вопросам сюда приходят"),
    "search": Text("Search", "Поиск"),
    "search_for": Text("An error's message, or words of a subject:", "Сообщение об ошибке или слова по теме:"),
    "search_none": Text("Nothing was found: try fewer words.", "Ничего не найдено: попробуйте меньше слов."),
    "search_server": Text(
        "Search works only where the pages come from a server: python -m http.server in the folder of the site. Without "
        "one, look through the page “Errors and warnings, explained”.",
        "Поиск работает, только если страницы отдаёт сервер: выполните python -m http.server в папке сайта. Без сервера "
        "просмотрите страницу «Объяснения ошибок и предупреждений».",
    ),
    "needs_script": Text("Without JavaScript nothing is checked here.", "Без JavaScript проверка здесь не работает."),
    "right": Text("✓ right", "✓ верно"),
    "wrong": Text("✗ not yet", "✗ пока неверно"),
    "empty": Text("… empty", "… пусто"),
    "comma": Text("write the decimal point: 4.5", "дробь пишут с точкой: 4.5"),
    "casual": Text(
        "not one of the answers: use a value of the question", "такого ответа нет: возьмите значение из вопроса"
    ),
    "all_right": Text("Every entry is right.", "Все строки верны."),
    "some": Text("Right so far: {right} of {total}.", "Пока верно: {right} из {total}."),
    "looks_like": Text("It looks like this:", "Похоже на такую ошибку:"),
}
