"""Sentences of cards, replies and notes, in English and Russian."""

from __future__ import annotations

from ..explained.silent_mistakes import SILENT
from ..language import Note, Text, grouped
from .entries import is_code, place_of
from .measured import yes_or_no

MESSAGES: dict[str, Text] = {
    # -- states of a verdict ------------------------------------------------------------------------------------
    "state.passed": Text("passed", "верно"),
    "state.not yet": Text("not yet", "пока неверно"),
    "state.not attempted": Text("not attempted", "нет ответа"),
    "state.our error": Text("our error", "сбой проверки"),
    "state.partly": Text("partly right", "частично верно"),
    "state.begun": Text("begun, {filled} of {total} filled in", "начато, заполнено {filled} из {total}"),
    # -- the rows of a card -------------------------------------------------------------------------------------
    "card.points": Text("{earned} of {maximum} points", "баллы: {earned} из {maximum}"),
    "card.not_met": Text("not met", "не выполнено"),
    "card.called": Text("Called", "Вызов"),
    "card.with": Text("with", "где"),
    "card.inputs": Text("Inputs", "Входные данные"),
    "card.returned": Text("Came back", "Получено"),
    "card.checked": Text("Checked", "Проверено"),
    "card.wrong": Text("Not so", "Неверно"),
    "card.mistake": Text("Looks like", "Похоже на ошибку"),
    "card.score": Text(
        "yours {used} · plain {plain} · bound {bound}",
        "у вас {used} · исходная программа {plain} · нижняя граница {bound}",
    ),
    "card.waiting": Text("checked once the lines above are right", "будет проверено, когда строки выше станут верны"),
    "card.graph": Text(
        "The graph of what your answer returns for it:", "Граф того, что ваш ответ возвращает на этом примере:"
    ),
    "card.hidden": Text(
        "The inputs of this case are hidden: grading uses others than your notebook. If the check in your notebook fails "
        "as well, its card shows a case to try.",
        "Входные данные этого примера скрыты: при оценивании они другие, чем в вашей тетради. Если ответ не проходит "
        "и проверку в тетради, на её карточке есть пример, который можно повторить.",
    ),
    "card.reproduce": Text("The failing case, in a cell of your own:", "Тот же пример в вашей ячейке:"),
    "card.hint": Text("Stuck?", "Не получается?"),
    "card.solution": Text("Other ways to write it:", "Как это можно записать иначе:"),
    "card.first_table": Text(
        "Your first complete table had {right} of {total} right.",
        "В вашей первой полной таблице верно {right} из {total}.",
    ),
    # -- results ------------------------------------------------------------------------------------------------
    "differs.shape": Text("shape {got}, not {expected}", "форма {got}, а не {expected}"),
    "differs.dtype": Text("dtype {got}, not {expected}", "dtype {got}, а не {expected}"),
    "differs.entry": Text(
        "{count} of {total} entries differ; the first, at {index}, is {got}",
        "неверно {count} из {total}, первый неверный элемент {index} равен {got}",
    ),
    "differs.entry.expected": Text(
        "{got} at {index}, expected {expected} ({count} of {total} entries differ)",
        "{got} в позиции {index}, ожидалось {expected} (неверно {count} из {total})",
    ),
    "differs.kind": Text("{got}, where there should be {needed}", "{got}, а {needed}"),
    "differs.raised": Text("the error {got}, where there should be {needed}", "ошибка {got}, а {needed}"),
    "differs.not_raised": Text(
        "{got}, where the error {expected} should have come", "{got}, а должна была возникнуть ошибка {expected}"
    ),
    "differs.value": Text.same("{got}"),
    "differs.value.expected": Text("{got}, expected {expected}", "{got}, ожидалось {expected}"),
    "differs.length": Text("{got}, not {expected}", "{got}, а не {expected}"),
    "differs.keys": Text("the entries are {got}, not {expected}", "строки {got}, а нужны {expected}"),
    "differs.table": Text("{entries} ({wrong} of {total} entries)", "{entries} ({wrong} из {total})"),
    "differs.counted_run": Text(
        "in the run in which this is counted, a result or a gradient is wrong",
        "в том запуске, в котором это измеряется, результат или градиент неверен",
    ),
    "differs.changed": Text(
        "All that is asked for is right. But the answer leaves a change behind that its caller would meet:",
        "Всё, о чём просит упражнение, верно. Но после ответа остаётся изменение, с которым столкнётся вызывающий код:",
    ),
    "differs.budget": Text("{used}; at most {limit} allowed", "{used}, допускается не больше {limit}"),
    "raised.answer": Text.same("{type}: {message}"),
    "raised.returned": Text(
        "The answer ran, but its result could not be used as the exercise asks: {type}: {message}. Did something else "
        "come back than should, or nothing at all?",
        "Ответ выполнен, но его результат не удалось использовать так, как нужно в упражнении: {type}: {message}. "
        "Может быть, вернулось не то, что нужно, или не вернулось ничего?",
    ),
    "raised.replaced": Text(
        "A tensor has a `{name}` of its own, in its class or as an attribute. The check can only use tensors that leave "
        "`{name}` as torch has it.",
        "У одного из тензоров свой `{name}`: он задан в классе или как атрибут. Проверить можно только тензоры, у которых "
        "`{name}` такой, как в torch.",
    ),
    "raised.profiler": Text(
        "The check counts bytes by torch's profiler, as `live_bytes` does. Use neither of them in this code.",
        "Проверка считает байты с помощью профилировщика torch, как и `live_bytes`. Не используйте их в этом коде.",
    ),
    "raised.threads": Text(
        "The check counts what this code does in one thread. Start no threads here.",
        "Проверка учитывает только один поток. Не запускайте в этом коде других.",
    ),
    "raised.used": Text("Using `{name}` raised {type}: {message}", "При использовании `{name}` — {type}: {message}"),
    "raised.base": Text(
        "The class `{name}` does not derive from `{base}`.", "Класс `{name}` не унаследован от `{base}`."
    ),
    "raised.borrowed": Text(
        "The node of the result is `{node}`, not that of a custom Function.",
        "Узел результата — `{node}`, а должен быть узлом пользовательской функции.",
    ),
    "raised.type": Text(
        "A value of type `{got}` came back, where there should be {needed}.",
        "Возвращено значение типа `{got}`, а {needed}.",
    ),
    "raised.second_call": Text(
        "The first call returns a value of type `{first}`, a second one `{second}`.",
        "Первый вызов возвращает значение типа `{first}`, а второй — `{second}`.",
    ),
    "raised.cond": Text(
        "`torch.cond`, a prototype, is not accepted here: choose by operations on tensors.",
        "Функция `torch.cond` — пока прототип, и здесь она не принимается: делайте выбор с помощью операций над "
        "тензорами.",
    ),
    "raised.locked_twice": Text(
        "This thread holds the lock already: to acquire it once more would wait for ever.",
        "Этот поток уже захватил блокировку: если захватить её ещё раз, ожидание будет вечным.",
    ),
    "raised.never_unlocked": Text(
        "The lock is held, and nobody will release it: this would wait for ever.",
        "Блокировка захвачена, и никто её не освободит: ожидание будет вечным.",
    ),
    "raised.line": Text("in your line {line}: {code}", "в вашей строке {line}: {code}"),
    "raised.arguments": Text(
        "`{name}` cannot be called with the arguments that the exercise names ({count}): {message}",
        "`{name}` нельзя вызвать с аргументами из условия (всего {count}): {message}",
    ),
    "raised.time": Text(
        "It did not finish in {seconds} seconds: an endless loop?",
        "Вычисление не закончилось за {seconds} с: бесконечный цикл?",
    ),
    "raised.flood": Text(
        "It did not finish in {seconds} seconds: it was busy printing, {count} characters by then. Does it print in a "
        "loop that does not end?",
        "Вычисление не закончилось за {seconds} с. Время ушло на печать, символов выведено {count}. Нет ли печати в цикле, "
        "который не завершается?",
    ),
    "raised.memory": Text(
        "It did not finish in {seconds} seconds and took {size} GB of memory by then: does something grow in a loop?",
        "Вычисление не закончилось за {seconds} с и заняло {size} ГБ памяти: не растёт ли что-то в цикле?",
    ),
    "raised.passes": Text(
        "A backward pass started another one inside itself, that one the next, {count} deep: a hook or a `backward` that "
        "starts a pass is met by this pass again. Let the inner pass go through a graph of its own, from a leaf that has "
        "no such hook, `x.detach().requires_grad_()`.",
        "Обратный проход запускает внутри себя другой, тот — следующий, и так {count} раз: хук или `backward`, который "
        "запускает проход, в этом проходе вызывается снова. Пусть внутренний проход идёт по отдельному графу, от листа "
        "без такого хука: `x.detach().requires_grad_()`.",
    ),
    "raised.exit": Text(
        "The answer tried to stop the program ({type}).", "Ответ попытался завершить программу ({type})."
    ),
    # -- nothing to judge yet -----------------------------------------------------------------------------------
    "absent.name": Text(
        "There is no `{name}`: the cell that defines it was not run, or it has an error. Mend it, run it, then this one.",
        "Имени `{name}` нет: ячейка, где оно определяется, не выполнена, или в ней ошибка. Исправьте её, выполните, "
        "затем запустите эту.",
    ),
    "absent.deleted": Text(
        "The cell of `{name}` was deleted from your notebook, so there was no answer to check. The notebook as you got it "
        "has the cell.",
        "Ячейка с ответом `{name}` удалена из вашей тетради, поэтому проверять было нечего. В исходной тетради эта "
        "ячейка есть.",
    ),
    "absent.cell_ended": Text(
        "The last cell that defines `{name}` did not get that far: {error} in its line {line}. Mend it, run it, then "
        "this one.",
        "Последняя ячейка, где определяется `{name}`, до этого места не дошла: {error} в её строке {line}. Исправьте её, "
        "выполните, затем запустите эту.",
    ),
    "absent.file_ended": Text(
        "`{name}` was not reached: {error} in line {line} of the file. Mend it, and check the file again.",
        "До `{name}` дело не дошло: {error} в строке {line} файла. Исправьте её и проверьте файл снова.",
    ),
    "absent.kind": Text("`{name}` should be {needed}; here it is {got}.", "В `{name}` лежит {got}, а {needed}."),
    "absent.stub": Text(
        "The answer is still the stub. Write it, run it, then check again.",
        "Вместо ответа пока заготовка. Напишите ответ, выполните его и проверьте снова.",
    ),
    "absent.entries": Text(
        "Entries still to fill in: {entries}. Put a value in place of each `...`.",
        "Осталось заполнить: {entries}. Поставьте значение вместо каждого `...`.",
    ),
    "absent.given": Text(
        "It is still the code you were given, or code that behaves exactly like it.",
        "Это пока исходный код или код, который ведёт себя точно так же.",
    ),
    "absent.withdrawn": Text(
        "This exercise was withdrawn. Everybody has its points.",
        "Это упражнение отозвано. Баллы за него получают все.",
    ),
    # -- faults of the checker ----------------------------------------------------------------------------------
    "fault.probe": Text(
        "The checker of `{exercise}` failed, not your answer ({error}). It costs you nothing by itself: "
        "your instructor is told. You can help by reporting it.",
        "Сбой в проверке `{exercise}`, а не в вашем ответе ({error}). Баллы из-за этого не снимают: работу посмотрит "
        "преподаватель. Сообщите нам об этом, пожалуйста.",
    ),
    "fault.tampered": Text(
        "What the check relies on was replaced or left on: {what}. It has no points until a person has looked at it.",
        "Заменено или оставлено включённым то, на чём держится проверка: {what}. Баллов нет, пока работу "
        "не посмотрит преподаватель.",
    ),
    # -- failures of a graded submission -------------------------------------------------------------------------
    "run.time": Text(
        "Stopped: it ran longer than it may. Nothing after this cell was run.",
        "Остановлено: превышено допустимое время. Ячейки ниже не выполнялись.",
    ),
    "run.cell": Text(
        "This cell ran longer than a cell may and was stopped: an endless loop?",
        "Ячейка выполнялась дольше допустимого и была остановлена: бесконечный цикл?",
    ),
    "run.memory": Text(
        "Stopped: it took more memory than it may. Nothing after this cell was run.",
        "Остановлено: превышен допустимый объём памяти. Ячейки ниже не выполнялись.",
    ),
    "run.disk": Text(
        "Stopped: it wrote more to the disk than it may. Nothing after this cell was run.",
        "Остановлено: на диск записано больше допустимого. Ячейки ниже не выполнялись.",
    ),
    "run.died": Text(
        "The process that ran this notebook ended here. Nothing after this cell was run.",
        "Процесс, выполнявший тетрадь, здесь завершился. Ячейки ниже не выполнялись.",
    ),
    "run.refused": Text(
        "`{what}` is refused while a submission is graded: it leads into the grader. This costs no points by itself: only "
        "the statement that asked for it was stopped.",
        "Во время оценивания обращаться к `{what}` нельзя: это путь внутрь проверяющей программы. Само по себе это баллов "
        "не снимает: прервана только инструкция, которая к нему обратилась.",
    ),
    "run.import": Text(
        "The course's package has no such name: was this notebook made for another version of the course? Take the "
        "import from the notebook that is handed out now.",
        "Такого имени в пакете курса нет: возможно, тетрадь сделана для другой версии курса. Возьмите строку импорта "
        "из тетради, которая выдаётся сейчас.",
    ),
    "run.shadowed": Text(
        "`{name}` is a module of Python or of a library here, and your file {name}.py was not read. Give the file "
        "another name.",
        "`{name}` здесь — модуль самого Python или библиотеки, а ваш файл {name}.py не прочитан. Переименуйте файл.",
    ),
    "run.left_out": Text(
        "Outputs of this cell were left out: there were too many, or they were too long.",
        "Часть вывода этой ячейки не показана: его слишком много.",
    ),
    "run.nonsense": Text(
        "Stopped: the process that ran this notebook sent something else than outputs. A person will look at it.",
        "Остановлено: процесс, выполнявший тетрадь, передал не то, что должен. Работу посмотрит преподаватель.",
    ),
    "switch.on": Text("on", "включено"),
    "switch.off": Text("off", "выключено"),
    # -- notes --------------------------------------------------------------------------------------------------
    "note.warning": Text("A warning was given: {text}", "Предупреждение: {text}"),
    "note.stderr": Text("Written to stderr: {text}", "Выведено в stderr: {text}"),
    "note.printed": Text(
        "The answer printed {count} characters: {text}", "Ответ напечатал текст, символов {count}: {text}"
    ),
    "note.inputs": Text(
        "The answer changed its input `{name}`, numbers or flag. The caller would not expect that.",
        "Ответ изменил свой аргумент `{name}`: числа или флаг. Вызывающий код этого не ждёт.",
    ),
    "note.cell_above": Text(
        "A cell above defines `{name}`, and it was not run in this kernel: Run > Run All Above Selected Cell.",
        "Имя `{name}` определяется в ячейке выше, но в этом ядре она не выполнена: «Выполнить > Выполнить все ячейки, "
        "выше выбранной» (Run > Run All Above Selected Cell).",
    ),
    "note.unknown_entry": Text(
        "`{entry}` is no entry of this table.",
        "Строки `{entry}` в этой таблице нет.",
    ),
    "note.cyrillic_letter": Text(
        "`{entry}` is no entry of this table: its letter `{letter}` is Cyrillic. Type `{meant}` in Latin letters.",
        "Строки `{entry}` в этой таблице нет: буква `{letter}` в ней русская. Наберите `{meant}` латинскими буквами.",
    ),
    "note.entry_text": Text(
        "`{entry}`: `{value}` is given in quotes, as a text. Write it without them.",
        "`{entry}`: значение `{value}` дано в кавычках, то есть как текст. Уберите кавычки.",
    ),
    "note.entry_bool": Text(
        "`{entry}`: write True or False, not `{value}`.",
        "`{entry}`: нужно True или False, а не `{value}`.",
    ),
    "note.entry_number": Text(
        "`{entry}`: write a number, not `{value}`.",
        "`{entry}`: нужно число, а не `{value}`.",
    ),
    "note.entry_kind": Text(
        "`{entry}`: `{value}` cannot be an entry. Write a number, True, False, None, a text, or a tuple of numbers.",
        "`{entry}`: значением не может быть `{value}`. Нужно число, True, False, None, текст или кортеж чисел.",
    ),
    "note.device.real": Text("Checked on {device}, after the CPU.", "Проверено на {device}, сначала — на CPU."),
    "note.device.pretended": Text(
        "Checked on a pretended {device}, after the CPU: this machine cannot use {device} for the checks. Numbers are "
        "computed on the CPU, and tensors of two devices do not mix. Speed and memory of a real device are not tried.",
        "Проверено на имитации устройства {device}, сначала — на CPU: настоящее для проверок на этой машине "
        "недоступно. Числа вычисляет CPU, а тензоры с разных устройств не смешиваются. Скорость и память настоящего "
        "устройства так не проверить.",
    ),
    "note.device.later": Text(
        "The answer has to be right on the CPU first; then it is checked on {device}.",
        "Сначала ответ должен быть верным на CPU, тогда он будет проверен и на {device}.",
    ),
    "note.device.try": Text(
        'To see the error with its line: check("{name}", device="cuda"). That needs no GPU.',
        'Увидеть ошибку вместе со строкой: check("{name}", device="cuda"). GPU для этого не нужен.',
    ),
    "note.device.none": Text(
        "This exercise asks for no other device than the CPU: the answer was checked there alone.",
        "В этом упражнении другие устройства не нужны: ответ проверен только на CPU.",
    ),
    "note.worth": Text(
        "In this course the exercise is worth {maximum} points. This answer earns {earned} of them.",
        "В этом курсе максимум за упражнение (в баллах): {maximum}. За этот ответ: {earned}.",
    ),
    "note.unrecorded": Text(
        "The folder {folder} is not writable: what you have done is kept only until this kernel ends. Name another "
        'folder, and all of it is written there at the next check: `import os; os.environ["AUTOGRADER_HOME"] = "..."`',
        "Папка {folder} недоступна для записи: сделанное сохранится только до остановки ядра. Назовите другую папку, и "
        'при следующей проверке всё запишется туда: `import os; os.environ["AUTOGRADER_HOME"] = "..."`',
    ),
    "note.why": Text(
        '{question} Answer in one sentence, then compare it with ours: `why("{name}")`',
        '{question} Ответьте одним предложением и сравните с нашим ответом: `why("{name}")`',
    ),
    "note.foreign_table": Text(
        "This table is not yours: each student has a program of their own. Fill in the notebook that was handed out to "
        "you; if you have lost it, ask your teacher for it.",
        "Это не ваша таблица: у каждого студента своя программа. Заполните тетрадь, которую выдали вам; если она "
        "потерялась, попросите её у преподавателя.",
    ),
    "note.variant": Text(
        'Practice: it earns no points. `again("{name}")` shows another variant.',
        'Это тренировка, баллов за неё нет. Другой вариант покажет `again("{name}")`.',
    ),
    "note.review.elsewhere": Text(
        "Not counted as a review: the answer has to be in the cell of its check.",
        "Как повторение не засчитано: ответ должен быть в одной ячейке с проверкой.",
    ),
    "note.review.up": Text(
        "Counted as a review. Days until the next one: {days}.",
        "Засчитано как повторение. Дней до следующего: {days}.",
    ),
    "note.review.last": Text(
        "Counted as a review, the last one of this exercise.",
        "Засчитано как повторение, последнее для этого упражнения.",
    ),
    "note.review.down": Text(
        "Counted as a review: this exercise begins again, and is due tomorrow.",
        "Засчитано как повторение, но повторения этого упражнения начинаются сначала: следующее — завтра.",
    ),
    "note.no_time_limit": Text(
        "This system has no timer, so checks have no time limit. If a check does not end, interrupt the kernel.",
        "В этой системе нет таймера, поэтому время проверки не ограничено. Если проверка не заканчивается, прервите "
        "выполнение ячейки.",
    ),
    "note.unusual.grad_mode": Text(
        "Gradient tracking is switched {value} in this notebook (`torch.set_grad_enabled`). The check ran with the default, which is on.",
        "В этой тетради отслеживание вычислений {value} (`torch.set_grad_enabled`). При проверке оно было включено.",
    ),
    "note.unusual.default_dtype": Text(
        "The default dtype is {value} in this notebook. The check ran with torch's own, torch.float32.",
        "В этой тетради тип по умолчанию — {value}. Проверка выполнялась с типом torch.float32, обычным для torch.",
    ),
    "note.unusual.default_device": Text(
        "The default device is {value} in this notebook. The check ran with torch's own, cpu.",
        "В этой тетради устройство по умолчанию — {value}. Проверка выполнялась с устройством cpu, обычным для torch.",
    ),
    "note.unusual.anomaly": Text(
        "Anomaly detection is switched {value} in this notebook. The check ran without it.",
        "Обнаружение аномалий в этой тетради {value}. Проверка выполнялась без него.",
    ),
    "note.unusual.deterministic": Text(
        "Deterministic algorithms are switched {value} in this notebook. The check ran without them.",
        "Использование детерминированных алгоритмов в этой тетради {value}. Проверка выполнялась без него.",
    ),
    "note.unusual.autocast": Text(
        "Autocast is switched {value} in this notebook. The check ran without it.",
        "Приведение типов (autocast) в этой тетради {value}. Проверка выполнялась без него.",
    ),
    "note.unusual.attention": Text(
        "Some kernels of attention are switched off in this notebook (`torch.backends.cuda`, `sdpa_kernel`). The check ran with all of them.",
        "В этой тетради выключены некоторые ядра внимания (`torch.backends.cuda`, `sdpa_kernel`). При проверке были включены все.",
    ),
    "note.unusual.inference": Text(
        "Inference mode is on in this notebook. The check ran without it.",
        "В этой тетради включён режим inference_mode. Проверка выполнялась без него.",
    ),
    "note.unusual.saved_tensors_hooks": Text(
        "Hooks for saved tensors are on in this notebook. The check ran without them.",
        "В этой тетради включены хуки сохранённых тензоров. Проверка прошла без них.",
    ),
    "note.unusual.profiler": Text(
        "torch's profiler is on in this notebook. The check ran without it, and the profiler has started anew.",
        "В этой тетради включён профилировщик torch. Проверка выполнялась без него, и теперь он начал запись заново.",
    ),
    "note.unusual.mode": Text(
        "A torch mode is left on in this notebook: {value}. The check ran without it.",
        "В этой тетради остался включённым режим torch: {value}. Проверка выполнялась без него.",
    ),
    "note.left.grad_mode": Text(
        "Gradient tracking was left switched {value}; it was put back.",
        "После ответа отслеживание вычислений осталось {value}; прежнее состояние восстановлено.",
    ),
    "note.left.default_dtype": Text(
        "The default dtype was left at {value}; it was put back.",
        "После ответа типом по умолчанию остался {value}; прежний восстановлен.",
    ),
    "note.left.default_device": Text(
        "The default device was left at {value}; it was put back.",
        "После ответа устройством по умолчанию осталось {value}; прежнее восстановлено.",
    ),
    "note.left.anomaly": Text(
        "Anomaly detection was left switched {value}; it was put back.",
        "После ответа обнаружение аномалий осталось {value}. Прежнее состояние восстановлено.",
    ),
    "note.left.deterministic": Text(
        "Deterministic algorithms were left switched {value}; the setting was put back.",
        "После ответа использование детерминированных алгоритмов осталось {value}. Прежнее состояние восстановлено.",
    ),
    "note.left.autocast": Text(
        "Autocast was left switched {value}; it was put back.",
        "После ответа приведение типов (autocast) осталось {value}. Прежнее состояние восстановлено.",
    ),
    "note.left.attention": Text(
        "Kernels of attention were left switched off; they were switched on again.",
        "После ответа остались выключенными некоторые ядра внимания; они снова включены.",
    ),
    "note.left.profiler": Text(
        "torch's profiler was left on; it was stopped.",
        "Профилировщик torch остался включён; он остановлен.",
    ),
    "note.left.dual_level": Text(
        "A level of forward mode was left open; it was closed.",
        "Уровень прямого режима остался открытым; проверка закрыла его за вас.",
    ),
    "note.left.saved_tensors_hooks": Text(
        "Hooks for saved tensors were left registered; they were removed.",
        "Остались зарегистрированные хуки сохранённых тензоров; они сняты.",
    ),
    "note.left.threads": Text(
        "A thread of the answer is still running: {value}.", "Поток, который запустил ответ, ещё работает: {value}."
    ),
    "note.left.module_hooks": Text(
        "Global module hooks were left registered; they were removed.",
        "Остались зарегистрированные глобальные хуки модулей; они сняты.",
    ),
    "note.left.optimizer_hooks": Text(
        "Global hooks of optimizers were left registered; they were removed.",
        "Остались зарегистрированные глобальные хуки оптимизаторов; они сняты.",
    ),
    # -- the learner's commands ---------------------------------------------------------------------------------
    "start.ready": Text(
        "Exercises with a check: {count}; their points in the grade: {points}. Shift+Enter on a check shows a card.",
        "Упражнений с проверкой: {count}, баллов за них в зачёт: {points}. Shift+Enter в ячейке проверки покажет карточку.",
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
    "start.due": Text(
        "Due for review: {count}. They come one by one: `from autograder import review; review()`",
        "Пора повторить упражнений: {count}. Они появятся по одному: `from autograder import review; review()`",
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
        "{hours} hours in all. Passed: {count} of {total}{extra}. Go on with {lesson}, exercise {exercise}.",
        "Всего часов: {hours}. Верно: {count} из {total}{extra}. Продолжайте: {lesson}, упражнение {exercise}.",
    ),
    "contents.known": Text(" (known, by `placement()`)", " (знакомо по итогам `placement()`)"),
    "contents.extra": Text(" and {count} extra", " и дополнительных: {count}"),
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
        "In a notebook or IPython: `from autograder import review; review()`. In a file: what `autograder again EXERCISE` "
        "shows; its check counts as the review.",
        "В тетради или IPython: `from autograder import review; review()`. В файле: то, что покажет `autograder again "
        "УПРАЖНЕНИЕ`; его проверка засчитывается как повторение.",
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
    "run.checking": Text(
        "This is a run for checking, where {name}() does nothing.",
        "Это проверочный запуск, в нём {name}() ничего не делает.",
    ),
    "ready.died": Text(
        "The fresh process ended before the last cell: did a cell stop it, or did the memory run out?",
        "Новый процесс завершился до последней ячейки: его остановила ячейка или не хватило памяти?",
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
    "explain.unknown": Text(
        "The course has no explanation of this error: {error}", "В курсе нет объяснения этой ошибки: {error}"
    ),
    # -- kinds of values ----------------------------------------------------------------------------------------
    "kind.function": Text("a function", "функция"),
    "kind.no_error": Text("none", "без ошибки"),
    "kind.result": Text("a result", "результат"),
    "kind.nothing": Text("nothing", "ничего"),
    "kind.value": Text("a value", "значение"),
    "kind.tensor": Text("a tensor", "тензор"),
    "kind.class": Text("a class", "класс"),
    "kind.dict": Text("a dict", "словарь (dict)"),
    "kind.names": Text("a list of names", "список имён"),
    "kind.three_numbers": Text("a list of three numbers", "список из трёх чисел"),
    "kind.two_lists": Text("two lists", "два списка"),
    "kind.model_and_batches": Text("a pair `(model, batches)`", "пара `(model, batches)`"),
    **{f"silent.{each.name}": each.says for each in SILENT},
}

# What there should be. In Russian the verb agrees with it.
_MASCULINE, _FEMININE, _NEUTER, _PLURAL = (
    Text("{expected}", f"{must} быть {{expected}}") for must in ("должен", "должна", "должно", "должны")
)
_NEEDED = {
    **dict.fromkeys(
        ("kind.result", "kind.tensor", "kind.class", "kind.dict", "kind.names", "kind.three_numbers"), _MASCULINE
    ),
    **dict.fromkeys(("kind.function", "kind.model_and_batches"), _FEMININE),
    "kind.two_lists": _PLURAL,
}


def message(id: str, **parameters: object) -> Text:
    """Return the sentence `id` in English and Russian, with `parameters` filled in.

    Raises KeyError if there is no such id.
    """
    return MESSAGES[id].format(**parameters)


def say(note: Note, language: str) -> str:
    """Return the sentence of a note.

    A parameter that is itself the id of a sentence is replaced by that sentence. Raises KeyError if there is no
    sentence or parameter.
    """
    said: dict[str, object] = {
        name: MESSAGES[value].read(language) if isinstance(value, str) and value in MESSAGES else value
        for name, value in note.parameters.items()
    }
    if isinstance(count := said.get("count"), int):
        said["count"] = grouped(count, language)
    if not is_code(place_of(said)) and (answer := yes_or_no(said.get("got"))):
        said["got"] = answer.read(language)
    if "expected" in said:
        kind = note.parameters["expected"]
        needed = _NEEDED.get(kind, _NEUTER) if isinstance(kind, str) else _NEUTER
        said["needed"] = needed.format(**said).read(language)
    return message(note.id, **said).read(language)
