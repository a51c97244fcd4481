"""What of a submission's run is shown and kept: nothing in which an answer could tell its author the hidden cases."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from nbformat.notebooknode import NotebookNode

from ...checking.verdict import Verdict
from ...language import Note
from ...messages.interface import message
from .outputs import output


def digest(runs: list[dict[str, Any]]) -> str:
    """A hash of what was observed, without the text of the answer or what it printed."""
    shown = [{key: run.get(key) for key in ("values", "raised", "edited")} for run in runs]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]


def without_inputs(verdict: Verdict) -> Verdict:
    """The verdict without anything in which an answer could tell its author what the hidden cases are."""
    finding = verdict.finding
    if finding:
        finding = replace(finding, inputs="", got=tuple(map(_without_message, finding.got)))
    notes = tuple(note for note in verdict.notes if note.id not in ("note.printed", "note.stderr", "note.warning"))
    return replace(verdict, finding=finding, notes=notes)


def _without_message(note: Note) -> Note:
    return replace(note, parameters={**note.parameters, "message": "…"}) if "message" in note.parameters else note


def stopped(why: str, language: str | None) -> NotebookNode:
    text = message(f"run.{why}").read(language)
    return output("error", ename="Stopped", evalue=why, traceback=text.splitlines())


def explain_import(outputs: list[NotebookNode], language: str | None) -> str | None:
    """Explain to the student that a cell imports what the course's package does not have.

    Returns what was imported, in Python's words; None when no such import failed.
    """
    for each in outputs:
        missed = each.get("ename") in ("ImportError", "ModuleNotFoundError") and "autograder" in each.evalue
        if missed:
            each.traceback += message("run.import").read(language).splitlines()
            return str(each.evalue).partition(" (")[0][:120]
    return None
