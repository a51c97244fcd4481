"""Sentences of feedback pages, in English and Russian."""

from __future__ import annotations

from ..language import Text

WORDS = {
    "feedback": Text("Feedback", "Комментарии к работе"),
    "question": Text("Question", "Задание"),
    "points": Text("Points", "Баллы"),
    "total": Text("Total", "Всего"),
    "late": Text("Late submission", "Сдано с опозданием"),
    "written": Text("Answer in your own words", "Ответ своими словами"),
    "code": Text("Answer in code", "Ответ в виде кода"),
    "answer": Text("Your answer", "Ваш ответ"),
    "check": Text("Check", "Проверка"),
    "comment": Text("Comment", "Комментарий"),
    "no_response": Text("No answer.", "Ответа нет."),
    "waiting": Text("your instructor has not graded this yet", "преподаватель ещё не проверил"),
    "deleted": Text("this cell is not in the notebook", "этой ячейки нет в тетради"),
    "top": Text("to the top", "наверх"),
}
