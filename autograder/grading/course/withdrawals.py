"""Work taken out of an assignment, kept in the folder `withdrawn/`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from ..files.locks import locked
from .attempts import AttemptStore
from .settings import CourseSettings

WITHDRAWN = "not taken, for it was withdrawn (move it out of withdrawn/ if it counts after all)"
_ATTEMPTS = "attempts"


def withdraw(course: CourseSettings, assignment: str, student: str, grades: Mapping[str, Any]) -> Path:
    """Move all of a student's work in an assignment into a new folder below `withdrawn/`. Returns that folder.

    A file beside the work holds the `grades`. The caller must hold the assignment's lock.
    Raises OSError if the folder cannot be written.
    """
    AttemptStore(course, assignment).keep_submitted(student)
    above = _above(course, assignment, student)
    place = next(folder for number in count(1) if not (folder := above / str(number)).exists())
    place.mkdir(parents=True)
    (place / "grades.json").write_text(json.dumps(grades, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    folders = {
        "submitted": course.submitted(assignment, student),
        "autograded": course.autograded(assignment, student),
        "feedback": course.feedback(assignment, student),
        _ATTEMPTS: course.root / "attempts" / student / assignment,
    }
    for name, folder in folders.items():
        if folder.is_dir():
            shutil.move(folder, place / name)
    return place


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
            if withdrawn(course, assignment, student, store.submitted_digest(student)):
                shutil.rmtree(folder)
                yield f"{student}: {assignment} {WITHDRAWN}"


def _above(course: CourseSettings, assignment: str, student: str) -> Path:
    return course.root / "withdrawn" / assignment / student
