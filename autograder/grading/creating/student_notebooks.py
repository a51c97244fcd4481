"""Students' notebooks, made from an assignment's source by nbgrader."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from nbgrader.apps.api import capture_log
from nbgrader.auth import Authenticator
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeReleaseAssignment

from ...errors import UserError
from ..course.settings import CourseSettings, course_settings

_VARIABLE = "AUTOGRADER_LANGUAGE"


def settings_in(root: Path, language: str) -> CourseSettings:
    """Return the settings of a course for the release in `language`."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = language
    try:
        return course_settings(root)
    finally:
        os.environ.pop(_VARIABLE) if before is None else os.environ.update({_VARIABLE: before})


def is_stale(course: CourseSettings, assignment: str) -> bool:
    """Return whether the release of an assignment is missing, or older than its source."""
    source, release = course.source(assignment), course.release(assignment)
    made = {path.name: path.stat().st_mtime for path in release.glob("*.ipynb")}
    return any(made.get(path.name, 0.0) < path.stat().st_mtime for path in source.glob("*.ipynb"))


def make_release(course: CourseSettings, assignment: str, *, saves: bool) -> None:
    """Make the release of an assignment, as `nbgrader generate_assignment --force` does.

    If `saves` is True, its cells are written into the gradebook. One language is enough, as all have the same cells.
    Raises UserError with nbgrader's words if it refuses.
    """
    config = deepcopy(course.config)
    if not saves:
        config.SaveCells.enabled = False
        config.GenerateAssignment.no_database = True
    step = GenerateAssignment(coursedir=_directory(course, assignment), config=config)
    step.force = True
    _run(step, f"{assignment} was not released")


def put_into_exchange(course: CourseSettings, assignment: str) -> None:
    """Copy the release of an assignment into nbgrader's exchange, in place of an earlier one.

    Raises UserError with nbgrader's words if it refuses.
    """
    step = ExchangeReleaseAssignment(
        coursedir=_directory(course, assignment),
        authenticator=Authenticator(config=course.config),
        config=course.config,
    )
    step.force = True
    _run(step, f"{assignment} is not in the exchange")


def _directory(course: CourseSettings, assignment: str) -> CourseDirectory:
    return CourseDirectory(config=course.config, assignment_id=assignment)


def _run(step: Any, failed: str) -> None:
    with _quiet():
        outcome = capture_log(step)
    if not outcome["success"]:
        said = [line.partition("] ")[2] for line in outcome.get("log", "").splitlines() if line.startswith("[ERROR")]
        raise UserError(f"{failed}: {' '.join(said) or outcome['error'].strip().splitlines()[-1]}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep nbgrader's log out of the terminal during the `with` block. This is a context manager."""
    log = logging.getLogger("traitlets")
    passes, log.propagate = log.propagate, False
    try:
        yield
    finally:
        log.propagate = passes
