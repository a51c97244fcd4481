"""The exporter of feedback pages, in the language of the submitted notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbgrader
from nbconvert.exporters import HTMLExporter
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import GetGrades
from traitlets.config import Config

from ... import exercises
from ...checking.card_layout import inline
from ...language import LANGUAGES
from ...messages.feedback import WORDS

TEMPLATES = Path(__file__).parents[1] / "templates"
_FORMGRADER = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader"
_BOOTSTRAP = _FORMGRADER / "static" / "node_modules" / "bootstrap" / "dist" / "css"


class Grades(GetGrades):  # type: ignore[misc]
    """nbgrader's preprocessor of feedback pages, with two additions.

    A cell that still needs manual grading gets the metadata key `waiting`. The grade ids of graded cells that the
    student deleted are listed in `resources`.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super().preprocess(nb, resources)
        cells = {cell.metadata.nbgrader.get("grade_id"): cell for cell in nb.cells if "nbgrader" in cell.metadata}
        with Gradebook(self.db_url) as gradebook:
            submitted = gradebook.find_submission_notebook(self.notebook_id, self.assignment_id, self.student_id)
            for grade in submitted.grades:
                if grade.name in cells:
                    cells[grade.name].metadata.nbgrader.waiting = grade.needs_manual_grade
            deleted = [(g.name, g.score, g.max_score) for g in submitted.grades if g.name not in cells]
        resources["nbgrader"]["deleted"] = deleted
        return nb, resources


class FeedbackExporter(HTMLExporter):  # type: ignore[misc]
    """An exporter of feedback pages in English or Russian, with exercise titles."""

    @property
    def default_config(self) -> Config:
        """The exporter's config, which selects the course's HTML template. The template extends nbgrader's.

        A course may override the config in `c.FeedbackExporter`.
        """
        mine = {
            "exclude_anchor_links": True,
            "template_name": "autograder_feedback",
            "extra_template_basedirs": [str(TEMPLATES), str(_FORMGRADER / "templates")],
            "extra_template_paths": [str(_FORMGRADER / "templates"), str(_BOOTSTRAP)],
        }
        config = super().default_config
        config.FeedbackExporter.update(mine)
        return config

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **kw: Any) -> tuple[str, Any]:
        language = language_of(nb)
        lesson = str(_ours(nb).get("lesson", ""))
        self.language_code = language
        resources = resources or {}
        resources["words"] = {name: text.read(language) for name, text in WORDS.items()}
        resources["title_of"] = lambda grade_id: title(str(grade_id), lesson, language)
        page: tuple[str, Any] = super().from_notebook_node(nb, resources, **kw)
        return page


def language_of(nb: NotebookNode) -> str:
    """Return the language in a submitted notebook's metadata, "en" or "ru".

    If a student has removed the language, returns "en".
    """
    said = _ours(nb).get("language")
    return said if said in LANGUAGES else LANGUAGES[0]


def _ours(nb: NotebookNode) -> dict[str, Any]:
    """Return the metadata that the release wrote into the notebook. A student may have forged the metadata."""
    noted = nb.metadata.get("autograder")
    return noted if isinstance(noted, dict) else {}


def title(grade_id: str, lesson: str, language: str) -> str:
    """Return the title of the exercise of a graded cell, as HTML.

    If the exercise is unknown, returns the grade id.
    """
    role, _, name = grade_id.partition("-")
    if role == "written":
        return WORDS["written"].read(language)
    try:
        said = exercises.find(name, lesson or None).title.read(language)
    except exercises.Unknown:
        said = grade_id
    return inline(said)
