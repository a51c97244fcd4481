"""The attempts of all students, kept in the folder `attempts/`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from ..files.atomic import remove_leftovers, replace_json, swap_in, temporary_sibling
from ..files.nbgrader_files import SECRET, TIMESTAMP, in_utc
from .settings import CourseSettings

_RECORD = ".autograder-attempt.json"


@dataclass(frozen=True)
class Attempt:
    """One attempt of a student at an assignment, without its files.

    `digest` is a hash of the files. `time` is the time of submission in UTC as ISO 8601, or None. `time_from` is its
    source, such as "worksheet". `assumed` tells whether it is only the latest possible time: Canvas tells who was late,
    but not when. `source` names the archive. `taken` is when the attempt was first collected, `retimed` when its time
    was corrected after that, or "". `lms` holds what an LMS needs to recognise the student again (see `Sender`).
    `score` is in points, without a late penalty. It is None if the attempt was not graded, or if the rules do not
    choose among attempts. `answered` is True if the student was told that this attempt exceeds the number of attempts
    to be graded. `about` is "", or for an attempt that only asks to look again the digest of the earlier one with the
    same answers. That one counts, and this one costs neither time nor one of the attempts to be graded.
    """

    digest: str
    time: str | None
    time_from: str
    source: str
    taken: str
    lms: Mapping[str, str]
    score: float | None = None
    answered: bool = False
    assumed: bool = False
    retimed: str = ""
    about: str = ""

    @property
    def order(self) -> tuple[str, str]:
        """A key that sorts attempts by time of submission, or if no exact one is known by time of collection."""
        return (self.taken if self.assumed or not self.time else self.time, self.taken)


def students_with_attempts(course: CourseSettings) -> set[str]:
    """Return the students with at least one attempt at any assignment."""
    return {above.name for above in _folders(course.root / "attempts")}


class AttemptStore:
    """The attempts at one assignment.

    The caller must hold the assignment's lock to change them.
    """

    def __init__(self, course: CourseSettings, assignment: str) -> None:
        self._course, self._assignment = course, assignment

    def of(self, student: str) -> list[Attempt]:
        """Return a student's attempts, the earliest first, without those that only ask to look again."""
        return [attempt for attempt in self.all_of(student) if not attempt.about]

    def all_of(self, student: str) -> list[Attempt]:
        """Return all that a student has handed in, the earliest first."""
        above = self._above(student)
        found = [attempt for each in _folders(above) if (attempt := _read(each)) is not None]
        return sorted(found, key=lambda attempt: attempt.order)

    def students(self) -> list[str]:
        """Return the students with at least one attempt."""
        return [above.name for above in _folders(self._course.root / "attempts") if (above / self._assignment).is_dir()]

    def add(self, student: str, files: Mapping[str, Path], attempt: Attempt) -> None:
        """Store an attempt with copies of its files. `files` maps relative paths to files.

        Raises OSError if the disk is full. Nothing is stored then.
        """
        place = self._above(student) / attempt.digest[:16]
        remove_leftovers(place)
        with temporary_sibling(place) as folder:
            for path, source in files.items():
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
            (folder / _RECORD).write_text(json.dumps(asdict(attempt), ensure_ascii=False), encoding="utf-8")
            if place.exists():
                swap_in(place, folder)
            else:
                folder.rename(place)

    def record_score(self, student: str, score: float) -> None:
        """Store `score` with the attempt that is in `submitted/` now."""
        attempt = self.submitted(student)
        if attempt is not None and attempt.score != score:
            self._record(student, replace(attempt, score=score))

    def forget_other_scores(self, student: str) -> None:
        """Remove the stored scores of all attempts but the one that is in `submitted/` now."""
        submitted = self.submitted(student)
        for attempt in self.of(student):
            if attempt != submitted and attempt.score is not None:
                self._record(student, replace(attempt, score=None))

    def record_answer(self, student: str, attempt: Attempt) -> None:
        """Store that a student was told that this attempt exceeds the number of attempts to be graded."""
        self._record(student, replace(attempt, answered=True))

    def record_about(self, student: str, attempt: Attempt, about: str) -> None:
        """Store about which attempt this one asks to look again. `about` is the digest of that one, or ""."""
        self._record(student, replace(attempt, about=about))

    def record_sender(self, student: str, attempt: Attempt, lms: Mapping[str, str]) -> None:
        """Store how an LMS names a student whom it hid when the attempt was collected."""
        self._record(student, replace(attempt, lms=lms))

    def _record(self, student: str, attempt: Attempt) -> None:
        replace_json(self._above(student) / attempt.digest[:16] / _RECORD, asdict(attempt))

    def submitted(self, student: str) -> Attempt | None:
        """Return the stored attempt whose files are in `submitted/` now, or None if they are not stored."""
        digest = self.submitted_digest(student)
        return next((each for each in self.all_of(student) if each.digest == digest), None)

    def submitted_digest(self, student: str) -> str:
        """Return the digest that an attempt with the student's files in `submitted/` has."""
        return digest_of(self._submitted_files(student))

    def files(self, student: str, attempt: Attempt) -> list[Path]:
        """Return the stored files of an attempt."""
        above = self.folder(student, attempt)
        return [path for path in sorted(above.rglob("*")) if _is_file(path) and path.name != _RECORD]

    def folder(self, student: str, attempt: Attempt) -> Path:
        """Return the folder with the stored files of an attempt."""
        return self._above(student) / attempt.digest[:16]

    def secret(self, student: str, attempt: Attempt) -> bytes | None:
        """Return the content of an attempt's file `submission_secret.txt`, or None if the attempt has none.

        nbgrader's exchange needs it to find the feedback on an attempt.
        """
        with contextlib.suppress(FileNotFoundError):
            return (self._above(student) / attempt.digest[:16] / SECRET).read_bytes()
        return None

    def keep_submitted(self, student: str) -> bool:
        """Store the student's files in `submitted/` as an attempt, unless an equal attempt is stored.

        Returns whether an attempt was stored.
        Such files came another way than through `autograder collect`, for example through `nbgrader collect`.
        """
        files, time = self._submitted_files(student), None
        if TIMESTAMP in files:
            with contextlib.suppress(OSError, ValueError):
                time = in_utc(files.pop(TIMESTAMP).read_text(encoding="utf-8"))
        digest = digest_of(files)
        new = bool(files) and all(attempt.digest != digest for attempt in self.all_of(student))
        if new:
            self.add(student, files, Attempt(digest, time, "timestamp.txt", "submitted/", time or "", {}))
        return new

    def submit(self, student: str, attempt: Attempt) -> bool:
        """Make an attempt the one that is graded: copy it into `submitted/`. Returns whether anything changed."""
        place, stored = self._submitted(student), self._above(student) / attempt.digest[:16]
        remove_leftovers(place)
        wanted = {path.relative_to(stored).as_posix(): path for path in stored.rglob("*") if _is_file(path)}
        wanted.pop(_RECORD)
        time = f"{datetime.fromisoformat(attempt.time):%Y-%m-%d %H:%M:%S.%f} UTC" if attempt.time else ""
        if place.is_dir():
            there = self._submitted_files(student)
            stamp, secrets = there.pop(TIMESTAMP, None), (there.get(SECRET), wanted.get(SECRET))
            said = stamp.read_text(encoding="utf-8", errors="replace").strip() if stamp else ""
            alike = len({path.read_bytes() if path else b"" for path in secrets}) == 1
            if digest_of(there) == attempt.digest and (said == time or not time) and alike:
                return False
        with temporary_sibling(place) as folder:
            for path, source in wanted.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, folder / path)
            if time:
                (folder / TIMESTAMP).write_text(time, encoding="utf-8")
            if place.exists():
                swap_in(place, folder)
            else:
                folder.rename(place)
        return True

    def submitted_size(self, student: str) -> int:
        """Return the bytes of the student's files in `submitted/`."""
        return sum(path.lstat().st_size for path in self._submitted_files(student).values())

    def _submitted_files(self, student: str) -> dict[str, Path]:
        """Return the files in `submitted/` by relative path."""
        place = self._submitted(student)
        return {path.relative_to(place).as_posix(): path for path in sorted(place.rglob("*")) if _is_file(path)}

    def _above(self, student: str) -> Path:
        return self._course.root / "attempts" / student / self._assignment

    def _submitted(self, student: str) -> Path:
        return self._course.submitted(self._assignment, student)


def digest_of(files: Mapping[str, Path]) -> str:
    """Return a hash of files, with their relative paths. Files that nbgrader adds make no difference."""
    parts = []
    for path in sorted(files):
        if path not in (TIMESTAMP, SECRET, _RECORD):
            parts += [os.fsencode(path), files[path].read_bytes()]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _read(folder: Path) -> Attempt | None:
    """Return the attempt that is stored in a folder, or None if the folder holds none."""
    try:
        return Attempt(**json.loads((folder / _RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _folders(above: Path) -> Iterable[Path]:
    found: Iterator[Path] = above.iterdir() if above.is_dir() else iter(())
    return sorted(each for each in found if each.is_dir() and not each.name.startswith("."))


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
