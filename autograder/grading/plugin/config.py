"""What a course's nbgrader_config.py sets: the language of a release, how answers run, how feedback looks."""

from __future__ import annotations

import warnings
from typing import Any

from nbgrader import preprocessors
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from sqlalchemy.exc import SAWarning
from traitlets.config import Config

from ...authoring.notebooks import ClearSolutions, OneLanguage, settings
from ...language import LANGUAGES
from ..course.nbgrader_path import put_interpreter_on_path
from ..submission.outputs import LimitOutput
from ..submission.scores import SaveVerdicts
from .autograde import KeepRemarks, RunIsolated, Sanitize
from .feedback import FeedbackExporter, Grades
from .rubric import ShowRubric
from .safe_html import Harmless


def configure(c: Config, course_id: str, language: str) -> None:
    """Set nbgrader's traits for a course that is released in `language`; a second call changes nothing more.

    Every language has a course id and a release folder of its own, because an exchange holds one folder for an
    assignment. What is collected under any of them goes into the same `submitted/` and the same gradebook.
    Raises SystemExit for an unknown language: nbgrader would go on without the config after any other exception.
    """
    if language not in LANGUAGES:
        raise SystemExit(f"AUTOGRADER_LANGUAGE is {language!r}: set it to one of {', '.join(LANGUAGES)}, or unset it")
    put_interpreter_on_path()

    second = "" if language == "en" else f"-{language}"
    c.CourseDirectory.course_id = course_id + second
    c.CourseDirectory.release_directory = "release" + second

    steps = _with(GenerateAssignment.preprocessors, {preprocessors.ClearSolutions: ClearSolutions})
    c.GenerateAssignment.preprocessors = [OneLanguage, *steps]
    for name, traits in settings(language).items():
        c[name].update(traits)

    c.Autograde.sanitize_preprocessors = [Sanitize, preprocessors.CheckCellMetadata]
    steps = _with(
        Autograde.autograde_preprocessors,
        {
            preprocessors.Execute: RunIsolated,
            preprocessors.SaveAutoGrades: SaveVerdicts,
            preprocessors.LimitOutput: LimitOutput,
        },
    )
    c.Autograde.autograde_preprocessors = [*steps, KeepRemarks]

    # So that a warning in the log means something: SQLAlchemy's on nbgrader's own code tells an instructor nothing.
    warnings.filterwarnings("ignore", category=SAWarning, module="nbgrader")

    c.HTMLExporter.preprocessors = [Harmless, ShowRubric]  # of formgrader's pages
    c.FeedbackExporter.preprocessors = [Harmless]
    c.GenerateFeedback.exporter_class = FeedbackExporter
    c.GenerateFeedback.preprocessors = _with(GenerateFeedback.preprocessors, {preprocessors.GetGrades: Grades})


def _with(trait: Any, ours: dict[type, type]) -> list[type]:
    """nbgrader's own list of steps, with some of them replaced by ours."""
    return [ours.get(step, step) for step in trait.default()]
