"""Sentences of feedback pages, in English and Russian."""

from __future__ import annotations

from ..language import Text

WORDS = {
    "feedback": Text("Feedback", "Комментарии к работе"),
    "question": Text("Exercise", "Упражнение"),
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
    "disagree": Text(
        "If you think that a result is wrong, write why into a Markdown cell of the notebook after the word “Regrade:”, or "
        "into a file regrade.txt beside the notebook, and hand in again. With the same answers this costs nothing.",
        "Если вы не согласны с оценкой, напишите почему в текстовой ячейке тетради после слова «Пересмотр:» или в файле "
        "regrade.txt рядом с тетрадью и сдайте работу ещё раз. Если ответы не изменились, это ничего не стоит.",
    ),
    "top": Text("to the top", "наверх"),
}

LATE = {
    "due": Text("Due: {due}.", "Срок сдачи: {due}."),
    "extended": Text("Due, with your extension: {due}.", "Срок сдачи с вашей отсрочкой: {due}."),
    "came": Text("Handed in: {came}, {late} late.", "Сдано: {came}, с опозданием на {late}."),
    "late_days": Text("Late days used: {count}.", "Использовано дней отсрочки: {count}."),
    "credit": Text("It gets {percent} % of the points.", "Засчитывается {percent} % баллов."),
    "whole": Text("No points are taken off.", "Баллы за это не снимаются."),
}

WORKSHEET = {
    "points": Text("{points} {noun} out of {maximum}", "{points} {noun} из {maximum}"),
    "late": Text("{points} {noun} taken off for lateness", "за опоздание снято: {points} {noun}"),
}

RECEIPT = {
    "received": Text("Your work was received.", "Работа получена."),
    "received_at": Text("Your work was received on {time}.", "Работа получена {time}."),
    "attempt": Text("It is attempt {number}.", "Это попытка № {number}."),
    "attempt_of": Text("It is attempt {number} of {limit}.", "Это попытка № {number} из {limit}."),
    "graded": Text("The attempt was graded.", "Попытка проверена."),
    "later": Text("The result will be here after {time}.", "Результат появится здесь после {time}."),
    "beyond": Text(
        "Attempts after number {number} are not graded, so this one is not.",
        "Попытки после {number}-й не проверяются, поэтому и эта проверена не будет.",
    ),
    "best": Text("The best of the graded attempts counts.", "Засчитывается лучшая из проверенных попыток."),
    "latest": Text("The latest of the graded attempts counts.", "Засчитывается последняя из проверенных попыток."),
}

# In place of a picture that was pasted into a cell.
GONE = Text("(a picture is not in the notebook: {name})", "(рисунка нет в тетради: {name})")
