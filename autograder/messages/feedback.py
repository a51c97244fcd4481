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
    "disagree": Text(
        "If you think that a result is wrong, write why into a file regrade.txt beside the notebook, and hand in again.",
        "Если вы не согласны с оценкой, напишите почему в файле regrade.txt рядом с тетрадью и сдайте работу ещё раз.",
    ),
    "top": Text("to the top", "наверх"),
}

RECEIPT = {
    "received": Text("Your work was received.", "Работа получена."),
    "received_at": Text("Your work was received on {time}.", "Работа получена {time}."),
    "attempt": Text("It is attempt {number}.", "Это попытка № {number}."),
    "attempt_of": Text("It is attempt {number} of {limit}.", "Это попытка № {number} из {limit}."),
    "graded": Text("The attempt was graded.", "Попытка проверена."),
    "later": Text("The result will be here after {time}.", "Результат появится здесь после {time}."),
    "beyond": Text(
        "Only the first {number} attempts are graded, so this one is not.",
        "Проверяются только первые попытки ({number}), поэтому эта проверена не будет.",
    ),
    "best": Text("The best one of those counts.", "Засчитывается лучшая из них."),
    "latest": Text("The latest one of those counts.", "Засчитывается последняя из них."),
}
