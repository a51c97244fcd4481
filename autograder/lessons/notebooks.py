"""Notebooks made from lesson sources, for instructors and for students.

An instructor's notebook has English and Russian prose, a student's notebook has one language.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

import nbformat
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat.notebooknode import NotebookNode
from nbgrader import preprocessors

from .. import __version__
from ..cells import BrokenSource, Cell
from ..language import LANGUAGES, Text
from ..messages.lessons import say
from ..messages.markup import folded
from .openings import opening_of, with_opening
from .prose.contracts import as_students_see, with_folded_conditions
from .prose.headings import with_headings
from .prose.recall import RECALL_CALL
from .prose.sections import begins_section, exercise_minutes, lesson_minutes, notes_between
from .source import CHECK, STUB, Lesson, source_digest

# nbgrader's config imports this module, and needs no torch.
if TYPE_CHECKING:
    from ..checking.exercise import Exercise

_START = re.compile(r"(?m)^start\(")
# Code and displayed formulas, which stay as they are, or a formula and the sign behind it.
_FORMULA = re.compile(r"(```.*?```|`[^`\n]+`|\$\$.+?\$\$)|\$([^$\n]+)\$([,.;:!?)])", re.S)
# In both languages: nbgrader keeps one text of each cell, and tells an untouched one by it.
TEXT_STUB = """\
> **YOUR ANSWER: double-click here and write in place of these lines.**
>
> **ВАШ ОТВЕТ: щёлкните здесь дважды и пишите вместо этих строк.**"""


class ClearSolutions(preprocessors.ClearSolutions):  # type: ignore[misc]
    """nbgrader's preprocessor that removes solutions, extended by given code.

    A solution is replaced by the exercise's given code. If there is no given code, it is replaced by a stub.
    """

    def preprocess_cell(self, cell: NotebookNode, resources: Any, cell_index: int) -> tuple[NotebookNode, Any]:
        given = cell.metadata.get("autograder", {}).pop("given", None)
        if given is None:
            cell, resources = super().preprocess_cell(cell, resources, cell_index)
        else:
            cell.source = given
        if cell.metadata.get("autograder") == {}:
            del cell.metadata["autograder"]
        return cell, resources


class OneLanguage(TagRemovePreprocessor):  # type: ignore[misc]
    """A preprocessor that removes the cells of the other language.

    The base class is nbconvert's preprocessor that removes cells by tag. This class also writes into the notebook's
    metadata the language and, if nbgrader makes the release, the assignment.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        (removed,) = self.remove_cell_tags
        nb, resources = super().preprocess(nb, resources)
        ours = nb.metadata.setdefault("autograder", {})
        ours["language"] = next(x for x in LANGUAGES if x != removed)
        ours["about"] = ours.get("about", {}).get(ours["language"], "")
        if assignment := resources.get("nbgrader", {}).get("assignment"):
            ours["assignment"] = assignment  # so that `ready` knows that there is a place to hand it in
        _add_start(nb, ours.get("lesson"), ours["language"])
        return nb, resources


def _add_start(nb: NotebookNode, lesson: str | None, language: str) -> None:
    """Insert a cell that calls `start` if the notebook has checks but no such call.

    Without that call, cards would appear in English and Russian.
    """
    code = [cell.source for cell in nb.cells if cell.cell_type == "code"]
    if not lesson or not any(map(CHECK.search, code)) or any(_START.search(source) for source in code):
        return
    source = f'from autograder import start\n\nstart("{lesson}", language="{language}")'
    first = next(index for index, cell in enumerate(nb.cells) if cell.cell_type == "code")
    nb.cells.insert(first, nbformat.v4.new_code_cell(source, id="start"))


def settings(language: str) -> dict[str, dict[str, Any]]:
    """Return the settings of `ClearSolutions` and `OneLanguage` for a release in `language`.

    The result is a dict from class name to settings. nbgrader's configuration of a course uses these settings, too.
    """
    other = {x for x in LANGUAGES if x != language}
    return {
        "ClearSolutions": {"code_stub": {"python": STUB}, "text_stub": TEXT_STUB},
        "OneLanguage": {"enabled": True, "remove_cell_tags": other},
    }


def source_notebook(lesson: Lesson, exercises: dict[str, Exercise]) -> NotebookNode:
    """Return a lesson's notebook for the instructor.

    The notebook has prose in English and Russian, solutions, a rubric and nbgrader's metadata, but no outputs.
    Raises BrokenSource if a cell names an exercise that does not exist.
    """
    given = {name: cell.source for name, cell in lesson.with_role("given")}
    drawing = opening_of(lesson)
    notes = notes_between(lesson, exercises)
    first = next((index for index, cell in enumerate(lesson.cells) if begins_section(cell)), None)
    cells: list[NotebookNode] = []
    for index, cell in enumerate(lesson.cells):
        if index == first and lesson.needs:
            cells += _recall(index)
        cells += _note(notes[index], index) if index in notes else ()
        if not cell.is_fact and not (cell.role and cell.role[0] in ("given", "alternative")):
            cells.append(_cell(lesson, cell, index, exercises, given))
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    for cell in cells:
        if drawing and cell.source.startswith("# ") and cell.metadata.get("tags"):
            cell.source = with_opening(cell.source, drawing, cell.metadata.tags[0])
    minutes, extra = lesson_minutes(lesson, exercises)
    ours = {"lesson": lesson.name, "version": __version__, "minutes": minutes, "extra": extra}
    ours |= {"needs": lesson.needs, "about": lesson.about}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}, "autograder": ours}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    notebook.nbformat_minor = 5
    return notebook


