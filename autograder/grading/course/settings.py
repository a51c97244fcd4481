"""The settings in a course's nbgrader_config.py: folders, languages, sandbox limits."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.apps import NbGrader
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from ...errors import UserError
from ...language import LANGUAGES
from ..gradebook.database import shown
from .sandbox_traits import SandboxTraits


@dataclass(frozen=True)
class CourseSettings:
    """The settings of a course, as nbgrader loads them from nbgrader_config.py.

    `root` is the course folder.
    """

    root: Path
    config: Config
    directory: Any  # nbgrader's CourseDirectory

    @property
    def db_url(self) -> str:
        return str(self.directory.db_url)

    @property
    def shown_db_url(self) -> str:
        """The database's address for messages, without the password."""
        return shown(self.db_url)

    @property
    def course_id(self) -> str:
        return str(self.directory.course_id)

    def course_id_in(self, language: str) -> str:
        """Return the course id of the release in `language`: each language has its own exchange."""
        plain = self.course_id.removesuffix("" if self.language == LANGUAGES[0] else f"-{self.language}")
        return plain if language == LANGUAGES[0] else f"{plain}-{language}"

    @property
    def language(self) -> str:
        """The language of the release, "en" or "ru".

        The environment variable AUTOGRADER_LANGUAGE sets it. Without the variable, course.toml does.
        """
        removed = self.config.get("OneLanguage", {}).get("remove_cell_tags", ())
        return next((each for each in LANGUAGES if each not in removed), LANGUAGES[0])

    def source(self, assignment: str) -> Path:
        """Return the folder of an assignment's source notebooks."""
        return self._path(self.directory.source_directory, ".", assignment)

    def release(self, assignment: str) -> Path:
        """Return the folder of the notebooks that all students get, in the language of the release."""
        return self._path(self.directory.release_directory, ".", assignment)

    def handout(self, assignment: str) -> Path:
        """Return the folder of the students' own copies of the release. It has a folder for each student."""
        second = "" if self.language == LANGUAGES[0] else f"-{self.language}"
        return self.root / f"handout{second}" / assignment

    def submitted(self, assignment: str, student: str) -> Path:
        """Return the folder in which a student's submission is stored."""
        return self._path(self.directory.submitted_directory, student, assignment)

    def autograded(self, assignment: str, student: str) -> Path:
        """Return the folder in which a student's graded submission is stored."""
        return self._path(self.directory.autograded_directory, student, assignment)

    @property
    def ignore(self) -> list[str]:
        """The patterns of file names that nbgrader does not copy."""
        return list(self.directory.ignore)

    def feedback(self, assignment: str, student: str) -> Path:
        """Return the folder in which a student's feedback pages are stored."""
        return self._path(self.directory.feedback_directory, student, assignment)

    def was_released(self, assignment: str, language: str) -> bool:
        """Return whether an assignment has a release in `language` ("en" or "ru")."""
        first = str(self.directory.release_directory)
        for other in LANGUAGES[1:]:
            first = first.removesuffix(f"-{other}")
        kind = first if language == LANGUAGES[0] else f"{first}-{language}"
        return self._path(kind, ".", assignment).is_dir()

    def submissions(self, assignment: str) -> list[Path]:
        """Return the folders of an assignment's submissions, in the order of the students' names.

        A folder that is a symbolic link is left out.
        """
        return self._by_student(self.directory.submitted_directory, assignment)

    def graded(self, assignment: str) -> list[Path]:
        """Return the folders of an assignment's graded submissions, in the order of the students' names.

        A folder that is a symbolic link is left out.
        """
        return self._by_student(self.directory.autograded_directory, assignment)

    def assignments(self) -> list[str]:
        """Return the names of the assignments with at least one submission."""
        return self._all(self.directory.submitted_directory)

    def graded_assignments(self) -> list[str]:
        """Return the names of the assignments with graded submissions."""
        return self._all(self.directory.autograded_directory)

    def _by_student(self, kind: str, assignment: str) -> list[Path]:
        """Return the folders of one assignment in a top folder, in the order of the students' names.

        `kind` is nbgrader's name of the top folder, for example "submitted" or "autograded".
        """
        above = self._path(kind, "STUDENT", assignment).parents[1]
        found = [folder / assignment for folder in above.iterdir()] if above.is_dir() else []
        return sorted(
            folder
            for folder in found
            if _is_folder(folder) and _is_folder(folder.parent) and not folder.parent.name.startswith(".")
        )

    def _all(self, kind: str) -> list[str]:
        """Return the names of all assignments that have a folder in the top folder `kind`.

        `kind` is nbgrader's name of the top folder, for example "submitted".
        """
        above = self._path(kind, "STUDENT", "x").parents[1]
        names: set[str] = set()
        for student in above.iterdir() if above.is_dir() else []:
            if student.name.startswith("."):
                continue
            with contextlib.suppress(PermissionError, NotADirectoryError):
                names |= {folder.name for folder in student.iterdir() if _is_folder(folder)}
        return sorted(name for name in names if not name.startswith("."))

    @property
    def isolation(self) -> SandboxTraits:
        """The course's sandbox settings: isolation and limits."""
        return SandboxTraits(config=Config(SandboxTraits=self.config.RunIsolated))

    def _path(self, kind: str, student: str, assignment: str) -> Path:
        """Return the path of a student's folder for an assignment in the top folder `kind`.

        `kind` is nbgrader's name of the top folder, for example "submitted".
        """
        return Path(self.directory.format_path(kind, student, assignment))


def course_settings(root: Path) -> CourseSettings:
    """Read the settings of the course in the folder `root`.

    Raises UserError if `root` is not a course folder or its settings are wrong.
    """
    root = root.resolve()
    if not (root / "nbgrader_config.py").is_file():
        raise UserError(
            f"{root} is no course folder, it has no nbgrader_config.py: make one with `autograder course DIR`"
        )
    with _in(root):
        app = NbGrader()
        app.log.setLevel(logging.ERROR)
        try:
            app.load_config_file()
        except SystemExit as error:  # the message of `configure`
            raise UserError(str(error)) from error
        config = app.config
        config.CourseDirectory.root = str(root)
        return CourseSettings(root, config, CourseDirectory(config=config))


def _is_folder(path: Path) -> bool:
    """Return whether a path is a folder and not a link.

    If the path is inaccessible, returns True: grading then reports the error.
    """
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except PermissionError:
        return True
    except OSError:
        return False


@contextlib.contextmanager
def _in(folder: Path) -> Iterator[None]:
    """Change the working folder to `folder` during the `with` block. This is a context manager."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
