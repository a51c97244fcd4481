"""A course as one command opens it: each file is read once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import SQLAlchemyError
from traitlets.config import Config

from ...errors import UserError
from ..gradebook.book import Book
from ..gradebook.database import LockedElsewhere, database_message, hold_lock
from ..requests.store import RequestStore
from ..rules.applied_rules import CourseRules, applied_rules, apply_rules, written_rules
from ..rules.course_file import Rules, read_rules
from ..rules.late_penalty import late_penalty
from ..tables.roster import Roster, Student, add_students, read_roster
from .attempts import AttemptStore
from .remarks import RemarksFolder
from .settings import CourseSettings, course_settings


@dataclass(frozen=True)
class Course(CourseSettings):
    """A course with rules, students, attempts and gradebook.

    Rules and students are read when they are first asked for, and kept.
    """

    @cached_property
    def stated(self) -> Rules:
        """The rules in course.toml. Raises BadRule if a rule is wrong."""
        return read_rules(self.root)

    @cached_property
    def written(self) -> CourseRules:
        """The rules in course.toml, with the extensions in students.csv. Raises BadRule if a rule is wrong."""
        return written_rules(self.root, self.roster)

    @cached_property
    def applied(self) -> CourseRules | None:
        """The rules that were last applied to grades, or None if none were yet."""
        return applied_rules(self.root)

    @property
    def rules(self) -> CourseRules:
        """The rules that grades follow. Before the first grading they are the written ones."""
        return self.applied or self.written

    def due_date(self, assignment: str) -> datetime | None:
        """Return the due date that the applied rules state for an assignment, or None."""
        return self.applied.rules.of(assignment).due if self.applied else None

    def apply(self, new: CourseRules) -> None:
        """Let grades follow the rules `new` (see `apply_rules`). Raises UserError if the gradebook fails."""
        with self.gradebook() as gradebook:
            apply_rules(self.root, gradebook.db, self.applied, new)
        self.__dict__["applied"] = new

    @cached_property
    def roster(self) -> Roster:
        """The students in students.csv."""
        return read_roster(self.root)

    def add(self, students: list[Student]) -> None:
        """Add students to students.csv."""
        add_students(self.root, students)
        self.__dict__.pop("roster", None)

    def reread(self) -> Course:
        """Return a new object for the same course, which reads the files again."""
        return Course(self.root, self.config, self.directory)

    def attempts(self, assignment: str) -> AttemptStore:
        return AttemptStore(self, assignment)

    def remarks(self, assignment: str) -> RemarksFolder:
        return RemarksFolder(self.root, assignment)

    def requests(self, assignment: str) -> RequestStore:
        return RequestStore(self.root, assignment)

    @contextlib.contextmanager
    def book(self) -> Iterator[Book]:
        """Open the gradebook for grading, with the course's late penalty. This is a context manager.

        Raises UserError if the gradebook cannot be opened.
        """
        with self.gradebook() as gradebook:
            yield self._book(gradebook)

    @contextlib.contextmanager
    def locked_book(self, assignment: str) -> Iterator[Book]:
        """Open the gradebook, and keep graders on other machines away from an assignment. This is a context manager.

        Raises UserError if the gradebook cannot be opened, or if another grader is at work.
        """
        with self.gradebook() as gradebook:
            try:
                hold_lock(gradebook, self.course_id, assignment)
            except LockedElsewhere as locked_elsewhere:
                raise UserError(f"{locked_elsewhere}: wait for it, or end it") from locked_elsewhere
            yield self._book(gradebook)

    def _book(self, gradebook: Gradebook) -> Book:
        extensions = self.applied.extensions if self.applied else {}
        return Book(gradebook, late_penalty(self.config, self.db_url), extensions)

    @contextlib.contextmanager
    def gradebook(self) -> Iterator[Any]:
        """Open the gradebook as nbgrader's own object. This is a context manager.

        Raises UserError if the gradebook cannot be opened, or fails in the `with` block.
        """
        try:
            gradebook = Gradebook(self.db_url, self.course_id)
        except Exception as error:  # many kinds of exceptions from SQLAlchemy and alembic
            raise UserError(f"{self.shown_db_url} cannot be opened: {database_message(error)}") from error
        try:
            with gradebook:
                yield gradebook
        except SQLAlchemyError as error:
            raise UserError(
                f"the gradebook {self.shown_db_url} fails: {database_message(error)}; what was written stays"
            ) from error


def open_course(root: Path) -> Course:
    """Open the course in the folder `root`.

    Raises UserError if `root` is not a course folder or its settings are wrong.
    """
    settings = course_settings(root)
    return Course(settings.root, settings.config, settings.directory)


def course_of(config: Config) -> Course:
    """Return the course that a command of nbgrader works on. `config` is the command's."""
    directory = CourseDirectory(config=config)
    return Course(Path(directory.root).resolve(), config, directory)
