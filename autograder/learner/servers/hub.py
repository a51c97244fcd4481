"""`autograder singleuser`: JupyterHub's server for one user, in the user's language."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from ...errors import UserError
from ...language import LANGUAGES
from .jupyterlab_settings import environment

_FOR_INSTRUCTORS = ("create-assignment", "formgrader", "course-list")  # panels of nbgrader


def serve_hub() -> NoReturn:
    """Become the server that JupyterHub expects in this process.

    The hub sets AUTOGRADER_LANGUAGE, and for an instructor AUTOGRADER_COURSE, the course folder in which the server
    works. There nbgrader's commands are about the English release unless a command names another language.
    Raises UserError if the language is unknown or the folder cannot be entered.
    """
    language, course = os.environ.get("AUTOGRADER_LANGUAGE", "en"), os.environ.get("AUTOGRADER_COURSE")
    if language not in LANGUAGES:
        raise UserError(f"AUTOGRADER_LANGUAGE is {language!r}: set it to one of {', '.join(LANGUAGES)}, or unset it")
    settings = Path.home() / ".jupyter" / "autograder"
    variables = environment(settings, language, hidden=() if course else _FOR_INSTRUCTORS)
    if course:
        variables.pop("AUTOGRADER_LANGUAGE", None)
        try:
            os.chdir(course)
        except OSError as error:
            raise UserError(f"the course folder {course} cannot be entered: {error.strerror}") from error
    os.execve(sys.executable, [sys.executable, "-m", "jupyterhub.singleuser"], variables)
