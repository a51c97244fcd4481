"""Consequences of a child that ended early: outputs and verdicts.

In this module, `why` is the cause in `student_process.Ended`: "time", "memory",
"disk", "died" or "nonsense".
"""

from __future__ import annotations

from nbformat.notebooknode import NotebookNode

from ...checking.exercise import Exercise
from ...checking.judge import unobserved
from ...checking.verdict import Verdict
from ...language import Note
from ...messages.cards import message
from .outputs import output


def stopped_output(why: str, language: str | None) -> NotebookNode:
    """Return the error to show as the output of a cell that was not run.

    Without an error nbgrader would give full points to the cell. If `language` is None, the text is in English and
    Russian, otherwise in "en" or "ru".
    """
    text = message(f"run.{why}").read(language)
    return output("error", ename="Stopped", evalue=why, traceback=text.splitlines())


def unreached_verdict(exercise: Exercise, why: str) -> Verdict:
    """Return the verdict on an answer that was not checked: no points, and a note on the cause."""
    return unobserved(exercise, "not yet", Note(f"run.{why}", {}))
