"""Short questions in a terminal, one after the other."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

from ...history import read_history
from ...messages.learners import message
from ...session import SESSION
from ..replies import as_commands
from .counting import describe_result
from .questions import Question
from .recall import recall_questions
from .review import choose_questions, list_due
from .schedule import make_schedule
from .statement import exercise_label


def review_here(language: str) -> None:
    """Print what is due, and ask questions on it that take about ten minutes if somebody sits at the terminal."""
    print(list_due(language))
    history = read_history()
    due = make_schedule(history, time.time()).due
    if due and sys.stdin.isatty():
        _ask(choose_questions(due, history.checks)[0], language, are_due=True)


def recall_here(lesson: str, language: str) -> None:
    """Ask two questions on what a lesson builds on, or print them if nobody sits at the terminal."""
    SESSION.language = language
    questions = recall_questions(lesson, read_history().checks)
    if not questions:
        print(message("recall.none").read(language))
    elif sys.stdin.isatty():
        _ask(questions, language, are_due=False)
    else:
        print(*(each.question(language) for each in questions), sep="\n")


def _ask(questions: Iterable[Question], language: str, *, are_due: bool) -> None:
    """Ask each question, and print whether the answer was right.

    An empty line skips a question, the end of the input all that are left.
    """
    print(f"\n{message('review.skip').read(language)}")
    for question in questions:
        print(f"\n{exercise_label(question.exercise, language)}\n")
        try:
            marked = question.mark(question.ask(input, language))
        except EOFError:
            print()
            return
        if marked is None:
            print(message("review.unreadable", name=question.exercise.name).read(language))
            continue
        print(as_commands(describe_result(question.exercise, *marked, is_due=are_due).read(language)))
