"""Feedback pages released to nbgrader's exchange."""

from __future__ import annotations

import contextlib
import logging
import shutil
import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeReleaseFeedback

from ...language import LANGUAGES
from ..course.graded_folder import recorded
from ..course.settings import CourseSettings
from ..files.nbgrader_files import SECRET, TIMESTAMP


@dataclass
class Release:
    """The outcome of a release.

    `students` have a page in the exchange of each of `languages`. `others` did not submit through the exchange.
    `failed` maps each language whose release failed to an error message.
    """

    students: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def release_pages(course: CourseSettings, assignment: str, students: Sequence[str]) -> Release:
    """Release the feedback pages of those of `students` who submitted through nbgrader's exchange.

    English and Russian releases have separate exchanges. Each exchange gets the pages of all students, because a
    notebook need not record its language.
    """
    done = Release()
    for student in students:
        place = course.feedback(assignment, student)
        needed = all((place / name).is_file() for name in (SECRET, TIMESTAMP))  # nbgrader fails on a page without them
        (done.students if needed else done.others).append(student)
    if done.students:
        with _named_as_handed_in(course, assignment, done.students):
            for student in done.students:
                _release(course, assignment, student, done)
    return done


def release_folder(course: CourseSettings, assignment: str, student: str, above: Path) -> Release:
    """Release the pages in the folder `above/STUDENT/ASSIGNMENT` instead of the course's feedback folder.

    Returns the outcome.
    """
    done = Release([student])
    config = deepcopy(course.config)
    config.CourseDirectory.feedback_directory = str(above)
    _release(replace(course, config=config), assignment, student, done)
    return done


def _release(course: CourseSettings, assignment: str, student: str, done: Release) -> None:
    """Copy one student's pages to the exchanges, as `nbgrader release_feedback` does.

    The outcome goes into `done`.
    """
    for language in LANGUAGES:
        if language in done.failed or not course.was_released(assignment, language):
            continue
        directory = CourseDirectory(config=course.config, assignment_id=assignment, student_id=student)
        directory.course_id = course.course_id_in(language)
        step = ExchangeReleaseFeedback(
            coursedir=directory, authenticator=Authenticator(config=course.config), config=course.config
        )
        step.log = logging.getLogger("autograder.exchange")
        step.log.setLevel(logging.CRITICAL)  # the exception says it as well
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)  # nbgrader leaves a file to be closed by Python
                step.start()
        except (ExchangeError, OSError) as error:
            done.failed[language] = str(error)
        else:
            done.languages += [] if language in done.languages else [language]


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
