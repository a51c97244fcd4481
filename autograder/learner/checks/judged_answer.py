"""The verdict on an answer in a learner's kernel."""

from __future__ import annotations

from ...checking.containment.memory_limit import memory_limited
from ...checking.devices.place import Place
from ...checking.judge import judge, screen, unobserved
from ...checking.observe import code_digest, observe
from ...checking.verdict import Verdict, VerdictState
from ...language import Note
from ..cells_run import unfinished
from .asked import Asked


def judge_answer(asked: Asked, place: Place | None = None) -> Verdict:
    """Return the verdict on an answer, which runs at `place`, or on the CPU if that is None."""
    exercise = asked.exercise
    if not exercise.withdrawn and (ended := unfinished(exercise.asks)):
        return unobserved(exercise, VerdictState.NOT_ATTEMPTED, ended)
    if screened := screen(exercise, asked.namespace):
        return screened
    try:
        expected = asked.expected
    except (OSError, LookupError, ValueError) as error:
        fault: dict[str, object] = {"exercise": exercise.name, "error": f"{type(error).__name__}: {error}"}
        return unobserved(exercise, VerdictState.OUR_ERROR, Note("fault.probe", fault))
    with memory_limited():
        runs = observe(exercise, asked.answer, expected.seed, place)
    return judge(exercise, runs, expected, lambda: code_digest(asked.answer))
