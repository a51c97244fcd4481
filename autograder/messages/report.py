"""Sentences of the class report, and of notes in stored verdicts."""

from __future__ import annotations

from ..language import Note, Noun, Text
from .learners import MESSAGES, say

TOKEN = Noun(("token in common", "tokens in common"), ("общая лексема", "общие лексемы", "общих лексем"))

WORDS = {
    "report": Text("What the class understood", "Что поняла группа"),
    "made": Text("Made on {when}", "Составлено {when}"),
    "submissions": Text("submissions", "проверено работ"),
    "idle": Text("handed in nothing", "ничего не сдали"),
    "idle_doubt": Text("handed in nothing, or not placed yet", "не сдали, или работа не распознана"),
    "idle_who": Text("Who has handed in nothing", "Кто ничего не сдал"),
    "idle_who_doubt": Text(
        "Handed in nothing, or the work has no place yet (files in unplaced/: {count})",
        "Ничего не сдали, или работу пока не удалось отнести ни к одному студенту (файлов в unplaced/: {count})",
    ),
    "late": Text(
        "Scores are those after late penalties. Submissions with a penalty: {count}, points taken off: {points}.",
        "Баллы указаны с вычетом за опоздание. Работ с вычетом: {count}, всего снято баллов: {points}.",
    ),
    "mean": Text("mean score", "средний балл"),
    "preliminary": Text(
        "The mean and the median are preliminary: {count} of {total} submissions still wait for points from a person.",
        "Средний балл и медиана предварительные: баллов от преподавателя ещё ждут работы: {count} из {total}.",
    ),
    "median": Text("median score", "медиана баллов"),
    "of": Text("of {maximum}", "из {maximum}"),
    "waiting": Text("wait for a person", "ждут преподавателя"),
    "flagged": Text("flagged by the grading", "отмечены при проверке"),
    "misunderstood": Text("Most often misunderstood", "Что чаще всего понимают неверно"),
    "nothing_shared": Text(
        "No wrong answer to a graded exercise was given by more than one student.",
        "Ни один неверный ответ на основное упражнение не повторился у двух студентов.",
    ),
    "share": Text("{count} of {answers} answers ({percent})", "ответов: {count} из {answers} ({percent})"),
    "unnamed": Text("Not among the known mistakes.", "Нет среди известных ошибок."),
    "scores": Text("Scores", "Баллы"),
    "points": Text("points", "баллы"),
    "number": Text("submissions", "работы"),
    "histogram": Text("How many submissions have which score", "Распределение работ по баллам"),
    "numbers": Text("The numbers", "Числа"),
    "exercises": Text("Exercises", "Упражнения"),
    "exercise": Text("exercise", "упражнение"),
    "states": Text("How many submissions passed each exercise", "Сколько работ прошло каждое упражнение"),
    "solved": Text("solved", "решили"),
    "solved_by": Text("Solved by {count} of {total} ({percent})", "Решили: {count} из {total} ({percent})"),
    "no_verdict": Text("no verdict", "нет результата"),
    "broken": Text("stopped by an error", "ошибка в ячейке"),
    "held_back": Text("held back until a person has looked", "отложено до решения преподавателя"),
    "stopped": Text("The cell with the answer ends in an error:", "Ячейка с ответом завершается ошибкой:"),
    "recognised": Text("Recognised mistakes", "Распознанные ошибки"),
    "other": Text("Other wrong answers, alike in behaviour", "Другие неверные ответы с одинаковым поведением"),
    "no_wrong": Text("No wrong answer.", "Неверных ответов нет."),
    "failed": MESSAGES["card.not_met"],
    "gone": Text("`{name}`, a mistake no longer listed", "`{name}`: такой ошибки в упражнении уже нет"),
    "places": Text("Exercises: {count}", "Упражнений: {count}"),
    "students": Text("Who ({count})", "Кто (всего {count})"),
    "rows": Text("Wrong predictions by row", "Неверные предсказания по строкам"),
    "rows_program": Text("program {number} of {total}", "программа {number} из {total}"),
    "rows_filled": Text("Tables filled in: {count}.", "Заполненных таблиц: {count}."),
    "rows_blank": Text("Not begun: {count}.", "Не начаты: {count}."),
    "rows_right": Text("Nobody was wrong about", "Никто не ошибся в строках"),
    "row_right": Text("Right:", "Верно:"),
    "row_given": Text("Given:", "Ответы:"),
    "row_instead": Text("in place of", "вместо"),
    "row_others": Text("other values: {count}", "другие значения: {count}"),
    "row_empty": Text("Left empty: {count}", "Не заполнено: {count}"),
    "code": Text("One such answer", "Один из таких ответов"),
    "cut": Text("… the rest is in the notebook", "… остальное в тетради"),
    "lecture": Text("A question for the next lecture", "Вопрос для следующей лекции"),
    "lecture_how": Text(
        "From what most students got wrong: show it, let everybody vote alone, then let neighbours talk and vote again.",
        "По тому, в чём ошиблись чаще всего: покажите вопрос, пусть каждый ответит сам, потом обсудит с соседом и ответит "
        "ещё раз.",
    ),
    "lecture_line": Text("What does the last line give?", "Что даст последняя строка?"),
    "lecture_output": Text("What comes out, compared with what is right?", "Что получится по сравнению с верным результатом?"),
    "lecture_mistake": Text("What is wrong here?", "Что здесь неверно?"),
    "project": Text("A page to project", "Страница для проектора"),
    "project_next": Text("Answer", "Ответ"),
    "project_back": Text("Question", "Вопрос"),
    "project_votes": Text("Bars: how many students gave this answer at home.", "Полосы: сколько студентов так ответили дома."),
    "lecture_called": Text("Called as", "Вызов"),
    "lecture_answer": Text("Answer", "Ответ"),
    "lecture_tempting": Text("Students expected: {choice}", "Студенты ожидали: {choice}"),
    "lecture_required": Text("The exercise asks for: {choice}", "По условию нужно: {choice}"),
    "nothing_wrong": Text("Nothing: the code is right.", "Ничего: код верный."),
    "choice_right": Text("the right value", "верное значение"),
    "choice_multiple": Text("{factor} times the right value", "{factor} × верное значение"),
    "choice_other": Text("another value", "другое значение"),
    "choice_error": Text("an error: {kind}", "ошибка {kind}"),
    "choice_nan": Text.same("NaN"),
    "choice_shape": Text("a value of shape {shape}", "значение формы {shape}"),
    "difficulty": Text("mean share of points", "средняя доля баллов"),
    "discrimination": Text("discrimination", "дискриминативность"),
    "statistics_how": Text(
        "Discrimination is the correlation of an exercise's points with the points for all others: near 0, the exercise "
        "does not tell strong students from weak ones; below 0, look at the exercise itself. A dash stands where fewer "
        "than 10 students answered or all have the same points. Late penalties are not counted here.",
        "Дискриминативность (различающая способность) — корреляция баллов за упражнение с баллами за все остальные. Если "
        "она около 0, упражнение не отличает сильных студентов от слабых, а если меньше 0, посмотрите на само "
        "упражнение. Прочерк стоит там, где работ меньше 10 или баллы у всех одинаковые. Опоздания здесь не учитываются.",
    ),
    "similar": Text("Answers that are alike", "Похожие ответы"),
    "similar_how": Text(
        "Students who share more than the exercise forces and other answers have. Names that they chose do not count. "
        "A reason to talk, never a verdict.",
        "Студенты с общим текстом, которого упражнение не требует и которого нет в других ответах. Имена, которые они "
        "выбрали сами, не учитываются. Это повод поговорить, а не доказательство.",
    ),
    "copies": Text("Our solution, word for word", "Наше решение, слово в слово"),
    "copies_how": Text(
        "The released notebook shows the solutions of the course to whoever asks: `solution(\"NAME\", give_up=True)`. It does "
        "not show those of your own lessons. Chosen names, comments and layout do not count; short solutions are left "
        "out. A few students may have written the same on their own.",
        "Тетрадь студента показывает решения курса каждому, кто попросит: `solution(\"NAME\", give_up=True)`. Решений ваших "
        "собственных уроков она не показывает. Выбранные имена, комментарии и оформление не учитываются, короткие "
        "решения не вошли. Кто-то мог написать то же самое и сам.",
    ),
    "shared": Text("Shared text", "Общий текст"),
    "course": Text("The course so far", "Курс: состояние на сегодня"),
    "assignment": Text("assignment", "задание"),
    "stuck": Text("Who is stuck", "Кому нужна помощь"),
    "stuck_how": Text(
        "Students with mistakes of one theme in at least three lessons.",
        "Студенты, которые ошибались в одной и той же теме хотя бы в трёх уроках.",
    ),
    "nobody_stuck": Text(
        "Nobody made mistakes of one theme in three lessons.", "Никто не ошибался в одной теме в трёх уроках."
    ),
    "stuck_later": Text(
        "This section fills once three lessons are graded.",
        "Этот раздел заполнится, когда будут проверены работы по трём урокам.",
    ),
    "theme": Text("theme", "тема"),
    "mistakes": Text("mistakes", "ошибки"),
    "extras": Text("Extras", "Дополнительные упражнения"),
    "extras_note": Text("Not part of the score.", "В оценку не входят."),
    "look": Text("For you to look at", "Что нужно посмотреть"),
    "why": Text("why", "почему"),
    "where": Text("where", "где"),
    "written": Text("Answer in words", "Ответ своими словами"),
    "tampered": Text("What the check relies on was replaced", "Подменено то, на чём держится проверка"),
    "fault": Text("The checker itself failed", "Сбой самой проверки"),
    "again": Text("Graded by hand, then autograded anew", "Оценено вручную, затем проверено заново"),
    "read": Text("Points from a person are missing", "Нет баллов, которые ставит преподаватель"),
    "remarks": Text("Flagged, and why", "Отмечено при проверке: почему"),
    "odd_code": Text("Unusual code, to look at", "Необычный код: стоит взглянуть"),
    "odd_code_note": Text(
        "Most notebooks need nothing of this kind. It has cost no points, and need not mean anything.",
        "Обычно в тетрадях такого нет. На баллы это не повлияло и само по себе ничего не значит.",
    ),
    "unread": Text("Not in this report", "Не вошли в отчёт"),
    "student": Text("student", "студент"),
    "no_exercises": Text("No exercise here has verdicts.", "Упражнений с проверкой здесь нет."),
}  # fmt: skip


def said(note: Note, language: str) -> str:
    """Return the sentence of a note.

    Returns "" if the note was stored by another version of the course and has no sentence now.
    """
    try:
        return say(note, language).removesuffix(": …")[:500]
    except (LookupError, TypeError, ValueError, AttributeError):
        return ""
