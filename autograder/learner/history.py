"""What a learner has done, one JSON line per check, in a file of its own that outlives kernels and notebooks.

Lines are only ever appended, so that kernels working at the same time lose nothing of each other.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..checking.verdict import Verdict
from .session import being_graded


def folder() -> Path:
    """Where progress lives: `AUTOGRADER_HOME`, or `.autograder` in the home folder."""
    return Path(os.environ.get("AUTOGRADER_HOME") or Path.home() / ".autograder")


def record(verdict: Verdict) -> None:
    """Append a verdict. A home that cannot be written to costs the progress, never the check."""
    if being_graded():
        return
    line = json.dumps({"time": round(time.time()), "verdict": verdict.to_json()}, ensure_ascii=False)
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with (folder() / "progress.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError:
        pass


def verdicts() -> Iterator[Verdict]:
    """Every recorded verdict, oldest first. A line that was cut off is passed over."""
    try:
        lines = (folder() / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield Verdict.from_json(json.loads(line)["verdict"])
        except (ValueError, KeyError, TypeError):
            continue


@dataclass
class Standing:
    """Where a learner stands with one exercise: the best verdict, the first one on a whole answer, how many checks."""

    best: Verdict
    first: Verdict
    checks: int


def standings() -> dict[str, Standing]:
    """By exercise, over all recorded verdicts on an attempt."""
    found: dict[str, Standing] = {}
    for verdict in verdicts():
        if verdict.state not in ("passed", "not yet"):
            continue
        standing = found.setdefault(verdict.exercise, Standing(verdict, verdict, 0))
        standing.checks += 1
        if verdict.points > standing.best.points or verdict.state == "passed":
            standing.best = verdict
    return found
