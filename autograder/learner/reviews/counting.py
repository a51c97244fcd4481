"""Exercises due for review, and checks that count as reviews."""

from __future__ import annotations

import time

from ...checking.exercise import Exercise
from ...checking.verdict import Verdict, VerdictState
from ...history import History, read_history
from ...language import LANGUAGES, Note, Text
from ...messages.learners import message, say
from ...session import being_graded
from .schedule import LADDER, climb, make_schedule


def due_now(history: History) -> tuple[Exercise, ...]:
    """Return the exercises that are due for review. While nbgrader runs the notebook, none is."""
    return () if being_graded() else make_schedule(history, time.time()).due


def is_review(exercise: Exercise, verdict: Verdict, variant: int | None) -> bool:
    """Return whether a check answers a variant of an exercise that is due for review."""
    if not variant or verdict.state not in (VerdictState.PASSED, VerdictState.NOT_YET) or being_graded():
        return False
    return any(each.name == exercise.name for each in make_schedule(read_history(exercise.name), time.time()).due)


def describe_result(exercise: Exercise, is_right: bool, says: Text, *, is_due: bool = True) -> Text:
    """Return a line on a recorded answer to a short question, with the next time of an exercise that was due."""
    line = message("review.right" if is_right else "review.wrong", name=exercise.name)
    after = Text(*(say(next_step(exercise), one) for one in LANGUAGES)) if is_due else Text.same("")
    return Text(*(" ".join(filter(None, parts)) for parts in zip(line, says, after)))


def next_step(exercise: Exercise) -> Note:
    """Return a note on when an exercise comes again, after a review of it was recorded."""
    step = climb(read_history(exercise.name).checks, time.time())[exercise.name].step
    if step == 0:
        return Note("note.review.down", {})
    return Note("note.review.up", {"days": LADDER[step]}) if step < len(LADDER) else Note("note.review.last", {})
