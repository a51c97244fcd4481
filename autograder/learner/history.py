"""The learner's history of checks, one JSON line each.

The file outlives kernels and notebooks. Lines are only appended, so that concurrent kernels never overwrite each
other's lines.
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
    """Return the folder of the progress file: `AUTOGRADER_HOME`, or `.autograder` in the home folder."""
    return Path(os.environ.get("AUTOGRADER_HOME") or Path.home() / ".autograder")


def record(verdict: Verdict) -> None:
    """Append a verdict. If the folder is not writable, the progress is lost, but the check still works."""
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
    """Yield every recorded verdict, oldest first. Truncated or invalid lines are skipped."""
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
    """The best and the first verdict on an exercise, and `checks`.

    `checks` is the number of checks. Only complete answers count.
    """

    best: Verdict
    first: Verdict
    checks: int


def standings() -> dict[str, Standing]:
    """Return the standing of each exercise over all recorded attempts."""
    found: dict[str, Standing] = {}
    for verdict in verdicts():
        if verdict.state not in ("passed", "not yet"):
            continue
        standing = found.setdefault(verdict.exercise, Standing(verdict, verdict, 0))
        standing.checks += 1
        if verdict.points > standing.best.points or verdict.state == "passed":
            standing.best = verdict
    return found
