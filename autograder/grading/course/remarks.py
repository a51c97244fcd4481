"""Remarks on graded submissions, stored in files until the next grading."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ...language import Note
from ..files.atomic import file_of

Reasons = dict[str, list[Note]]  # by released name of a notebook; "" for those about the whole submission


@dataclass
class Remarks:
    """The reasons for a review of one submission, and other notes.

    `reasons` maps released names of notebooks to reasons; the key "" is for the whole submission. `notes` are sentences
    that need no review. `places` maps released names to conspicuous places in the source. `failed` tells whether
    grading failed.
    """

    reasons: Reasons = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    places: Reasons = field(default_factory=dict)
    failed: bool = False

    @property
    def everything(self) -> list[Note]:
        """The reasons on all notebooks and on the whole submission, in one list."""
        return [reason for reasons in self.reasons.values() for reason in reasons]

    @property
    def seen(self) -> list[Note]:
        """The conspicuous places in all notebooks, in one list."""
        return [place for places in self.places.values() for place in places]

    def flag(self, notebook: str, earlier: Remarks) -> bool | None:
        """Return whether to flag a notebook in formgrader, or None to leave its flag as it is.

        `earlier` are the remarks of the grading before. If they hold nothing to look at, only an instructor can have
        set a flag.
        """
        if self.reasons.get("") or self.reasons.get(notebook) or self.places.get(notebook):
            return True
        return False if earlier.everything or earlier.seen else None


class RemarksFolder:
    """The stored remarks on submissions of one assignment, one file per student.

    `root` is the course folder.
    """

    def __init__(self, root: Path, assignment: str) -> None:
        self._folder = root / ".autograder" / "remarks" / assignment

    def read(self, student: str) -> Remarks:
        """Return the stored remarks on a student's submission. If there are none, returns empty remarks."""
        return self._read(file_of(self._folder, student))[1]

    def read_all(self) -> dict[str, Remarks]:
        """Return a dict from student to stored remarks."""
        found = map(self._read, sorted(self._folder.glob("*.json")) if self._folder.is_dir() else [])
        return {student: remarks for student, remarks in found if student}

    def write(self, student: str, remarks: Remarks) -> None:
        """Replace the stored remarks on a student's submission. Raises OSError if the file cannot be written."""
        path = file_of(self._folder, student)
        if remarks.everything or remarks.notes or remarks.seen:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # In place: a grader killed here has not replaced the graded folder yet, and repeats both.
            path.write_text(json.dumps({"student": student, **asdict(remarks)}), encoding="utf-8")
            return
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # other students have remarks
            self._folder.rmdir()
            self._folder.parent.rmdir()

    def _read(self, path: Path) -> tuple[str, Remarks]:
        """Return the student and the remarks in the file `path`.

        If the file cannot be read, returns an empty name and empty remarks.
        """
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
            data = json.loads(path.read_text(encoding="utf-8"))
            said = {
                key: {name: [Note(**each) for each in listed] for name, listed in data.get(key, {}).items()}
                for key in ("reasons", "places")
            }
            return str(data.pop("student")), Remarks(**{**data, **said})
        return "", Remarks()
