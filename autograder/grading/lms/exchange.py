"""nbgrader's exchange: the folder into which students submit.

Source: nbgrader's `exchange/default/submit.py`.
"""

from __future__ import annotations

import pwd
import re
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..files.nbgrader_files import SECRET, FutureTime, utc_time
from ..tables.roster import Unplaced
from .interface.origin import Origin
from .interface.system import Lms

_PATH = re.compile(
    r"(?P<user>[^/+]+)\+[^/+]+\+(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^/+]*)(?:\+[^/]*)?/(?P<rest>.+)$"
)
_CLOCKS = timedelta(minutes=5)  # a submission is copied, and the clock of another machine may be wrong


class Exchange(Lms):
    """nbgrader's exchange."""

    title = "nbgrader's exchange"
    trusted = frozenset({SECRET})

    def origin(self, path: str) -> Origin | None:
        found = _PATH.match(path)
        if not found:
            return None
        try:
            time = utc_time(found["time"])
        except FutureTime as error:
            time = error.time
        except ValueError:
            time = None
        unread = "" if time else found["time"]
        return Origin("", (found["user"],), found["time"], found["rest"], time, unread=unread)

    def vouch(self, origin: Origin, folder: Path, known: Collection[str]) -> Origin:
        """Return an origin with a time that the student cannot have forged.

        Students can choose the name of their folder in the exchange, with the time in it. They cannot choose the
        folder's owner and the time of its last change by the server's clock.
        Raises Unplaced if the folder belongs to another student.
        """
        try:
            found = folder.stat()
            owner = pwd.getpwuid(found.st_uid).pw_name
        except (OSError, KeyError):
            return origin
        (user,) = origin.numbers
        if owner != user and owner.casefold() in known:
            raise Unplaced(f"the folder has the name of {user}, but belongs to {owner}: ask both")
        changed = datetime.fromtimestamp(found.st_ctime, UTC)
        if owner == user and origin.time and changed - origin.time > _CLOCKS:
            return replace(origin, time=changed, time_from="server's clock")
        return origin
