"""Brightspace (D2L): the archive of an assignment.

Source: public programs that rename its folders, such as `397063-2557369 - Ann Lee - Sep 24, 2026 926 PM`.
"""

from __future__ import annotations

import re

from ..tables.local_times import read_time
from .interface.origin import Origin
from .interface.system import Lms

# A file name has no colon, so that one is missing in the time.
_PATH = re.compile(
    r"(?P<numbers>\d+-\d+) ?- ?(?P<name>[^/]+?) ?- ?(?P<date>[^/\d-]+ \d{1,2}, \d{4}|\d{1,2} [^/\d-]+,? \d{4}),? "
    r"(?P<hour>\d{1,2}):?(?P<minute>\d\d) ?(?P<half>[AaPp][Mm])?/(?P<rest>.+)$"
)


class Brightspace(Lms):
    """D2L's Brightspace."""

    title = "Brightspace"
    stable = False  # the numbers are of a submission
    own_files = re.compile(r"index\.html$")

    def origin(self, path: str) -> Origin | None:
        found = _PATH.match(path)
        if not found:
            return None
        said = f"{found['date']}, {found['hour']}:{found['minute']} {found['half'] or ''}".strip()
        time, attempt = read_time(said), path.partition("/")[0]
        return Origin(found["name"].strip(), (), attempt, found["rest"], time, unread="" if time else said)
