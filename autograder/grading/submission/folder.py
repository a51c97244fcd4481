"""The content of a submission's folder: notebooks, other files, timestamp, digest."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...language import Note
from ...messages.reasons import describe_reason, make_reason
from ..course.personal_tables import OwnNotebooks
from ..course.remarks import Reasons
from ..files.nbgrader_files import TIMESTAMP, FutureTime, utc_time
from ..gradebook.release import ReleasedNotebooks
from .attachments import Extras, find_extras
from .notebook_choice import choose

_LONGEST = 200  # bytes of timestamp.txt
_FIRST_YEAR = 2000  # an earlier time is from a clock that was not set


@dataclass(frozen=True)
class HandedIn:
    """The content of a submission's folder, and reasons for a review.

    `raw` maps released names to the contents of notebook files. `renamed` maps released names to submitted paths, for
    notebooks that the student renamed. `extras` holds the other files. `timestamp` is the time of submission. `notes`
    are sentences for the instructor that need no review.
    """

    raw: dict[str, bytes]
    renamed: dict[str, str]
    extras: Extras
    timestamp: str | None
    reasons: Reasons
    notes: list[str]
    points: dict[str, dict[str, float]]  # maximum points by notebook and graded cell
    tables: Mapping[str, int] = field(default_factory=dict)  # numbers of the student's own tables, by exercise

    @property
    def digest(self) -> str:
        """A hash of notebooks, other files, timestamp, reasons, maximum points and numbers of own tables.

        If the hash is the same as before, the submission need not be graded again.
        """
        parts = [part for name in sorted(self.raw) for part in (name.encode(), self.raw[name])]
        said = {name: [describe_reason(each).en for each in reasons] for name, reasons in self.reasons.items()}
        parts.append(repr((self.timestamp, said[""], self.points)).encode())
        for path, data in sorted(self.extras.files.items()):
            parts += [os.fsencode(path), data] if path != TIMESTAMP else []
        others = {name: reasons for name, reasons in said.items() if name}
        if others or self.notes:
            parts.append(repr((others, self.notes)).encode())
        if self.tables:
            parts.append(repr(sorted(self.tables.items())).encode())
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def read_submission(
    folder: Path, released: ReleasedNotebooks, ignore: Sequence[str], due: bool, own: OwnNotebooks | None = None
) -> HandedIn:
    """Read a submission's notebooks, and its other files.

    Files that match one of nbgrader's patterns `ignore` are left out. `due` tells whether the assignment has a due
    date. If `due` is True, a missing timestamp is a reason for a review. `own` are the notebooks as this student got
    them, or None if all students get the same.
    Raises Unreadable if there is no notebook to grade, or the notebook cannot be read.
    """
    extras = find_extras(folder, ignore)
    chosen = choose(folder, own or released, extras.notebooks, extras.own)
    for path in chosen.renamed.values():
        extras.files.pop(path, None)  # it is a notebook, whatever its name says
    timestamp, doubt = _timestamp(folder / TIMESTAMP, due)
    if doubt:
        extras.files.pop(TIMESTAMP, None)  # nbgrader would stop at it
    reasons, notes = {"": doubt, **chosen.reasons}, [*chosen.notes, *extras.notes]
    points = {
        name: {id: cell.points for id, cell in sorted(released[name].cells.items()) if cell.points is not None}
        for name in sorted(chosen.raw)
    }
    tables = own.numbers if own else {}
    return HandedIn(chosen.raw, chosen.renamed, extras, timestamp, reasons, notes, points, tables)


def _timestamp(path: Path, due: bool) -> tuple[str | None, list[Note]]:
    """Return the text of the file timestamp.txt, and a list of reasons for a review.

    The text is None if the file holds no valid time. The list then holds a reason. If the assignment has no due date
    (`due` is False), a missing time is no reason.
    """
    unknown = [make_reason("no_time")] if due else []
    try:
        if not stat.S_ISREG(path.lstat().st_mode) or path.lstat().st_size > _LONGEST:
            raise ValueError
        text = path.read_text(encoding="utf-8").strip()
        if not text or (utc_time(text).year < _FIRST_YEAR and due):
            return None, unknown
        return text, []
    except FileNotFoundError:
        return None, unknown
    except FutureTime:
        return None, [make_reason("future_time")]
    except (OSError, ValueError):
        return None, [make_reason("bad_time")]
