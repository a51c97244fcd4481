"""Sentences of cards: states, results, errors, and the kinds of values."""

from __future__ import annotations

from ...explained.silent_mistakes import SILENT
from ...language import Text

CARDS: dict[str, Text] = {
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
    "card.caught": Text(
        "Wrong programs caught: {caught} of {count}. What is wrong with the others is said once you catch half of them. Which "
        "mistakes can you think of?",
        "Поймано неверных программ: {caught} из {count}. Что не так в остальных, будет сказано, когда вы поймаете половину. "
        "Какие ошибки приходят вам в голову?",
    ),
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
    "differs.memory": Text(
        "{used} MB on large inputs, and {limit} MB are enough. The operating system counts all memory: NumPy's arrays, "
        "Python's numbers and buffers from before, too.",
        "{used} МБ на больших входных данных, а достаточно {limit} МБ. Операционная система считает всю память: и "
        "массивы NumPy, и числа Python, и буферы, созданные раньше.",
    ),
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
        "The check counts what this code does in one thread. Start no threads and no processes here.",
        "Проверка учитывает только один поток. Не запускайте в этом коде ни других потоков, ни процессов.",
    ),
    "raised.operators": Text(
        "The check counts torch's operations. An operator of your own, or a tensor class with its own "
        "`__torch_dispatch__`, hides what it calls. Use none here.",
        "Проверка подсчитывает операции torch. Ваш собственный оператор или класс тензора со своим "
        "`__torch_dispatch__` скрывает, что он вызывает. Обойдитесь без него.",
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
    "absent.slips": Text(
        "Written in a way in which no answer can be: {entries}. Nothing is counted yet: mend that, and check again.",
        "Записано так, как ответ записать нельзя: {entries}. Проверка пока не считается: исправьте и проверьте снова.",
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
