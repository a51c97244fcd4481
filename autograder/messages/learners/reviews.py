"""Sentences of reviews, variants and placement."""

from __future__ import annotations

from ...language import Text

REVIEWS: dict[str, Text] = {
    # -- reviews ------------------------------------------------------------------------------------------------
    "review.title": Text("Due for review: {count}", "Упражнений, которые пора повторить: {count}"),
    "review.now": Text(
        "**Due for review: {count}.** Questions for now: {shown}, about {minutes}. What you leave out waits; nothing is "
        "lost if it waits until tomorrow.",
        "**Упражнений, которые пора повторить: {count}.** Вопросов сейчас: {shown}, примерно {minutes}. Остальное "
        "подождёт, и до завтра с ним ничего не случится.",
    ),
    "review.table": Text(
        "What does `{function}()` return in the rows asked for below?",
        "Что вернёт `{function}()` в строках, указанных ниже?",
    ),
    "review.what_is_wrong": Text(
        "This answer does not pass. What is wrong with it?", "Этот ответ проверку не проходит. Что в нём неверно?"
    ),
    "review.whole": Text(
        "Due as whole exercises, each in a new cell: {calls}.",
        "Пора повторить целиком, по одному в новой ячейке: {calls}.",
    ),
    "review.then": Text(
        'Rather a whole exercise? `again("{name}")` shows it with new cases, and its check counts as well.',
        'Хотите решить упражнение целиком? `again("{name}")` покажет его с новыми данными, и его проверка тоже '
        "засчитается.",
    ),
    "review.cell": Text(
        "The next cell (in a terminal: the next prompt) has a place for each answer. Fill in and run it; what stays `...` "
        "is skipped.",
        "В следующей ячейке (в терминале — в следующей строке ввода) есть место для каждого ответа. Заполните её и "
        "выполните. Вопрос, у которого останется `...`, пропускается.",
    ),
    "review.text": Text(
        "Put your answers into this code and run it; what stays `...` is skipped:",
        "Впишите ответы в этот код и выполните его (вопрос, у которого останется `...`, пропускается):",
    ),
    "review.fill.mistake": Text("1 to {last}: the sentence", "номер фразы, от 1 до {last}"),
    "review.fill.why": Text(
        "True if you said what our answer says, else False", "True, если вы ответили так же, иначе False"
    ),
    "review.same": Text("Did you say the same? (y/n) ", "Вы ответили так же? (д/н) "),
    "review.skip": Text(
        "An empty line skips a question, Ctrl+D ends.", "Пустая строка пропускает вопрос, Ctrl+D завершает опрос."
    ),
    "review.right": Text("✓ `{name}`:", "✓ `{name}`:"),
    "review.wrong": Text("✗ `{name}`:", "✗ `{name}`:"),
    "review.said.right": Text("You said so yourself.", "Вы ответили так же."),
    "review.said.wrong": Text("Read our answer once more.", "Прочтите наш ответ ещё раз."),
    "review.table.right": Text("All rows are right.", "Все строки верны."),
    "review.table.wrong": Text("Wrong: {rows}.", "Неверно: {rows}."),
    "review.unreadable": Text(
        "`{name}`: skipped, because the answer is incomplete or of another kind than asked for.",
        "`{name}`: пропущено, потому что ответ неполный или не того вида, который нужен.",
    ),
    "review.not_counted": Text(
        "`{name}`: not counted. It is not due any more; `review()` asks what is.",
        "`{name}`: не засчитано, потому что повторять это сейчас не нужно. О том, что пора повторить, спросит "
        "`review()`.",
    ),
    "review.left": Text(
        "Still due: {count}. `review()` goes on, today or tomorrow.",
        "Осталось повторить: {count}. Дальше — `review()`, сегодня или завтра.",
    ),
    "review.asked": Text("A short question was answered.", "Ответ на короткий вопрос."),
    "review.exercise": Text("**{exercise}** (lesson {lesson})", "**{exercise}** (урок {lesson})"),
    "again.cell": Text(
        "The next cell (in a terminal: the next prompt) has a stub and the check. Answer there without looking the old "
        "answer up.",
        "В следующей ячейке (в терминале — в следующей строке ввода) заготовка и проверка. Ответьте в ней, не "
        "подглядывая в прежний ответ.",
    ),
    "again.text": Text(
        "Answer it again without looking the old answer up. This is the code to begin with:",
        "Ответьте ещё раз, не подглядывая в прежний ответ. Начните с этого кода:",
    ),
    # -- recall ---------------------------------------------------------------------------------------------------
    "recall.then": Text(
        "Were you right? Say it in this cell, one word for each question, and run it again: `{example}`",
        "Ответили верно? Отметьте это в той же ячейке, по одному слову на каждый вопрос, и выполните её снова: "
        "`{example}`",
    ),
    "recall.none": Text("This lesson builds on no other.", "Этот урок не опирается на другие."),
    "recall.shown_before": Text(
        "No question waits for an answer here. `recall()` asks.",
        "Вопросов, которые ждут ответа, нет. Новые задаст `recall()`.",
    ),
    "recall.answers": Text(
        "One True or False for each question: `{example}`",
        "На каждый вопрос по одному True или False: `{example}`",
    ),
    "recall.right": Text("Noted. On with the lesson.", "Записано. Теперь к уроку."),
    "recall.again": Text(
        "Noted. What you did not know comes first the next time, and in `review()` tomorrow if you have done its exercise.",
        "Записано. То, чего вы не знали, в следующий раз будет первым, а если упражнение уже сделано, завтра вернётся "
        "и в `review()`.",
    ),
    "review.none": Text("Nothing is due for review.", "Повторять пока нечего."),
    "review.later": Text("The first exercise is due on {date}.", "Ближайшее повторение: {date}."),
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
        "The hard rows of each lesson's table, {total} questions, about two minutes each. Read the program and do not run "
        "it in parts. What you know can be skipped. Leave `...` if you do not know.",
        "Вопросов о трудных строках в таблицах уроков: {total}, на каждый примерно две минуты. Прочитайте программу, "
        "но не запускайте её по частям. Уроки, материал которых вы знаете, можно будет пропустить. Если ответа не "
        "знаете, оставьте `...`.",
    ),
    "placement.title": Text("**Question {number} of {total}** · {lesson}", "**Вопрос {number} из {total}** · {lesson}"),
    "placement.cell": Text(
        "The program is in the next cell (in a terminal: the next prompt). Put your answers in place of `...`, and run it.",
        "Программа в следующей ячейке (в терминале — в следующей строке ввода). Поставьте ответы вместо `...` и "
        "выполните ячейку.",
    ),
    "placement.row": Text(
        "What does {function}() return in these rows? Put it in place of the dots.",
        "Что вернёт {function}() в этих строках? Поставьте ответы вместо многоточий.",
    ),
    "placement.right": Text("✓ Right.", "✓ Верно."),
    "placement.unknown_answer": Text(
        "Not known yet: the lesson teaches it.", "Этого вы пока не знаете, урок этому научит."
    ),
    "placement.wrong": Text(
        "✗ Right in {right} of {total} rows. The lesson shows why.",
        "✗ Верных строк: {right} из {total}. Что не так, покажет урок.",
    ),
    "placement.done": Text("Where to begin", "С чего начать"),
    "placement.answer": Text("answer", "ответ"),
    "placement.proposal": Text("proposal", "совет"),
    "placement.skip": Text("skip it, or read “What to keep”", "пропустить или прочесть «Что стоит запомнить»"),
    "placement.begin": Text("begin here: {proposal}", "начать отсюда: {proposal}"),
    "placement.part": Text("you know a part: do {names}", "сделать {names} (часть урока вам знакома)"),
    "placement.finished": Text("done", "пройден"),
    "placement.do": Text("do it", "пройти"),
    "placement.below": Text(
        "A lesson that you skip stays open, and its exercises count as not done. `placement(again=True)` asks once more, with "
        "other programs.",
        "Пропущенный урок остаётся открытым, а его упражнения считаются несделанными. `placement(again=True)` "
        "спросит ещё раз, о других программах.",
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
