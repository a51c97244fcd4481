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
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from .checking.verdict import Verdict, VerdictState
from .exercises.moved import lesson_today
from .session import being_graded


def folder() -> Path:
    """Return the folder of the history: `$AUTOGRADER_HOME`, or `.autograder` in the home folder."""
    return Path(os.environ.get("AUTOGRADER_HOME") or Path.home() / ".autograder")


_AS_JSON = "backslashreplace"  # a lone surrogate, which no file holds, becomes JSON's own escape
_unwritten: list[str] = []  # lines of this kernel that could not be written yet


class QuestionKind(StrEnum):
    """A short question on an exercise."""

    ROWS = "rows"  # of its table of predictions, asked by `placement()`
    WHY = "why"  # an answer in words, which the learner compares with ours
    MISTAKE = "mistake"  # which sentence says what is wrong with an answer


@dataclass(frozen=True)
class Check:
    """One line of the history.

    `time` is in seconds since 1970, by the clock of the machine at that moment. `is_review` is True if the course had
    asked for it again. `variant` is the number of the variant that was answered, or None for the exercise itself.
    `question` is the kind of the short question that was answered, or None for a whole exercise.
    """

    time: int
    verdict: Verdict
    is_review: bool = False
    variant: int | None = None
    question: QuestionKind | None = None

    @property
    def counts(self) -> bool:
        """True if the check is on the exercise itself: variants and questions earn no points."""
        return self.variant is None and self.question is None


@dataclass(frozen=True)
class History:
    """The history as it was read, in the order of its lines.

    A check that occurs twice counts once: the file may be merged from two machines, for example by git. `damaged` are
    the numbers of lines that are no JSON, `foreign` counts those in a form of another version of the course. `refused`
    is the reason why the file could not be read, or "".
    """

    checks: tuple[Check, ...]
    damaged: tuple[int, ...] = ()
    foreign: int = 0
    refused: str = ""

    @property
    def broken(self) -> int:
        """The number of damaged lines."""
        return len(self.damaged)

    def verdicts(self) -> Iterator[Verdict]:
        """Yield the verdicts on exercises themselves, oldest first."""
        return (check.verdict for check in self.checks if check.counts)


def record(
    verdict: Verdict, *, is_review: bool = False, variant: int | None = None, question: QuestionKind | None = None
) -> bool:
    """Append a verdict to the history. Does nothing while nbgrader runs the notebook.

    Returns False if the folder is not writable. The verdict is then kept in memory and written with a later one.
    """
    if being_graded():
        return True
    marks = {"review": is_review, "variant": variant, "question": question}
    more = {name: value for name, value in marks.items() if value}
    line = {"time": int(time.time()), **more, "verdict": verdict.to_json()}
    _unwritten.append(json.dumps(line, ensure_ascii=False))
    try:
        _append(_unwritten)
    except OSError:
        return False
    _unwritten.clear()
    return True


def _append(lines: Iterable[str]) -> None:
    """Append lines to the history's file.

    Raises OSError if the folder is not writable.
    """
    folder().mkdir(parents=True, exist_ok=True)
    with history_file().open("a+b") as file:
        file.write((_end_of_line(file) + "".join(f"{each}\n" for each in lines)).encode(errors=_AS_JSON))


def history_file() -> Path:
    """Return the path of the history's file, which may not exist."""
    return folder() / "progress.jsonl"


def _end_of_line(file: BinaryIO) -> str:
    """Return the end of the last line if a kernel died while it wrote that line, else an empty text."""
    if not file.seek(0, os.SEEK_END):
        return ""
    file.seek(-1, os.SEEK_END)
    return "" if file.read(1) == b"\n" else "\n"


def read_history(exercise: str = "") -> History:
    """Return the history of all checks, or of those on one exercise."""
    refused = ""
    try:
        lines = history_file().read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        lines = []
    except OSError as error:
        lines, refused = [], f"{history_file()}: {error.strerror or error}"
    checks, damaged, foreign = list[Check](), list[int](), 0
    seen = set[str]()
    for place, line in enumerate([*lines, *_unwritten], 1):
        same = line.strip()
        if not same or same in seen or exercise not in line:  # saves decoding the line
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            damaged.append(place)
            continue
        seen.add(same)
        try:
            number, is_review = int(data.get("variant", 0)) or None, data.get("review") is True
            asked = data.get("question") or ("rows" if data.get("placement") else None)  # as older versions wrote it
            question = QuestionKind(asked) if asked else None
            stored = data["verdict"]
            verdict = Verdict.from_json({**stored, "lesson": lesson_today(stored["lesson"], stored["exercise"])})
            check = Check(int(data.get("time", 0)), verdict, is_review, number, question)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            foreign += 1
            continue
        if exercise in ("", check.verdict.exercise):
            checks.append(check)
    return History(tuple(checks), tuple(damaged), foreign, refused)


def verdicts(exercise: str = "") -> Iterator[Verdict]:
    """Yield every verdict of the history, or those on one exercise, oldest first.

    Verdicts on variants and incomplete or invalid lines are skipped.
    """
    return read_history(exercise).verdicts()


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
