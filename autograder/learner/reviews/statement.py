"""An exercise out of its lesson: statement, stub and needed definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...checking.exercise import Exercise
from ...grade_ids import CellKind, GradeId
from ...lessons.needed_code import needed_code
from ...lessons.source import NOTEBOOKS, STUB
from ...lessons.variants import draw_table
from ...messages.learners import message
from ..notebooks.headings import find_heading, link_to, title_of
from ..notebooks.notebook_file import grade_id_of, read_notebook, source_of


@dataclass(frozen=True)
class Statement:
    """An exercise as a review shows it.

    `text` is Markdown, `cell` the code of a new cell for the answer, `lesson` a link to the exercise in its lesson.
    """

    text: str
    cell: str
    lesson: str


def state(exercise: Exercise, language: str, variant: int | None = None) -> Statement:
    """Return the statement of an exercise, from the notebook of its lesson as built.

    `variant` is the number of a variant: the check is on its cases, and a table of predictions is about its program.
    A private lesson has no built notebook here. Its statement is only the title.
    Raises Unreadable if the notebook is damaged.
    """
    path = next((NOTEBOOKS / language).glob(f"[0-9][0-9]_{exercise.lesson}.ipynb"), None)
    notebook = read_notebook(path) if path else {"cells": []}
    cells = notebook["cells"]
    answer_at = GradeId.of(CellKind.ANSWER, exercise.name)
    answer = next((number for number, cell in enumerate(cells) if grade_id_of(cell) == answer_at), None)
    heading = find_heading(cells, exercise.name)
    called = f'"{exercise.name}"' if variant is None else f'"{exercise.name}", variant={variant}'
    check = f"from autograder import check\n\ncheck({called})"
    if path is None or answer is None or heading is None:
        return Statement("", f"{STUB.splitlines()[0]}\n\n{check}", exercise.lesson)
    number, title = heading
    below = [source_of(cells[number])[title.end() :].strip()]
    below += [source_of(cell) for cell in cells[number + 1 : answer] if cell["cell_type"] == "markdown"]
    text, stub, above = "\n\n".join(below), source_of(cells[answer]), [*_code(cells[:answer])]
    if variant is not None and (table := draw_table(exercise, variant)):
        above, stub = [*above, table.program], table.stub(exercise.asks)
    needed = needed_code(above, text, stub)
    lesson = link_to(cells, path.name, exercise.name, title_of(path, notebook))
    return Statement(text, "\n\n\n".join([*needed, stub, check]), lesson)


def describe_exercise(exercise: Exercise, statement: Statement, language: str, *, with_code: bool) -> Iterator[str]:
    """Yield the paragraphs on one exercise, in Markdown. `with_code` is True if there is no new cell to hold it."""
    yield "---"
    yield message("review.exercise", exercise=exercise_label(exercise, language), lesson=statement.lesson).read(
        language
    )
    if statement.text:
        yield statement.text
    yield message("again.text" if with_code else "again.cell").read(language)
    if with_code:
        yield f"~~~~python\n{statement.cell}\n~~~~"


def exercise_label(exercise: Exercise, language: str) -> str:
    """Return title and name of an exercise."""
    return f"{exercise.title.read(language)} · `{exercise.name}`"


def _code(cells: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the sources of a lesson's code cells, without answers and checks."""
    for cell in cells:
        if cell["cell_type"] == "code" and not grade_id_of(cell):
            yield source_of(cell)
