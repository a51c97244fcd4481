"""The learner's history: a file with one JSON line per check.

The file outlives kernels and notebooks. Lines are only appended, and kernels that run at the same time therefore keep
each other's lines.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .checking.verdict import Verdict, VerdictState
from .session import being_graded


def folder() -> Path:
    """Return the folder of the history: `$AUTOGRADER_HOME`, or `.autograder` in the home folder."""
    return Path(os.environ.get("AUTOGRADER_HOME") or Path.home() / ".autograder")


_unwritten: list[str] = []  # lines of this kernel that could not be written yet


def record(verdict: Verdict) -> bool:
    """Append a verdict to the history. Does nothing while nbgrader runs the notebook.

    Returns False if the folder is not writable. The verdict is then kept in memory and written with a later one.
    """
    if being_graded():
        return True
    line = json.dumps({"time": round(time.time()), "verdict": verdict.to_json()}, ensure_ascii=False)
    _unwritten.append(line)
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with (folder() / "progress.jsonl").open("a", encoding="utf-8") as file:
            file.write("".join(f"{each}\n" for each in _unwritten))
    except OSError:
        return False
    _unwritten.clear()
    return True


def verdicts(exercise: str = "") -> Iterator[Verdict]:
    """Yield every verdict of the history, or those on one exercise, oldest first.

    Incomplete or invalid lines are skipped.
    """
    try:
        lines = (folder() / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in [*lines, *_unwritten]:
        if exercise not in line:  # saves decoding the line
            continue
        try:
            verdict = Verdict.from_json(json.loads(line)["verdict"])
        except (ValueError, KeyError, TypeError):
            continue
        if exercise in ("", verdict.exercise):
            yield verdict


@dataclass
class Standing:
    """The best and the first verdict on an exercise, and `checks`.

    `checks` is the number of times that the learner checked a complete answer. A check of an unfinished answer does not
    count.
    """

    best: Verdict
    first: Verdict
    checks: int


def standings(given: Iterable[Verdict]) -> dict[str, Standing]:
    """Return a dict from exercise name to its `Standing`, computed from the verdicts `given`, the oldest first."""
    found: dict[str, Standing] = {}
    for verdict in given:
        if verdict.state not in (VerdictState.PASSED, VerdictState.NOT_YET):
            continue
        standing = found.setdefault(verdict.exercise, Standing(verdict, verdict, 0))
        standing.checks += 1
        if verdict.points > standing.best.points or verdict.state == VerdictState.PASSED:
            standing.best = verdict
    return found


def begun_tables(given: Iterable[Verdict]) -> dict[str, Verdict]:
    """Return a dict from exercise name to the last verdict on a table of predictions that still had gaps.

    Tables without any entry are left out. The verdicts `given` are ordered by time.
    """
    return {verdict.exercise: verdict for verdict in given if filled_entries(verdict)}


def filled_entries(verdict: Verdict) -> dict[str, object]:
    """Return the counts of an unfinished table of predictions, such as `{"filled": 2, "total": 5, ...}`.

    The dict is empty for a verdict on anything else, and for a table without any entry.
    """
    notes = verdict.finding.got if verdict.finding else ()
    return next((n.parameters for n in notes if n.id == "absent.entries" and n.parameters.get("filled")), {})
