"""Work taken out of an assignment, kept in the folder `withdrawn/`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from ..files.locks import locked
from .attempts import Attempt, AttemptStore
from .settings import CourseSettings

WITHDRAWN = "not taken, for it was withdrawn (`--undo` brings it back)"
_ATTEMPTS, _GRADES = "attempts", "grades.json"


def withdraw(course: CourseSettings, assignment: str, student: str, grades: Mapping[str, Any]) -> Path:
    """Move all of a student's work in an assignment into a new folder below `withdrawn/`. Returns that folder.

    A file beside the work holds the `grades`. The caller must hold the assignment's lock.
    Raises OSError if the folder cannot be written.
    """
    AttemptStore(course, assignment).keep_submitted(student)
    place = _new_place(course, assignment, student, grades)
    for name, folder in _folders(course, assignment, student).items():
        if folder.is_dir():
            shutil.move(folder, place / name)
    return place


def withdraw_attempt(course: CourseSettings, assignment: str, student: str, attempt: Attempt) -> Path:
    """Move one stored attempt into a new folder below `withdrawn/`. Returns that folder.

    The caller must hold the assignment's lock, and submit another attempt.
    Raises OSError if the folder cannot be written.
    """
    place = _new_place(course, assignment, student, {})
    stored = AttemptStore(course, assignment).folder(student, attempt)
    (place / _ATTEMPTS).mkdir()
    shutil.move(stored, place / _ATTEMPTS / stored.name)
    return place


def _new_place(course: CourseSettings, assignment: str, student: str, grades: Mapping[str, Any]) -> Path:
    """Make a new folder for withdrawn work, with a file that holds the grades."""
    above = _above(course, assignment, student)
    place = next(folder for number in count(1) if not (folder := above / str(number)).exists())
    place.mkdir(parents=True)
    (place / _GRADES).write_text(json.dumps(grades, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return place


def last_withdrawn(course: CourseSettings, assignment: str, student: str) -> Path | None:
    """Return the folder with the work that was withdrawn last and is not back yet, or None."""
    kept = [path for path in _above(course, assignment, student).glob("[0-9]*") if (path / _ATTEMPTS).is_dir()]
    return max(kept, key=lambda path: int(path.name), default=None)


def read_grades(place: Path) -> dict[str, Any]:
    """Return the grades that are kept beside withdrawn work."""
    grades: dict[str, Any] = json.loads((place / _GRADES).read_text(encoding="utf-8"))
    return grades


def bring_back(course: CourseSettings, assignment: str, student: str, place: Path) -> bool:
    """Move the work in `place` back, and remove `place`. Returns whether all of it is back.

    If the student has handed in again since, only the attempts go back: grading decides which one counts. The rest
    stays in `place`. The caller must hold the assignment's lock.
    Raises OSError if a folder cannot be written.
    """
    folders = _folders(course, assignment, student)
    again = folders["submitted"].is_dir()
    for attempt in [*(place / _ATTEMPTS).iterdir()]:
        (target := folders[_ATTEMPTS] / attempt.name).parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.move(attempt, target)
    shutil.rmtree(place / _ATTEMPTS)
    if again:
        return False
    for name in ("submitted", "autograded", "feedback"):
        if (place / name).is_dir():
            folders[name].parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(folders[name], ignore_errors=True)
            shutil.move(place / name, folders[name])
    shutil.rmtree(place)
    return True


def _folders(course: CourseSettings, assignment: str, student: str) -> dict[str, Path]:
    """Return the places of all that belongs to a student's hand-in, by the name under which it is withdrawn."""
    return {
        "submitted": course.submitted(assignment, student),
        "autograded": course.autograded(assignment, student),
        "feedback": course.feedback(assignment, student),
        _ATTEMPTS: course.root / "attempts" / student / assignment,
    }


def withdrawn(course: CourseSettings, assignment: str, student: str, digest: str) -> Path | None:
    """Return the folder with withdrawn work that has the same files, or None. `digest` is that of an attempt."""
    found = _above(course, assignment, student).glob(f"*/{_ATTEMPTS}/{digest[:16]}")
    return next((path.parents[1] for path in sorted(found)), None)


def remove_returned(course: CourseSettings, assignment: str) -> Iterator[str]:
    """Remove withdrawn work that nbgrader has collected again, and yield a sentence for each student.

    Raises UserError if a grader is at work.
    """
    store = AttemptStore(course, assignment)
    with locked(course.root, assignment):
        for folder in course.submissions(assignment):
            student = folder.parent.name
            if _above(course, assignment, student).is_dir() and withdrawn(
                course, assignment, student, store.submitted_digest(student)
            ):
                shutil.rmtree(folder)
                yield f"{student}: {assignment} {WITHDRAWN}"


def _above(course: CourseSettings, assignment: str, student: str) -> Path:
    return course.root / "withdrawn" / assignment / student