def _recall(index: int) -> Iterator[NotebookNode]:
    """Yield what asks about the lessons that a lesson needs, above cell `index` of the lesson source."""
    yield from _note(Text(*(say("recall", language) for language in LANGUAGES)), index)
    yield nbformat.v4.new_code_cell(RECALL_CALL, id="recall")


def _note(says: Text, index: int) -> Iterator[NotebookNode]:
    """Yield a cell of prose in each language, which stands above cell `index` of the lesson source."""
    for language in LANGUAGES:
        yield nbformat.v4.new_markdown_cell(
            says.read(language), id=f"note-{index}-{language}", metadata={"tags": [language]}
        )


def _cell(
    lesson: Lesson, cell: Cell, index: int, exercises: dict[str, Exercise], given: dict[str, str]
) -> NotebookNode:
    metadata: dict[str, Any] = {"tags": [cell.language]} if cell.language else {}
    if cell.is_folded:
        metadata["jupyter"] = {"source_hidden": True}
    if "alt" in cell.metadata:
        metadata["autograder"] = {"alt": dict(zip(LANGUAGES, cell.metadata["alt"].split(" | ")))}
    cell_id = source_digest(f"{lesson.name}:{index}", 12)
    if cell.role:
        role, name = cell.role
        cell_id = f"{role}-{name}"
        if role != "written":
            _refuse_unknown(name, lesson, cell, exercises)
        metadata["nbgrader"] = _nbgrader(role, name, cell, exercises.get(name))
        if role == "answer" and name in given:
            metadata["autograder"] = {"given": given[name]}
        elif role == "check":
            metadata["autograder"] = {"minutes": exercise_minutes(lesson, exercises[name])}
        elif role == "written":
            metadata["autograder"] = {"minutes": cell.metadata.get("minutes", 0)}
    make = nbformat.v4.new_code_cell if cell.kind == "code" else nbformat.v4.new_markdown_cell
    language = cell.language or "en"
    source = cell.source
    if cell.kind == "markdown":
        source = with_folded_conditions(as_students_see(source), language)
        source = with_headings(_keep_punctuation(source), lesson, exercises, language)
    if cell.is_invitation:
        invitation, _, outcome = source.partition("\n\n")
        source = f"{say('your_turn', language)} {invitation}\n\n{_fold(outcome, say('compare', language))}"
    if "explains" in cell.metadata:
        _refuse_unknown(cell.metadata["explains"], lesson, cell, exercises)
        of_table = exercises[cell.metadata["explains"]].asks_for == "dict"
        source = _fold(source, say("behind_table" if of_table else "behind_check", language))
    made: NotebookNode = make(source, id=cell_id, metadata=metadata)
    return made


def _refuse_unknown(name: str, lesson: Lesson, cell: Cell, exercises: Container[str]) -> None:
    if name not in exercises:
        raise BrokenSource(lesson.path, cell.line, f"no exercise is called {name} in the module of this lesson")


def _keep_punctuation(source: str) -> str:
    """Return Markdown in which a sign that follows a formula is part of it.

    Browsers break a line between a formula of MathJax and the comma behind it.
    """
    return _FORMULA.sub(lambda found: found[1] or f"${found[2]}{{{found[3]}}}$", source)


def _fold(source: str, summary: str) -> str:
    """Return Markdown in which the text before the first heading is shown only after a click on `summary`.

    Otherwise the answer would be on the same screen as its exercise.
    """
    told, *others = re.split(r"\n(?=#+ )", source, maxsplit=1)
    return "\n\n".join([folded(summary, told), *others])


def _nbgrader(role: str, name: str, cell: Cell, exercise: Exercise | None) -> dict[str, Any]:
    """Return nbgrader's metadata for a cell of exercise `name`.

    `role` is the cell's attribute in the lesson source: "answer", "check" or "written". The check of an extra exercise
    is locked and gives no points. Grade ids such as `answer-NAME` must never change after a release.
    """
    metadata: dict[str, Any] = {
        "grade_id": f"{role}-{name}",
        "schema_version": 3,
        "task": False,
        "grade": False,
        "solution": False,
        "locked": False,
    }
    if role == "answer":
        metadata |= {"solution": True}
    elif role == "written":
        metadata |= {"solution": True, "grade": True, "points": cell.metadata["points"]}
    elif exercise and exercise.core:
        metadata |= {"grade": True, "locked": True, "points": exercise.points}
    else:
        metadata |= {"locked": True}
    return metadata


def student_notebook(source: NotebookNode, language: str) -> NotebookNode:
    """Return a student's notebook: prose in one language, stubs instead of solutions.

    `source` is the instructor's notebook. The result equals what nbgrader would release, but
    names no assignment.
    """
    from traitlets.config import Config

    config = Config(settings(language))
    notebook: NotebookNode = nbformat.from_dict(source)
    resources: Any = {"metadata": {}}
    for step in (
        OneLanguage,
        preprocessors.LockCells,
        ClearSolutions,
        preprocessors.ClearOutput,
        preprocessors.CheckCellMetadata,
        preprocessors.ComputeChecksums,
    ):
        notebook, resources = step(config=config).preprocess(notebook, resources)
    return notebook


def to_text(notebook: NotebookNode) -> str:
    """Return a notebook as the text of an `.ipynb` file.

    Raises ValidationError if the notebook does not fit nbformat's schema.
    """
    nbformat.validate(notebook)
    return f"{nbformat.writes(notebook, version=4)}\n"
