"""The nbgrader settings of a course: release language, sandbox, feedback."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbgrader import preprocessors
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from sqlalchemy.exc import SAWarning
from traitlets.config import Config

from ...language import LANGUAGES
from ...lessons.notebooks import ClearSolutions, OneLanguage, settings
from ..nbgrader_path import put_interpreter_on_path
from ..rules.course_file import read_rules
from ..rules.late_penalty import CourseLatePenalty
from ..rules.toml_table import BadRule
from ..submission.scores import SaveVerdicts
from .rubric import ShowRubric
from .safe_html import Harmless

# Names, not classes: only the commands that use them import torch then. Any other command takes 1.6 s less.
_AUTOGRADE, _FEEDBACK = f"{__package__}.autograde.", f"{__package__}.feedback_exporter."


def configure(c: Config, course_id: str, language: str | None, root: str = ".") -> None:
    """Set nbgrader's settings in `c`, for a course that is released in `language`.

    If `language` is None, it is the one that the file `course.toml` in the folder `root` names. A second call changes
    nothing more. Each language has its own course id and release folder, because nbgrader's exchange holds one folder
    per assignment. Submissions in all languages are collected into the same folder `submitted/` and the same gradebook.
    Raises SystemExit for an unknown language or a wrong rule: after any other exception nbgrader would continue without
    this config.
    """
    try:
        rules = read_rules(Path(root))
    except BadRule as error:
        raise SystemExit(str(error)) from error
    language = rules.language if language is None else language
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

    c.Autograde.sanitize_preprocessors = [_AUTOGRADE + "Sanitize", preprocessors.CheckCellMetadata]
    steps = _with(
        Autograde.autograde_preprocessors,
        {
            preprocessors.Execute: _AUTOGRADE + "RunIsolated",
            preprocessors.SaveAutoGrades: SaveVerdicts,
            preprocessors.LimitOutput: None,  # `RunIsolated` has already limited them
            preprocessors.AssignLatePenalties: _AUTOGRADE + "AssignPenalties",
        },
    )
    c.Autograde.autograde_preprocessors = [*steps, _AUTOGRADE + "KeepRemarks"]
    c.AssignLatePenalties.plugin_class = CourseLatePenalty

    c.NbGraderAPI.timezone = rules.zone.key  # of the times in formgrader

    # SQLAlchemy's warnings about nbgrader's code are useless to an instructor and would hide relevant ones.
    warnings.filterwarnings("ignore", category=SAWarning, module="nbgrader")

    c.HTMLExporter.preprocessors = [Harmless, ShowRubric]  # for formgrader's pages
    c.FeedbackExporter.preprocessors = [Harmless]
    c.GenerateFeedback.exporter_class = _FEEDBACK + "FeedbackExporter"
    c.GenerateFeedback.preprocessors = _with(
        GenerateFeedback.preprocessors, {preprocessors.GetGrades: _FEEDBACK + "FeedbackGrades"}
    )


def _with(trait: Any, ours: Mapping[type, type | str | None]) -> list[type | str]:
    """Return a trait's default list of preprocessors, with nbgrader's classes replaced as `ours` says.

    `ours` maps each class to its replacement, a class or its name, or to None to leave the class out.
    """
    return [step for step in (ours.get(each, each) for each in trait.default()) if step is not None]
