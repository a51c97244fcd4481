"""The cells of a lesson's notebook as blocks of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from nbconvert.filters import Highlight2HTML
from nbformat.notebooknode import NotebookNode

from ..checking.exercise import Exercise
from ..grade_ids import CellKind, GradeId
from ..lessons.mathml import render_markdown
from ..lessons.prose.recall import RECALL_CALL, exercises_to_recall
from ..lessons.source import CHECK
from .headings import Heading, with_places
from .outputs import failed, to_html
from .predictions import judge_data
from .running.cells import Outputs, is_run

_TO_NOTEBOOK = re.compile(r'(<a href="[^":?#]*)\.ipynb(?:#cell-id=(?:answer|check)-(\w+))?')
_WIDE = re.compile(r'<table.*?</table>|<math display="block".*?</math>', re.S)
_ASKED = 8  # questions, of which two are shown
_START = re.compile(r"^start\(", re.M)


@dataclass
class Block:
    """One part of a page, which the template `block.html` shows.

    `kind` is "prose", "code", "exercise", "prediction", "recall" or "written". `html` is prose or highlighted code,
    `output` the output of the code. `spoils` is true if the output gives a prediction away, `unrun` if the code needs
    an answer, and `folded` if the notebook hides the code. `asked` holds name, question and answer of each question on
    earlier lessons.
    """

    kind: str
    html: str
    output: str = ""
    spoils: bool = False
    unrun: bool = False
    folded: bool = False
    exercise: Exercise | None = None
    hints: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    data: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)


def blocks(
    notebook: NotebookNode, language: str, exercises: Mapping[str, Exercise], outputs: Outputs, ids: list[str]
) -> tuple[list[Block], list[Heading]]:
    """Return the blocks of a student's notebook, and its headings.

    `ids` are the places of headings in order.
    """
    headings: list[Heading] = []
    places, spoils, found = iter(ids), False, list[Block]()
    for cell in notebook.cells:
        named = GradeId(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
        if named.kind is CellKind.WRITTEN:
            found.append(Block("written", ""))
        elif cell.cell_type == "markdown":
            html, new = with_places(markdown(cell.source), places)
            headings += new
            spoils = spoils and not new and "<details>" not in html  # which tells what the table shows
            found.append(Block("prose", html))
        elif named.kind is CellKind.ANSWER:
            exercise = exercises[named.exercise]
            found.append(_exercise(exercise, highlighted(cell.source), language))
            spoils = exercise.asks_for == "dict"
        elif cell.source == RECALL_CALL:
            found.append(Block("recall", "", asked=[*_asked(notebook, language)]))
        elif is_run(cell) and not _START.search(cell.source):
            shown = outputs.get(cell.id, {}).get(language, [])
            unrun = failed(shown)
            alt = cell.metadata.get("autograder", {}).get("alt", {}).get(language, "")
            output = "" if unrun else to_html(shown, alt)
            folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
            found.append(Block("code", highlighted(cell.source), output, spoils and bool(output), unrun, folded))
        elif not CHECK.search(cell.source):
            found.append(Block("code", highlighted(cell.source), folded=bool(_START.search(cell.source))))
    return found, headings


def _exercise(exercise: Exercise, code: str, language: str) -> Block:
    hints = [_hint(hint.read(language)) for hint in exercise.hints]
    if exercise.asks_for != "dict":
        return Block("exercise", code, exercise=exercise, hints=hints)
    truth = _entries(exercise)
    data = judge_data(exercise, language)
    return Block("prediction", code, exercise=exercise, hints=hints, entries=list(truth), data=data)


def _asked(notebook: NotebookNode, language: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, question and answer of what a lesson may ask about those that it needs."""
    ours = notebook.metadata.autograder
    for exercise in exercises_to_recall(ours.lesson, ours.needs)[:_ASKED]:
        assert exercise.why
        says = (exercise.why.question, exercise.why.because)
        question, answer = (inner(markdown(each.read(language))) for each in says)
        yield f"{exercise.lesson}.{exercise.name}", question, answer


def _hint(text: str) -> str:
    """Return a hint as HTML: one with several lines is code."""
    return highlighted(text) if "\n" in text else inner(markdown(text))


def _entries(exercise: Exercise) -> Iterator[str]:
    from ..exercises import key_of

    return iter(key_of(exercise).expected.solution[0].values[exercise.aspects[0].name])


def markdown(source: str) -> str:
    """Return Markdown as HTML, with links to pages in place of links to notebooks."""
    html = render_markdown(source, exclude_anchor_links=True)
    html = _TO_NOTEBOOK.sub(lambda found: f"{found[1]}.html" + (f"#{found[2]}" if found[2] else ""), html)
    html = html.replace("<pre>", '<pre tabindex="0">')
    return _WIDE.sub(r'<div class="wide" tabindex="0">\g<0></div>', html)


def inner(html: str) -> str:
    """Return HTML without the paragraph around it, if there is only one."""
    inside = html.strip().removeprefix("<p>").removesuffix("</p>")
    return inside if "<p>" not in inside else html


@lru_cache(maxsize=4096)  # both languages have the same code
def highlighted(source: str) -> str:
    """Return Python code as highlighted HTML."""
    html: str = Highlight2HTML(pygments_lexer="python")(source)
    return html.replace("<pre>", '<pre tabindex="0">', 1)
