"""Feedback pages: finding and making those that are out of date."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.api import MissingEntry, SubmittedAssignment
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory

from ... import __version__
from ...language import Text
from ..course.course import Course
from ..files.atomic import describe_error
from ..files.nbgrader_files import SECRET
from ..rules.late_explanation import explain_lateness
from .receipts import write_receipt

_RECORD = ".autograder-feedback.json"  # in a student's feedback folder: a hash of the grades that its pages show


@dataclass
class Pages:
    """The outcome of making the feedback pages of one assignment.

    `made` lists students with new pages. `kept` lists students whose pages were up to date. `withheld` maps students
    who got a receipt to the time when their page may be made. `failed` maps the other students to an error message.
    """

    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    withheld: dict[str, datetime] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def make_pages(course: Course, assignment: str, students: Sequence[str]) -> Pages:
    """Make the missing and outdated feedback pages of `students`, and return the outcome.

    If the rules of the assignment withhold feedback until the due date, a student gets a receipt until then.
    """
    pages, rules = Pages(), course.rules
    named = {each.id: each.name for each in course.roster.students}
    with course.gradebook() as gradebook:
        for student in students:
            folder, place = course.autograded(assignment, student), course.feedback(assignment, student)
            until = rules.feedback_time(student, assignment)
            try:
                if until and datetime.now(UTC) < until:
                    write_receipt(course, assignment, student, until.astimezone(rules.rules.zone))
                    (place / _RECORD).unlink(missing_ok=True)  # of an earlier page
                    pages.withheld[student] = until.astimezone(rules.rules.zone)
                    continue
                submission = gradebook.find_submission(assignment, student)
                digest = _digest(
                    folder, submission, explain_lateness(rules, gradebook.db, submission), named.get(student)
                )
                if _is_fresh(place, folder, digest):
                    pages.kept.append(student)
                else:
                    _make_page(course, assignment, student)
                    (place / _RECORD).write_text(json.dumps({"from": digest}), encoding="utf-8")
                    pages.made.append(student)
                _copy_secret(course, assignment, student)
            except MissingEntry:
                pages.failed[student] = "the gradebook has no scores: grade it again"
            except NbGraderException:
                command = f"nbgrader generate_feedback {assignment} --student '{student}' --force"
                pages.failed[student] = f"`{command}` says why"
            except OSError as error:
                pages.failed[student] = describe_error(error, place)
    return pages


def _make_page(course: Course, assignment: str, student: str) -> None:
    """Make the pages of one student with nbgrader's converter. Raises NbGraderException if it fails."""
    directory = CourseDirectory(config=course.config, assignment_id=assignment, student_id=glob.escape(student))
    GenerateFeedback(coursedir=directory, config=course.config, force=True).start()


def _copy_secret(course: Course, assignment: str, student: str) -> None:
    """Copy `submission_secret.txt` of the latest submission beside a student's pages, if it has changed.

    A student finds the pages in the exchange by this file. If the same work was submitted twice, only `submitted/` has
    the file of the latest submission.
    """
    source, target = course.submitted(assignment, student) / SECRET, course.feedback(assignment, student) / SECRET
    if source.is_file() and not source.is_symlink() and target.is_file() and source.read_bytes() != target.read_bytes():
        target.chmod(0o644)
        shutil.copyfile(source, target)


def _digest(folder: Path, submission: SubmittedAssignment, lateness: Text | None, name: str | None) -> str:
    """Return a hash of everything that a submission's feedback pages show.

    `folder` holds the graded notebooks. `submission` is the gradebook's object with points, comments and late penalty.
    `lateness` is the explanation of the penalty, `name` the student's name in students.csv.
    """
    parts: list[object] = [__version__, lateness, name]
    for notebook in sorted(submission.notebooks, key=lambda each: str(each.name)):
        parts.append((notebook.name, notebook.late_submission_penalty))
        parts += sorted(
            (each.name, repr((each.auto_score, each.manual_score, each.extra_credit, each.max_score)),
             bool(each.needs_manual_grade))
            for each in notebook.grades
        )  # fmt: skip
        parts += sorted((each.name, repr((each.auto_comment, each.manual_comment))) for each in notebook.comments)
    digest = hashlib.sha256(repr(parts).encode())
    for path in sorted(folder.glob("*.ipynb")):
        digest.update(hashlib.sha256(os.fsencode(path.name)).digest() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _is_fresh(place: Path, folder: Path, digest: str) -> bool:
    """Return whether the feedback pages in the folder `place` are up to date.

    `folder` holds the graded notebooks. `digest` is the current hash of the data to show. A file in `place` holds the
    hash of the data from which the pages were made. nbgrader removes this file together with the pages.
    """
    try:
        made_from = json.loads((place / _RECORD).read_text(encoding="utf-8"))["from"]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    pages = [place / f"{path.stem}.html" for path in folder.glob("*.ipynb")]
    return made_from == digest and all(page.is_file() for page in pages)
