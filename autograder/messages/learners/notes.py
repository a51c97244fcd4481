"""Notes on a verdict, such as on files that an answer left."""

from __future__ import annotations

from ...language import Text

NOTES: dict[str, Text] = {
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
    "note.entry_word": Text(
        "`{entry}`: `{value}` is not one of the answers. Use a value that the question names: True, False, a text such "
        'as "accepted", or the name of an error.',
        "`{entry}`: `{value}` среди ответов не бывает. Возьмите значение, которое названо в вопросе: True, False, текст "
        'вроде "accepted" или имя ошибки.',
    ),
    "note.entry_comma": Text(
        "`{entry}`: `{value}` are two numbers. Python writes decimals with a point, as in `4.5`.",
        "`{entry}`: `{value}` — это два числа. Дробную часть в Python отделяют точкой: `4.5`.",
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
    "note.engine.kept": Text(
        "`{name}` is now part of your engine, {path}.",
        "`{name}` теперь входит в ваш движок: {path}.",
    ),
    "note.engine.edited": Text(
        "`{name}` was edited by hand in {path}, so it was not replaced there. To replace it, delete that part of the file "
        "and check again.",
        "Код `{name}` в файле {path} изменён вручную, поэтому там он не заменён. Чтобы заменить его, удалите эту часть файла "
        "и повторите проверку.",
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
    "note.unusual.global_hooks": Text(
        "Hooks of all modules or optimizers are registered in this notebook. The check ran without them.",
        "В этой тетради зарегистрированы хуки всех модулей или оптимизаторов. Проверка прошла без них.",
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
}
