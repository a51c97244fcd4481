"""Replies of the learner's commands: start, hint, solution, why, progress, explain."""

from __future__ import annotations

from ...language import Text

COMMANDS: dict[str, Text] = {
    # -- the learner's commands ---------------------------------------------------------------------------------
    "start.ready": Text(
        "Exercises with a check: {count}; their points in the grade: {points}. Shift+Enter on a check shows a card.",
        "Упражнений с проверкой: {count}, баллов за них в зачёт: {points}. Shift+Enter в ячейке проверки покажет карточку.",
    ),
    "start.path": Text(
        "On your path, “{path}”, these count here: {names}.", "На вашем пути «{path}» здесь идут в зачёт: {names}."
    ),
    "start.next": Text(
        "Passed: {count} of {total}{extra}. Next: {exercise}.", "Верно: {count} из {total}{extra}. Дальше: {exercise}."
    ),
    "start.done": Text(
        "Passed: {count} of {total}{extra}. All is done here.", "Верно: {count} из {total}{extra}. Здесь всё сделано."
    ),
    "start.kernel": Text(
        "This kernel is new: select the cell of the exercise, then Run > Run All Above Selected Cell.",
        "Это новое ядро: выберите ячейку упражнения, затем «Выполнить > Выполнить все ячейки, выше выбранной» (Run > "
        "Run All Above Selected Cell).",
    ),
    "own_engine.mine": Text(
        "Your own code is in place of the course's: {names}.", "Вместо кода курса подставлен ваш: {names}."
    ),
    "own_engine.given": Text(
        "The course's engine stays: there is no passed step of yours that belongs here.",
        "Остаётся движок курса: пройденных вами шагов, которые можно сюда подставить, нет.",
    ),
    "own_engine.broken": Text(
        "`{name}` from your engine cannot be run, the course's stays: {error}",
        "`{name}` из вашего движка не выполняется, остаётся код курса: {error}",
    ),
    "own_engine.none": Text(
        "There is no engine of yours yet. It begins with the first step that passes its check, in lesson 02.",
        "Вашего движка ещё нет. Он появится, когда пройдёт проверку первый шаг, в уроке 02.",
    ),
    "own_engine.saved": Text(
        "Your engine is in {path}. Run it, or import it: `import my_engine`",
        "Ваш движок сохранён: {path}. Его можно запустить или импортировать: `import my_engine`",
    ),
    "own_engine.joined": Text(
        "It holds your class `Value`, which joins the steps before it. They stay in {path}.",
        "В нём ваш класс `Value`, который соединяет прежние шаги. Сами они остаются здесь: {path}.",
    ),
    "own_engine.edited": Text(
        "{path} was edited by hand and was not overwritten. Rename it, then try again.",
        "Файл {path} изменён вручную и не перезаписан. Переименуйте его и повторите.",
    ),
    "start.due": Text(
        "Due for review: {count}. Short questions, ten minutes at most: `from autograder import review; review()`",
        "Пора повторить упражнений: {count}. Короткие вопросы, не больше десяти минут: `from autograder import review; review()`",
    ),
    "start.device.real": Text(
        "Answers that are right run once more on {device}, in every exercise that is about devices.",
        "Верный ответ запускается ещё и на {device} — в каждом упражнении, в котором речь идёт об устройствах.",
    ),
    "start.device.pretended": Text(
        "Answers that are right run once more on {device}, in every exercise that is about devices. This machine cannot "
        "use {device} for the checks, so it is pretended: numbers are computed on the CPU, and tensors of two devices do "
        "not mix.",
        "Верный ответ запускается ещё и на {device} — в каждом упражнении, в котором речь идёт об устройствах. Для "
        "проверок на этой машине {device} недоступно, поэтому устройство имитируется: числа вычисляет CPU, а тензоры с "
        "разных устройств не смешиваются.",
    ),
    "torch.newer": Text(
        "This is torch {version}; the course was tried with torch up to {newest}. Should the two contradict each other, "
        "believe torch, and report it.",
        "Здесь torch {version}, а курс проверен на версиях до {newest}. Если курс и torch противоречат друг другу, верьте "
        "torch и сообщите об этом.",
    ),
    "due.in_time": Text("Due {time}.", "Срок сдачи: {time}."),
    "due.late": Text(
        "It was due {time}; handed in now, it gets {credit} % of the points. An extension of yours is not counted here.",
        "Срок сдачи был {time}; за работу, сданную сейчас, засчитывается {credit} % баллов. Если вам продлили срок, здесь "
        "это не учтено.",
    ),
    "start.page": Text(
        "Pictures and plots speak this page's language.",
        "Подписи на картинках и графиках — на языке этой страницы.",
    ),
    "check.graded": Text(
        "While a submission is graded, only the check cells of the released notebook are judged.",
        "При проверке сданной работы оцениваются только ячейки проверки из выданной тетради.",
    ),
    "unknown.exercise": Text("There is no exercise `{name}`.{nearest}", "Упражнения `{name}` нет.{nearest}"),
    "unknown.lesson": Text("There is no lesson `{name}`.{nearest}", "Урока `{name}` нет.{nearest}"),
    "unknown.which": Text(
        "Which one? Give its name in quotes, such as {names}.", "Какое? Укажите имя в кавычках, например {names}."
    ),
    "unknown.nearest": Text(" Did you mean {names}?", " Может быть, {names}?"),
    "unknown.language": Text(
        'There is no language `{name}`: use "en" or "ru".', 'Языка `{name}` нет: выберите "en" или "ru".'
    ),
    "unknown.device": Text(
        'There is no device `{name}` for checks: use "cpu", "cuda", "mps" or "xpu".',
        'Устройства `{name}` для проверок нет: выберите "cpu", "cuda", "mps" или "xpu".',
    ),
    "hint.title": Text("Hint {number} of {total}", "Подсказка {number} из {total}"),
    "hint.blanks": Text(
        "Hint {number} of {total}: the solution with blanks", "Подсказка {number} из {total}: решение с пропусками"
    ),
    "hint.next": Text('The next one: `hint("{exercise}")`', 'Следующая: `hint("{exercise}")`'),
    "hint.varied": Text(
        "Your table is about another program: numbers in the hints are those of the lesson's.",
        "Ваша таблица относится к другой программе, а числа в подсказках — к программе из урока.",
    ),
    "hint.last": Text(
        'That was the last hint. Still stuck? `solution("{exercise}", give_up=True)`',
        'Это последняя подсказка. Всё ещё не получается? `solution("{exercise}", give_up=True)`',
    ),
    "hint.last.closed": Text(
        "That was the last hint. Your course opens its solutions on {time}.",
        "Это последняя подсказка. Решения откроются {time}: так решил преподаватель.",
    ),
    "solution.closed": Text(
        "Your course opens its solutions on {time}. Once your check has passed, you see ours at once.",
        "Решения откроются {time}: так решил преподаватель. Если проверка пройдена, наше решение видно сразу.",
    ),
    "solution.locked": Text(
        'The solution opens when the check has passed. To see it now: `solution("{exercise}", give_up=True)`',
        'Решение откроется, когда проверка будет пройдена. Посмотреть сейчас: `solution("{exercise}", give_up=True)`',
    ),
    "solution.absent": Text(
        "The solutions are not on this machine: they come with the course repository (notebooks/lessons).",
        "Решений на этой машине нет: они лежат в репозитории курса (notebooks/lessons).",
    ),
    "solution.ours": Text("Ways to write it: {total}", "Возможные решения: {total}"),
    "why.compare": Text("Compare", "Сравнить"),
    "why.locked": Text(
        'Our explanation opens when the check has passed: `check("{exercise}")`',
        'Объяснение откроется, когда проверка будет пройдена: `check("{exercise}")`',
    ),
    "why.absent": Text(
        "`{exercise}` asks no question after its check, so there is no answer to show.",
        "После проверки `{exercise}` вопроса нет, поэтому и ответа на него нет.",
    ),
    "question.unchecked": Text(
        "`{name}` is a question, to be answered in words: it has no check and no hints. When you have written yours, "
        'compare it with the rubric and a model answer: `solution("{name}", give_up=True)`',
        "`{name}` — вопрос, на который отвечают словами: проверки и подсказок у него нет. Когда напишете свой ответ, "
        'сравните его с критериями и примером ответа: `solution("{name}", give_up=True)`',
    ),
    "reproduce.nothing": Text(
        "`{name}` is checked without inputs: there is no case to try it on.",
        "`{name}` проверяется без входных данных, поэтому примера нет.",
    ),
    "progress.title": Text("Progress", "Что сделано"),
    "progress.next": Text("Next: {link}", "Дальше: {link}"),
    "progress.passed": Text("passed: {count} of {total}", "верно: {count} из {total}"),
    "progress.empty": Text("No answer so far.", "Пока нет ни одного ответа."),
    "progress.damaged": Text(
        "Damaged lines in {file}: {count} (numbers {lines}). They stay there and are not counted.",
        "Повреждённых строк в {file}: {count} (номера {lines}). Они остаются в файле и не учитываются.",
    ),
    "progress.best": Text("best result", "лучший результат"),
    "progress.lesson": Text("lesson", "урок"),
    "progress.exercise": Text("exercise", "упражнение"),
    "progress.state": Text("state", "состояние"),
    "progress.points": Text("points", "баллы"),
    "progress.attempts": Text("checks", "проверок"),
    "progress.extra": Text("extra", "дополнительное"),
    "contents.lesson": Text("lesson", "урок"),
    "contents.about": Text("about", "о чём"),
    "contents.minutes": Text("minutes + extra", "минут + дополнительно"),
    "contents.needs": Text("after", "после"),
    "contents.done": Text("exercises passed", "сделано упражнений"),
    "contents.begin": Text(
        "{hours} hours in all. Begin with {lesson}.", "Всего часов: {hours}. Начните с урока {lesson}."
    ),
    "contents.finished": Text("{hours} hours in all, and all is done.", "Всего часов: {hours}. Всё сделано."),
    "contents.next": Text(
        "{hours} hours in all, {left} left. Passed: {count} of {total}{extra}. Go on with {lesson}, exercise {exercise}.",
        "Всего часов: {hours}, осталось {left}. Верно: {count} из {total}{extra}. Продолжайте: {lesson}, упражнение "
        "{exercise}.",
    ),
    "contents.path": Text(
        'Your path: {title}. `contents(path="all")` shows all lessons.',
        'Ваш путь: {title}. Все уроки покажет `contents(path="all")`.',
    ),
    "contents.paths": Text(
        "Shorter paths, chosen once by `contents(path=NAME)`: {paths}.",
        "Пути короче, достаточно один раз выполнить `contents(path=NAME)`: {paths}.",
    ),
    "contents.one_path": Text('{title} (`"{name}"`, {hours} h)', '{title} (`"{name}"`, часов: {hours})'),
    "contents.not_kept": Text(
        "The path cannot be kept ({error}). Set AUTOGRADER_HOME to a folder that you can write to.",
        "Запомнить путь не удалось ({error}). Укажите в AUTOGRADER_HOME папку, в которую можно писать.",
    ),
    "contents.unknown_path": Text(
        'There is no path "{name}". The paths: {names}; "all" is the whole course.',
        "Пути «{name}» нет. Есть такие: {names}; весь курс — all.",
    ),
    "contents.known": Text(" (known, by `placement()`)", " (знакомо по итогам `placement()`)"),
    "contents.extra": Text(" and {count} extra", " и дополнительных: {count}"),
    "run.checking": Text(
        "This is a run for checking, where {name}() does nothing.",
        "Это проверочный запуск, в нём {name}() ничего не делает.",
    ),
    "gpu.here": Text("Measured on this machine: {device}, torch {torch}", "Измерено здесь: {device}, torch {torch}"),
    "gpu.recorded": Text(
        "No GPU here. Recorded on {device} with torch {torch}:",
        "Здесь нет GPU. Записано на {device} с torch {torch}:",
    ),
    "gpu.nowhere": Text(
        "No GPU here. What this cell shows on a machine with one is said above.",
        "Здесь нет GPU. Что эта ячейка покажет на машине с GPU, сказано выше.",
    ),
    "processes.title": Text(
        "Two processes on this machine, joined by gloo, torch {torch}",
        "Два процесса на этой машине, связанные через gloo, torch {torch}",
    ),
    "processes.one": Text("process {rank}", "процесс {rank}"),
    "processes.graded": Text(
        "Two processes are not started in a run for grading.", "При проверке работы два процесса не запускаются."
    ),
    "processes.nowhere": Text(
        "This build of torch has no gloo, so two processes cannot be started here. The text below says what they show.",
        "В этой сборке torch нет gloo, поэтому запустить здесь два процесса нельзя. Что они показывают, сказано ниже.",
    ),
    "processes.slow": Text(
        "The two processes were ended after {seconds} seconds. The text below says what they show.",
        "Через {seconds} с оба процесса были остановлены. Что они показывают, сказано ниже.",
    ),
    "processes.failed": Text(
        "The two processes could not run here. The text below says what they show. The error was:",
        "Два процесса здесь не заработали. Что они показывают, сказано ниже. Текст ошибки:",
    ),
    "errors.exercise": Text(
        "More in lesson {lesson}, with practice in exercise {exercise}.",
        "Подробнее в уроке {lesson}; потренироваться можно в упражнении {exercise}.",
    ),
    "explain.nothing": Text(
        'No error was shown in this session. After one: `explain()`; for the text of one: `explain("...")`',
        'В этом сеансе ошибок не было. После ошибки вызовите `explain()`, а для текста ошибки — `explain("...")`',
    ),
    "explain.several": Text(
        "Several messages have “{part}”. Give more of yours:",
        "Слова «{part}» есть в нескольких сообщениях. Приведите своё полнее:",
    ),
    "explain.no_findings": Text(
        "Steps of an optimizer that were watched: {count}. Nothing found.",
        "Шагов оптимизатора под наблюдением: {count}. Замечаний нет.",
    ),
    "explain.unknown": Text(
        "The course has no explanation of this error: {error}", "В курсе нет объяснения этой ошибки: {error}"
    ),
}
