"""Sentences of the class report, and of notes in stored verdicts."""

from __future__ import annotations

from ..checking.verdict import Finding
from ..language import Note, Text
from .cards import MESSAGES

WORDS = {
    "report": Text("What the class understood", "Что поняла группа"),
    "made": Text("Made on {when}", "Составлено {when}"),
    "submissions": Text("submissions", "работ"),
    "mean": Text("mean score", "средний балл"),
    "median": Text("median score", "медиана баллов"),
    "of": Text("of {maximum}", "из {maximum}"),
    "waiting": Text("wait for a person", "ждут преподавателя"),
    "flagged": Text("flagged by the grading", "отмечены при проверке"),
    "misunderstood": Text("Most often misunderstood", "Что чаще всего понимают неверно"),
    "nothing_shared": Text(
        "No wrong answer to a graded exercise was given by more than one student.",
        "Ни один неверный ответ на основное упражнение не повторился у двух студентов.",
    ),
    "share": Text("{count} of {answers} answers ({percent})", "{count} из {answers} ответов ({percent})"),
    "unnamed": Text("Not among the known mistakes.", "Нет среди известных ошибок."),
    "scores": Text("Scores", "Баллы"),
    "points": Text("points", "баллы"),
    "number": Text("submissions", "работы"),
    "histogram": Text("How many submissions have which score", "Сколько работ набрало столько баллов"),
    "numbers": Text("The numbers", "Числа"),
    "exercises": Text("Exercises", "Упражнения"),
    "exercise": Text("exercise", "упражнение"),
    "states": Text("How many submissions passed each exercise", "Сколько работ прошло каждое упражнение"),
    "solved": Text("solved", "решили"),
    "solved_by": Text("Solved by {count} of {total} ({percent})", "Решили {count} из {total} ({percent})"),
    "no_verdict": Text("no verdict", "нет результата"),
    "broken": Text("stopped by an error", "ошибка в ячейке"),
    "held_back": Text("held back until a person has looked", "отложено до решения преподавателя"),
    "stopped": Text("The cell with the answer ends in an error:", "Ячейка с ответом завершается ошибкой:"),
    "recognised": Text("Recognised mistakes", "Узнанные ошибки"),
    "other": Text("Other wrong answers, alike in behaviour", "Другие неверные ответы с одинаковым поведением"),
    "no_wrong": Text("No wrong answer.", "Неверных ответов нет."),
    "failed": Text("Does not hold:", "Не выполнено:"),
    "gone": Text("`{name}`, a mistake no longer listed", "`{name}`: такой ошибки в упражнении уже нет"),
    "places": Text("Exercises: {count}", "Упражнений: {count}"),
    "students": Text("Who ({count})", "Кто (всего {count})"),
    "code": Text("One such answer", "Один из таких ответов"),
    "cut": Text("… the rest is in the notebook", "… остальное в тетради"),
    "extras": Text("Extras", "Дополнительные упражнения"),
    "extras_note": Text("Not part of the score.", "В оценку не входят."),
    "look": Text("For you to look at", "Что нужно посмотреть"),
    "why": Text("why", "почему"),
    "where": Text("where", "где"),
    "written": Text("Answer in words", "Ответ своими словами"),
    "tampered": Text("What the check relies on was replaced", "Подменено то, на чём держится проверка"),
    "fault": Text("The checker itself failed", "Сбой самой проверки"),
    "deleted": Text("The graded cell was deleted", "Ячейка с оценкой удалена"),
    "again": Text("Graded by hand, then autograded anew", "Оценено вручную, затем проверено заново"),
    "read": Text("Points from a person are missing", "Баллы ставит преподаватель"),
    "remarks": Text("Flagged, and why", "Отмечено при проверке: почему"),
    "unread": Text("Not in this report", "Не вошли в отчёт"),
    "student": Text("student", "студент"),
    "no_exercises": Text("No exercise here has verdicts.", "Упражнений с проверкой здесь нет."),
}  # fmt: skip


def said(note: Note, language: str) -> str:
    """Return the sentence of a note.

    Returns "" if the note was stored by another version of the course and has no sentence now.
    """
    try:
        told = {
            name: MESSAGES[value].read(language) if isinstance(value, str) and value in MESSAGES else value
            for name, value in note.parameters.items()
        }
        text = MESSAGES[note.id].format(**told).read(language)
    except (LookupError, TypeError, ValueError, AttributeError):
        return ""
    return text.removesuffix(": …")[:500]


def label_of(finding: Finding) -> str:
    """Return the id of the label that a card puts before the result of a failed case, such as "card.returned"."""
    first = finding.got[0].id if finding.got else ""
    if str(first).startswith("raised."):
        return "card.raised"
    return {"differs.table": "card.wrong", "differs.budget": "card.counted"}.get(first, "card.returned")
