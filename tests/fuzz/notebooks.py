"""Fuzzing of submitted notebooks, up to the moment when their code would run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from autograder.grading.files.notebook_file import Unreadable, parse_notebook, write_notebook
from autograder.grading.gradebook.released_notebooks import Released, ReleasedNotebook
from autograder.grading.plugin.safe_html import Harmless
from autograder.grading.requests.found import find_requests, time_of
from autograder.grading.submission.handed_in import read_submission
from autograder.grading.submission.limited_outputs import LimitOutput, OutputBudget, safe_outputs
from autograder.grading.submission.sanitize import sanitize
from autograder.grading.submission.submitted_notebook import SubmittedNotebook
from fuzz.broken_notebooks import HARMFUL, HARMLESS, OUTPUTS, PICTURES, Json, anywhere, bytes_of
from fuzz.mutations import change_bytes, change_text

NAME = "00_first_gradient"
RELEASED_FILE = Path(__file__).parents[2] / "notebooks" / "en" / f"{NAME}.ipynb"
_MARKDOWN = (
    "![x](attachment:a.png)", "![](attachment:picture-1)", "ATTACHMENT:x", "<script>", "<img src=x onerror=y>", "</",
    "&#x6a;", "[x](javascript:y)", "[x][y]\n\n[y]: z", "```python\nx = '\n```", "~~~", "$$", "$x$", "\\\\(",
    "\\begin{x}", "\\end{x}", "> ", "* ", "1. ", "\n\n", "    ", "| a | b |\n|---|---|\n| 1 | 2 |", "**", "__", "`",
    "# ", "[^1]", "<!--", "]]>", "![", "](", "\t", "Regrade: please", "**Пересмотр:** x",
)  # fmt: skip
_CODE = (
    "def numerical_slope(", "descend = ", "class A:\n ", "f'{", "(", "-", "lambda: ", "if x:\n    ", '"""', "\\", "@",
    "\f", "0x",
)  # fmt: skip


def released() -> ReleasedNotebook:
    """Return the notebook that students get, as the gradebook stores it."""
    cells = {}
    for cell in json.loads(RELEASED_FILE.read_bytes())["cells"]:
        if ours := cell["metadata"].get("nbgrader"):
            cells[ours["grade_id"]] = Released(
                cell["cell_type"],
                "".join(cell["source"]),
                ours["checksum"],
                ours["locked"],
                ours.get("points"),
                ours["solution"],
            )
    return ReleasedNotebook(cells, {"name": "python3", "display_name": "Python 3", "language": "python"})


_RELEASED = {NAME: released()}
_FOLDER = tempfile.TemporaryDirectory()
_SUBMITTED = Path(_FOLDER.name)
(_SUBMITTED / "another name.ipynb").write_bytes(RELEASED_FILE.read_bytes().replace(b"...", b"1"))


def seeds() -> Iterator[bytes]:
    """Yield the released notebook, and one of a few cells with all that a cell may hold."""
    raw = json.loads(RELEASED_FILE.read_bytes())
    yield json.dumps(raw).encode()
    raw["metadata"]["timestamp"] = "2026-09-20 12:00:00 UTC"
    raw["cells"] = [cell for cell in raw["cells"] if "nbgrader" in cell["metadata"]][:4]
    for cell in raw["cells"]:
        cell["outputs"] = OUTPUTS
    text = {"cell_type": "markdown", "metadata": {}, "source": [f"{each}\n" for each in ("Regrade: x", *_MARKDOWN[:2])]}
    text["attachments"] = {"a.png": PICTURES, "\ud800": PICTURES}
    yield json.dumps({**raw, "cells": [*raw["cells"], text]}).encode()


def read(data: bytes) -> None:
    """Do with the file of a notebook all that is done before and after its code runs.

    The outputs in the file stand for those of the run. Raises what the grader would.
    """
    (_SUBMITTED / f"{NAME}.ipynb").write_bytes(data)
    list(find_requests(_SUBMITTED))
    try:
        raw = parse_notebook(data, NAME)
    except Unreadable:
        pass
    else:
        _read_cells(raw)
    found = read_submission(_SUBMITTED, _RELEASED, [], True)
    assert found.digest
    assert found.notebooks[NAME].data


def _read_cells(raw: dict[str, Any]) -> None:
    told = raw.get("metadata")
    time = str(told.get("timestamp", "")) if isinstance(told, dict) else ""
    (_SUBMITTED / "timestamp.txt").write_text(time, encoding="utf-8", errors="replace")
    time_of(_SUBMITTED)
    try:
        notebook = sanitize(SubmittedNotebook(raw, _RELEASED[NAME])).notebook
    except Unreadable:
        return
    room = OutputBudget()
    printed = [cell["outputs"] for cell in raw["cells"] if isinstance(cell, dict) and "outputs" in cell]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = safe_outputs(_sent(printed.pop() if printed else []), 1, room)
            cell.execution_count = 1
    limited, _ = LimitOutput().preprocess(notebook, {})
    write_notebook(_SUBMITTED / "graded.json", limited)
    Harmless().preprocess(limited, {})


def _sent(outputs: Any) -> Any:
    """Return outputs as the channel to a student's process delivers them: without lone surrogates."""
    try:
        return json.loads(json.dumps(outputs, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def mutate(data: bytes, chance: Random) -> bytes:
    """Return another notebook: mostly with changes in the decoded tree, else with other bytes."""
    try:
        raw = json.loads(data)
        for _ in range(chance.choice([1, 1, 2, 5])):
            made = _changed(raw, chance)
            if not isinstance(made, dict):
                return bytes_of(made)
            raw = made
        return bytes_of(raw if chance.random() < 0.7 else json.dumps(raw, ensure_ascii=False))
    except Exception:  # what is broken already breaks the mutations, too
        return change_bytes(data, chance)


def _changed(raw: Json, chance: Random) -> bytes | str | Json:
    """Return the notebook with a mutation, or with another text in a cell or anywhere."""
    match chance.randrange(3):
        case 0:
            cell = chance.choice(raw["cells"])
            tokens = _CODE if cell["cell_type"] == "code" else _MARKDOWN
            cell["source"] = change_text("".join(cell["source"]), chance, tokens)
        case 1:
            where, key = anywhere(raw, chance)
            where[key] = change_text(where[key], chance, (*_MARKDOWN, *_CODE, *PICTURES.values()))
        case 2:
            return chance.choice([*HARMFUL.values(), *HARMLESS.values()])(raw, chance)
    return raw
