"""The content of a submission's folder: notebooks, other files, timestamp, digest."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...language import Note
from ...messages.reasons import describe_reason, make_reason
from ..course.remarks import Reasons
from ..files.nbgrader_files import TIMESTAMP, FutureTime, utc_time
from ..files.notebook_file import parse_notebook
from ..gradebook.released_notebooks import ReleasedNotebooks
from .attachments import Extras, find_extras
from .notebook_choice import choose_notebooks
from .submitted_notebook import SubmittedFile, SubmittedNotebook

_LONGEST = 200  # bytes of timestamp.txt
_FIRST_YEAR = 2000  # an earlier time is from a clock that was not set


@dataclass(frozen=True)
class HandedIn:
    """The content of a submission's folder, and reasons for a review.

    `notebooks` maps released names to files. `released` are the notebooks as the student got them. `extras` holds the
    other files. `timestamp` is the time of submission. `notes` are sentences for the instructor that need no review.
    """

    notebooks: dict[str, SubmittedFile]
    released: ReleasedNotebooks
    extras: Extras
    timestamp: str | None
    reasons: Reasons
    notes: list[str]

    @property
    def renamed(self) -> dict[str, str]:
        """A dict from released name to submitted path, for notebooks that the student renamed."""
        return {name: file.path for name, file in self.notebooks.items() if file.path != f"{name}.ipynb"}

    def notebook(self, name: str) -> SubmittedNotebook:
        """Return a notebook beside its release. `name` is its released name.

        Raises Unreadable if the notebook is invalid.
        """
        raw = parse_notebook(self.notebooks[name].data, f"{name}.ipynb")
        return SubmittedNotebook(raw, self.released[name].match(raw))

    @property
    def digest(self) -> str:
        """A hash of notebooks, other files, timestamp, reasons, maximum points and numbers of variants.

        If the hash is the same as before, the submission need not be graded again.
        """
        numbers = {exercise: number for each in self.released.values() for exercise, number in each.numbers.items()}
        names = sorted(self.notebooks)
        parts = [part for name in names for part in (name.encode(), self.notebooks[name].data)]
        points = {name: self.released[name].points for name in names}
        said = {name: [describe_reason(each).en for each in reasons] for name, reasons in self.reasons.items()}
        parts.append(repr((self.timestamp, said[""], points)).encode())
        for path, data in sorted(self.extras.files.items()):
            parts += [os.fsencode(path), data] if path != TIMESTAMP else []
        others = {name: reasons for name, reasons in said.items() if name}
        if others or self.notes:
            parts.append(repr((others, self.notes)).encode())
        if numbers:
            parts.append(repr(sorted(numbers.items())).encode())
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def read_submission(folder: Path, released: ReleasedNotebooks, ignore: Sequence[str], due: bool) -> HandedIn:
    """Read a submission's notebooks, and its other files.

    `released` are the notebooks as the student got them. Files that match one of nbgrader's patterns `ignore` are left
    out. `due` tells whether the assignment has a due date. If `due` is True, a missing timestamp is a reason for a
    review.
    Raises Unreadable if there is no notebook to grade, or the notebook cannot be read.
    """
    extras = find_extras(folder, ignore)
    chosen = choose_notebooks(folder, released, extras.notebooks, extras.own)
    for file in chosen.notebooks.values():
        extras.files.pop(file.path, None)  # it is a notebook, whatever its name says
    timestamp, doubt = _timestamp(folder / TIMESTAMP, due)
    if doubt:
        extras.files.pop(TIMESTAMP, None)  # nbgrader would stop at it
    reasons, notes = {"": doubt, **chosen.reasons}, [*chosen.notes, *extras.notes]
    return HandedIn(chosen.notebooks, released, extras, timestamp, reasons, notes)


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
