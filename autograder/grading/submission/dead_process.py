"""Outputs and verdicts that are made up when a child ends early."""

from __future__ import annotations

from nbformat.notebooknode import NotebookNode

from ...checking.exercise import Exercise
from ...checking.judge import unobserved
from ...checking.verdict import Verdict, VerdictState
from ...language import Note
from ...messages.cards import message
from ..sandbox.grader.resource_watch import Ending
from .outputs import output


def stopped_output(why: Ending, language: str | None) -> NotebookNode:
    """Return the error to show as the output of a cell that was not run.

    Without an error nbgrader would give full points to the cell. If `language` is None, the text is in English and
    Russian, otherwise in "en" or "ru".
    """
    text = message(f"run.{why}").read(language)
    return output("error", ename="Stopped", evalue=why, traceback=text.splitlines())


def unreached_verdict(exercise: Exercise, why: Ending) -> Verdict:
    """Return the verdict on an answer that was not checked: no points, and a note on the cause."""
    return unobserved(exercise, VerdictState.NOT_YET, Note(f"run.{why}", {}))
