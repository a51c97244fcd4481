"""Sakai: the archive of an assignment.

Source: `zipSubmissions` in Sakai's `AssignmentServiceImpl.java`. Its entries have the time of the download, the file
`timestamp.txt` beside a submission has the right one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from .interface.origin import Origin
from .interface.system import Lms

# "Lee, Ann(alee)/Submission attachment(s)/x.ipynb"; the folder's name is in the user's language
_PATH = re.compile(r"(?P<name>[^/,]+, [^/]+)\((?P<user>[^()/\s]+)\)/(?:[^/]+/)?(?P<rest>[^/]+(?:/.+)?)$")
_TIME = "timestamp.txt"
_LONGEST = 100  # bytes of a time


class Sakai(Lms):
    """Sakai."""

    title = "Sakai"
    keeps_times = False
    own_files = re.compile(r"grades\.(csv|xls)$|[^/]+/(timestamp\.txt|comments\.txt|feedbackText\.html)$")

    def origin(self, path: str) -> Origin | None:
        found = _PATH.match(path)
        if not found:
            return None
        surname, _, given = found["name"].strip().partition(", ")
        return Origin(f"{given} {surname}".strip(), (found["user"],), found["user"], found["rest"])

    def told(self, files: Mapping[str, Path]) -> dict[str, Origin]:
        """Return the times of submission: ISO 8601, or digits in UTC in older versions."""
        found = {}
        for path, place in files.items():
            origin = self.origin(path)
            if origin and path.count("/") == 1 and path.endswith(f"/{_TIME}") and place.stat().st_size <= _LONGEST:
                said = place.read_text(encoding="utf-8", errors="replace").strip()
                time = _read_time(said)
                unread = "" if time else said
                found[origin.attempt] = replace(origin, rest="", time=time, unread=unread)
        return found

    def identity(self, origin: Origin) -> str:
        """Return the user name."""
        return origin.numbers[0]


def _read_time(text: str) -> datetime | None:
    for form in ("%Y%m%d%H%M%S", "%Y-%m-%dT%H:%M:%S"):
        try:
            return datetime.strptime(re.sub(r"\.\d+|Z$", "", text)[: 14 if text.isdecimal() else None], form).replace(
                tzinfo=UTC
            )
        except ValueError:
            continue
    return None
