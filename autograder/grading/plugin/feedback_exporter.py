"""The exporter of feedback pages, in the language of the submitted notebook."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache, pass_context
from jinja2.bccache import Bucket
from nbconvert.exporters import HTMLExporter, TemplateExporter
from nbconvert.filters import Highlight2HTML
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import GetGrades
from pygments.formatters import HtmlFormatter
from traitlets.config import Config

from ... import exercises
from ...grade_ids import CellKind, GradeId
from ...language import LANGUAGES, decimal
from ...lessons.mathml import render_markdown
from ...look import LOOK
from ...messages.feedback import WORDS
from ...messages.markup import inline
from ..course.course import course_of
from ..rules.late_explanation import explain_lateness
from ..submission.limited_outputs import without_outputs_for_instructor

TEMPLATES = Path(__file__).parents[1] / "templates"


class FeedbackGrades(GetGrades):  # type: ignore[misc]
    """nbgrader's preprocessor of feedback pages, with additions.

    A cell that still needs manual grading gets the metadata key `waiting`. `resources` gets an explanation of lateness,
    and the student's name, or the id if the name is unknown.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super().preprocess(nb, resources)
        course = course_of(self.config)
        cells = {cell.metadata.nbgrader.get("grade_id"): cell for cell in nb.cells if "nbgrader" in cell.metadata}
        with Gradebook(self.db_url) as gradebook:
            submitted = gradebook.find_submission_notebook(self.notebook_id, self.assignment_id, self.student_id)
            for grade in submitted.grades:
                if grade.name in cells:
                    cells[grade.name].metadata.nbgrader.waiting = grade.needs_manual_grade
            lateness = explain_lateness(course.rules, gradebook.db, submitted.assignment)
            resources["nbgrader"]["lateness"] = lateness
        named = {each.id: each.name for each in course.roster.students}
        resources["nbgrader"]["who"] = named.get(self.student_id) or self.student_id
        return nb, resources


class FeedbackExporter(HTMLExporter):  # type: ignore[misc]
    """An exporter of feedback pages in English or Russian.

    The pages have the titles of exercises, and formulas as MathML.
    """

    @property
    def default_config(self) -> Config:
        """The exporter's config, which selects the course's HTML template.
        A course may override the config in `c.FeedbackExporter`.
        """
        mine = {
            "exclude_anchor_links": True,
            "template_name": "autograder_feedback",
            "extra_template_basedirs": [str(TEMPLATES)],
            "extra_template_paths": [str(LOOK)],
        }
        config = super().default_config
        config.FeedbackExporter.update(mine)
        return config

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Return Markdown as HTML, with formulas as MathML. This is a filter for the template."""
        attachments = context.get("cell", {}).get("attachments", {})
        if attachments:
            return render_markdown(source, attachments=attachments, exclude_anchor_links=True)
        return _markdown(source)

    def _create_environment(self) -> Any:
        environment = super()._create_environment()
        environment.bytecode_cache = _COMPILED
        return environment

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **kw: Any) -> tuple[str, Any]:
        without_outputs_for_instructor(nb)
        language = language_of(nb)
        lesson = str(_ours(nb).get("lesson", ""))
        self.language_code = language
        resources = resources or {}
        resources["code_style"] = HtmlFormatter(style="default").get_style_defs(".highlight")
        resources["words"] = {name: text.read(language) for name, text in WORDS.items()}
        resources["number"] = lambda value: decimal(float(value), language)
        resources["title_of"] = lambda grade_id: title(str(grade_id), lesson, language)
        self.register_filter("highlight_code", lambda source, metadata: _highlighted(source))
        # HTMLExporter's own method would parse the whole page again, which doubles the time of a page.
        html, resources = TemplateExporter.from_notebook_node(self, nb, self._init_resources(resources), **kw)
        return _NO_ALT.sub('<img alt="" ', html), resources


class _Memory(BytecodeCache):
    """A cache of compiled templates in memory.

    Each page has an exporter of its own, which would compile the templates again: a sixth of its time.
    """

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._code[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Memory()
_NO_ALT = re.compile(r"<img (?![^>]*\balt=)")


# The pages of a class have most cells in common.
@lru_cache(maxsize=1024)
def _markdown(source: str) -> str:
    return render_markdown(source, exclude_anchor_links=True)


@lru_cache(maxsize=1024)
def _highlighted(source: str) -> str:
    html: str = Highlight2HTML(pygments_lexer="python")(source)
    return html


def language_of(nb: NotebookNode) -> str:
    """Return the language in a submitted notebook's metadata, "en" or "ru".

    If a student has removed the language, returns "en".
    """
    said = _ours(nb).get("language")
    return said if said in LANGUAGES else LANGUAGES[0]


def _ours(nb: NotebookNode) -> dict[str, Any]:
    """Return the metadata that the release wrote into the notebook.

    A student may have forged the metadata.
    """
    noted = nb.metadata.get("autograder")
    return noted if isinstance(noted, dict) else {}


def title(grade_id: str, lesson: str, language: str) -> str:
    """Return the title of the exercise of a graded cell, as HTML.

    If the exercise is unknown, returns the grade id.
    """
    named = GradeId(grade_id)
    if named.kind is CellKind.WRITTEN:
        return WORDS["written"].read(language)
    try:
        said = exercises.find(named.exercise, lesson or None).title.read(language)
    except exercises.Unknown:
        said = grade_id
    return inline(said)
