"""Students' requests to look at a grade again, stored per assignment."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ..files.atomic import file_of, replace_json


@dataclass(frozen=True)
class Request:
    """A student's request to look at a grade again.

    `came` is the time when grading found the request. `submitted` is the time of the submission that holds it, or "" if
    unknown. Both are in UTC as ISO 8601. `answer` is "" until an instructor answers.
    """

    student: str
    text: str
    came: str
    answer: str = ""
    submitted: str = ""


class RequestStore:
    """The stored requests of one assignment, in one file per student.

    A request stays when a later submission no longer has it. `root` is the course folder.
    """

    def __init__(self, root: Path, assignment: str) -> None:
        self._folder = root / ".autograder" / "requests" / assignment

    def all(self) -> list[Request]:
        """Return all requests, ordered by time. Raises OSError if a file cannot be read."""
        found = [one for path in self._folder.glob("*.json") for one in _read(path)]
        return sorted(found, key=lambda one: (one.came, one.student))

    def open(self) -> list[Request]:
        """Return the requests without an answer, ordered by time."""
        return [one for one in self.all() if not one.answer]

    def add(self, student: str, texts: Iterable[str], submitted: str) -> None:
        """Store the requests `texts` from a student's submission, except those that the student has sent before.

        `submitted` is the time of the submission, in UTC as ISO 8601, or "".
        """
        known = _read(file_of(self._folder, student))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        texts = [text for text in dict.fromkeys(texts) if text not in {one.text for one in known}]
        if texts:
            self._write(student, [*known, *(Request(student, text, now, submitted=submitted) for text in texts)])

    def answer(self, student: str, answer: str) -> int:
        """Store the answer to all open requests of a student. Returns their number."""
        known = _read(file_of(self._folder, student))
        answered = [one if one.answer else replace(one, answer=answer) for one in known]
        if answered != known:
            self._write(student, answered)
        return sum(not one.answer for one in known)

    def _write(self, student: str, requests: list[Request]) -> None:
        replace_json(file_of(self._folder, student), [asdict(one) for one in requests])


def _read(path: Path) -> list[Request]:
    try:
        return [Request(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []
