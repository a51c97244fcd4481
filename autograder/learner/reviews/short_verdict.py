"""Verdicts on answers to short questions."""

from __future__ import annotations

from ...checking.exercise import Exercise
from ...checking.judge import unobserved
from ...checking.verdict import Verdict, VerdictState
from ...language import Note


def short_verdict(exercise: Exercise, is_right: bool) -> Verdict:
    """Return the verdict on an answer to a short question on an exercise. It has no points."""
    state = VerdictState.PASSED if is_right else VerdictState.NOT_YET
    return unobserved(exercise, state, Note("review.asked", {}))
