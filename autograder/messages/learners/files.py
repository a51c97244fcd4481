"""Sentences on a learner's files: answers, working copies, finished notebooks."""

from __future__ import annotations

from ...language import Text

FILES: dict[str, Text] = {
    # -- answers in a plain file ------------------------------------------------------------------------------------
    "file.nothing": Text(
        "{file} defines nothing that an exercise asks for: give your function the name from the exercise, such as "
        "`def accumulate_equal(model, batches):`",
        "в файле {file} нет ничего, о чём просит упражнение: назовите функцию так, как в упражнении, например "
        "`def accumulate_equal(model, batches):`",
    ),
    "file.suffix": Text(
        "{file} is no Python file: name a file that ends in .py. A notebook is checked by its own cells, and by "
        "`ready()`",
        "{file} — не файл Python: назовите файл, имя которого кончается на .py. Тетрадь проверяют в ней самой: "
        "ячейками с проверкой и вызовом `ready()`",
    ),
    "file.unreadable": Text(
        "{file} cannot be read ({error}): name a text file in UTF-8",
        "файл {file} не удаётся прочитать ({error}): назовите текстовый файл в кодировке UTF-8",
    ),
    "file.near": Text(
        "`{name}` is no exercise. Did you mean `{near}`?", "Упражнения `{name}` нет. Может быть, `{near}`?"
    ),
    "file.broken": Text("Line {line} raises {error}:", "Строка {line} вызывает {error}:"),
    "file.passed": Text("Passed: {count} of {total}", "Верно: {count} из {total}"),
    "review.since": Text("days due", "дней ждёт"),
    "review.today": Text("since today", "с сегодняшнего дня"),
    "review.mistake": Text("misconception seen", "ошибка распознана"),
    "review.yes": Text("yes", "да"),
    "review.command": Text(
        "In a notebook: `from autograder import review; review()`. A whole exercise, in a file: `autograder again "
        "EXERCISE`; its check counts as the review.",
        "В тетради: `from autograder import review; review()`. Упражнение целиком, в файле: `autograder again УПРАЖНЕНИЕ`; "
        "его проверка засчитывается как повторение.",
    ),
    "review.ahead": Text(
        "Checks dated later than this machine's clock: {count}; they count as made when the check before them was.",
        "Проверок с датой позже, чем на часах этой машины: {count}; считается, что они сделаны тогда же, когда "
        "предыдущая проверка.",
    ),
    "review.broken": Text(
        "Damaged lines in the history: {count}; they stay in the file and are not counted.",
        "Повреждённых строк в истории: {count}; они остаются в файле и не учитываются.",
    ),
    "review.foreign": Text(
        "Lines of another version of the course in the history: {count}; they stay in the file and are not counted.",
        "Строк другой версии курса в истории: {count}; они остаются в файле и не учитываются.",
    ),
    "review.gone": Text(
        "Not found here, perhaps renamed or of a lesson that is elsewhere: {names}; their checks stay in the history.",
        "Здесь не найдены — возможно, переименованы или из урока, которого тут нет: {names}; их проверки остаются в "
        "истории.",
    ),
    "review.changed": Text(
        "Changed since you passed them: {names}.", "Изменились после вашего верного ответа: {names}."
    ),
    "review.refused": Text(
        "The history cannot be read, so nothing is known to be due: {error}. Allow reading, or name another folder in "
        "AUTOGRADER_HOME.",
        "Историю не удаётся прочитать, поэтому неизвестно, что пора повторить: {error}. Разрешите чтение или укажите "
        "другую папку в AUTOGRADER_HOME.",
    ),
    # -- the working copy ---------------------------------------------------------------------------------------
    "lab.no_lessons": Text(
        "There are no lessons in {folder}. Run this in the course repository.",
        "В папке {folder} нет уроков. Запустите команду в репозитории курса.",
    ),
    "lab.newer": Text(
        "{name}: there is a newer version of the lesson. Your answers carried over: {count}.",
        "{name}: вышла новая версия урока. Перенесено ваших ответов: {count}.",
    ),
    "lab.carried": Text(
        "{name}: answers carried over from {path}: {count}.",
        "{name}: перенесено ответов из {path}: {count}.",
    ),
    "lab.gone": Text(
        "{name}: no longer in the lesson: {names}. These answers stay in the previous copy.",
        "{name}: в уроке больше нет: {names}. Эти ответы остались в прежней копии.",
    ),
    "lab.kept": Text(
        "{name}: the previous copy, with everything you added to it, is {path}.",
        "{name}: прежняя копия со всем, что вы в неё добавили, лежит в {path}.",
    ),
    "lab.unreadable": Text(
        "{path} cannot be read as a notebook ({error}). It was left as it is. "
        "For a fresh copy, give this file another name and run the command again.",
        "{path} не читается как тетрадь ({error}). Файл оставлен как есть. "
        "Чтобы получить чистую копию, переименуйте его и запустите команду снова.",
    ),
    "lab.unreadable_other": Text(
        "{path} cannot be read as a notebook ({error}), so no answers were carried over from it.",
        "{path} не читается как тетрадь ({error}), поэтому ответы из него не перенесены.",
    ),
    "lab.address": Text(
        "JupyterLab is here: {url}\nTo stop it, press Ctrl+C in this terminal.",
        "JupyterLab открыт по адресу: {url}\nЧтобы остановить его, нажмите Ctrl+C в этом терминале.",
    ),
    "ready.title": Text("Ready to hand in", "Готово к сдаче"),
    "ready.not": Text("Before you hand in", "Прежде чем сдавать"),
    "ready.running": Text("Running {name} in a fresh process …", "Выполняю {name} в новом процессе …"),
    "ready.total": Text(
        "Points for checks in a fresh run: {earned} of {maximum}.",
        "Баллов за проверки при новом запуске: {earned} из {maximum}.",
    ),
    "ready.manual": Text(
        "Points given by a person: {points}; in the grade {total} in all.",
        "Баллов, которые ставит преподаватель: {points}; всего в зачёт: {total}.",
    ),
    "ready.unsaved": Text(
        "The saved file differs from what you ran, in: {names}. Save (Ctrl+S) and run ready() again.",
        "Сохранённый файл отличается от выполненного: {names}. Сохраните (Ctrl+S) и снова вызовите ready().",
    ),
    "ready.nothing": Text(
        "The saved file has no answer yet. Write one, save (Ctrl+S) and run ready() again.",
        "В сохранённом файле пока нет ни одного ответа. Напишите ответ, сохраните (Ctrl+S) и снова вызовите ready().",
    ),
    "ready.order": Text(
        "Passed in this session, but not from top to bottom in a fresh run: {names}. Perhaps the notebook is not saved "
        "(Ctrl+S), or cells were run out of order or deleted.",
        "В этом сеансе пройдено, но при новом запуске сверху вниз не проходит: {names}. Возможно, тетрадь не сохранена "
        "(Ctrl+S) либо ячейки выполнялись в другом порядке или удалены.",
    ),
    "ready.unattempted": Text("No answer yet: {names}.", "Пока нет ответа: {names}."),
    "ready.missing": Text(
        "Checks missing from the file: {names}. Bring the cells back from a fresh copy of the lesson.",
        "В файле нет проверок: {names}. Верните эти ячейки из чистой копии урока.",
    ),
    "ready.failed_cell": Text(
        "A cell raises an error in a fresh run: {error}", "При новом запуске ячейка вызывает ошибку: {error}"
    ),
    "ready.file": Text("The file to hand in: {path}", "Файл для сдачи: {path}"),
    "ready.file_in_colab": Text(
        "The file to hand in: {name}. Download it with File → Download → Download .ipynb.",
        "Файл для сдачи: {name}. Скачайте его: «Файл» → «Скачать» → «Скачать .ipynb».",
    ),
    "ready.where": Text(
        "It is the assignment {assignment}: hand it in where your course collects work.",
        "Это задание {assignment}: сдайте файл там, где на вашем курсе принимают работы.",
    ),
    "ready.unknown_file": Text(
        'Which notebook is this? Call ready("path/of/the/notebook.ipynb").',
        'Какая это тетрадь? Вызовите ready("путь/к/тетради.ipynb").',
    ),
    "ready.no_file": Text(
        'There is no file {path}. Save the notebook, or name it if it was renamed: ready("its name.ipynb").',
        'Файла {path} нет. Сохраните тетрадь, а если вы её переименовали, назовите её: ready("её имя.ipynb").',
    ),
    "ready.unreadable": Text(
        "{path} cannot be read as a notebook ({error}). Save it again from the editor.",
        "{path} не читается как тетрадь ({error}). Сохраните её из редактора ещё раз.",
    ),
    "ready.no_nbclient": Text(
        "These are the checks of this session. The notebook was not run in a fresh process, because {name} is not "
        "installed here: pip install nbclient nbformat",
        "Это результаты текущего сеанса. Тетрадь не выполнялась в новом процессе, потому что не установлен модуль "
        "{name}: pip install nbclient nbformat",
    ),
    "ready.session_total": Text(
        "Points for checks in this session: {earned} of {maximum}.",
        "Баллов за проверки в этом сеансе: {earned} из {maximum}.",
    ),
    "ready.no_lesson": Text(
        "{path} is not a lesson of this course: there is nothing to check in it.",
        "{path} — не урок этого курса: проверять в этой тетради нечего.",
    ),
    "ready.died": Text(
        "The fresh process ended before the last cell: did a cell stop it, or did the memory run out?",
        "Новый процесс завершился до последней ячейки: его остановила ячейка или не хватило памяти?",
    ),
}
