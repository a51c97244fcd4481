"""The command `autograder feedback`: HTML pages for students, updated and released."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import MissingEntry, SubmittedAssignment
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory

from .. import __version__
from ..errors import UserError
from ..language import LANGUAGES
from .batch import open_gradebook
from .course.folders import describe_error, recorded
from .course.settings import CourseSettings, course_settings
from .submission.attachments import SECRET, TIMESTAMP

_RECORD = ".autograder-feedback.json"  # in a student's feedback folder: a hash of the grades that its pages show


@dataclass
class Pages:
    """The outcome of making the feedback pages of one assignment.

    `made` lists students with new pages. `kept` lists students whose pages were up to date. `failed` maps the other
    students to an error message.
    """

    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def make_feedback(root: Path, assignment: str | None, *, release: bool) -> int:
    """Make the missing and outdated feedback pages of one assignment, or of all graded ones.

    If `release` is True, all pages are then copied to nbgrader's exchange. Returns the exit status: 1 if a page could
    not be made or released.
    Raises UserError with the remedy if nothing was graded.
    """
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    course = course_settings(root)
    chosen = [assignment] if assignment else course.graded_assignments()
    if not chosen or not any(course.graded(name) for name in chosen):
        raise UserError(f"nothing of {assignment or 'any assignment'} has been graded in {course.root}: grade it first")
    status = 0
    for name in chosen:
        pages = _make(course, name)
        where = os.path.relpath(course.feedback(name, "STUDENT"), course.root)
        print(f"{name}: {len(pages.made)} pages made, {len(pages.kept)} up to date, in {where}")
        for student, why in pages.failed.items():
            print(f"  {student}: no page: {why}", file=sys.stderr)
        status |= bool(pages.failed)
        if release:
            status |= _release(course, name)
    return status


def _make(course: CourseSettings, assignment: str) -> Pages:
    """Make the missing and outdated feedback pages of one assignment, and return the outcome."""
    pages = Pages()
    with open_gradebook(course) as gradebook:
        for folder in course.graded(assignment):
            student = folder.parent.name
            place = course.feedback(assignment, student)
            try:
                digest = _digest(folder, gradebook.find_submission(assignment, student))
                if _is_fresh(place, folder, digest):
                    pages.kept.append(student)
                    continue
                directory = CourseDirectory(
                    config=course.config, assignment_id=assignment, student_id=glob.escape(student)
                )
                GenerateFeedback(coursedir=directory, config=course.config, force=True).start()
                (place / _RECORD).write_text(json.dumps({"from": digest}), encoding="utf-8")
            except MissingEntry:
                pages.failed[student] = "the gradebook has no scores: grade it again"
            except NbGraderException:
                command = f"nbgrader generate_feedback {assignment} --student '{student}' --force"
                pages.failed[student] = f"`{command}` says why"
            except OSError as error:
                pages.failed[student] = describe_error(error, place)
            else:
                pages.made.append(student)
    return pages


@contextlib.contextmanager
def _named_as_handed_in(course: CourseSettings, assignment: str, students: Sequence[str]) -> Iterator[None]:
    """Copy feedback pages to the names of the submitted notebooks. This is a context manager.

    nbgrader's command fetch_feedback expects HTML files with the names of the submitted notebooks. The copies are
    removed at the end of the `with` block.
    """
    with contextlib.ExitStack() as copies:
        for student in students:
            place = course.feedback(assignment, student)
            for name, path in recorded(course.autograded(assignment, student)).renamed.items():
                page, copy = place / f"{name}.html", place / f"{Path(path).stem}.html"
                if "/" not in path and page.is_file() and not copy.exists():  # nbgrader ignores subfolders
                    copies.callback(copy.unlink, missing_ok=True)
                    shutil.copy(page, copy)
        yield


def _digest(folder: Path, submission: SubmittedAssignment) -> str:
    """Return a hash of everything that a submission's feedback pages show.

    `folder` holds the graded notebooks. `submission` is the gradebook's object with points, comments and late penalty.
    """
    parts: list[object] = [__version__, submission.assignment.duedate, submission.extension, submission.timestamp]
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


def _release(course: CourseSettings, assignment: str) -> int:
    """Release the feedback pages of all students who submitted through nbgrader's exchange.

    Returns the exit status: 1 if nbgrader fails. English and Russian releases have separate exchanges. Each exchange
    gets the pages of all students, because a notebook need not record its language.
    """
    students = [folder.parent.name for folder in course.graded(assignment)]
    places = {student: course.feedback(assignment, student) for student in students}
    needed = (SECRET, TIMESTAMP)  # nbgrader fails on a page without them
    ours = [student for student, place in places.items() if all((place / name).is_file() for name in needed)]
    others = sorted(places.keys() - set(ours))
    if others:
        print(f"  not released, as they did not come through the exchange: {', '.join(others)}")
    languages = [language for language in LANGUAGES if ours and course.was_released(assignment, language)]
    command = [str(Path(sys.executable).with_name("nbgrader")), "release_feedback", assignment]
    command.append(f"--CourseDirectory.student_id_exclude={','.join(others)}")
    released = []
    with _named_as_handed_in(course, assignment, ours):
        for language in languages:
            environment = {**os.environ, "AUTOGRADER_LANGUAGE": language}
            done = subprocess.run(command, cwd=course.root, env=environment, capture_output=True, text=True)
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                print(f"  not released ({language}): {last}", file=sys.stderr)
            else:
                released.append(language)
    if released:
        print(f"  released to the exchange ({', '.join(released)}): {len(ours)} students")
    return int(released != languages)
