"""A student's own copy of a released notebook.

Its tables of predictions are about other programs than those of the course.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.utils import compute_checksum

from ...errors import UserError
from ...grade_ids import CellKind, GradeId
from ...language import LANGUAGES, Text
from ..course.personal_tables import OwnTable, own_source

_ABOVE = Text(
    "*The program below is your own: other students have other ones. Numbers in the text and in hints are those of the "
    "course's program, which follows your table.*",
    "*Программа ниже — ваша: у других студентов она другая. Числа в тексте и в подсказках относятся к программе курса, "
    "которая стоит после вашей таблицы.*",
)
_BELOW = Text(
    "What follows is about the course's program again.",
    "Дальше снова речь о программе курса.",
)


def own_copy(notebook: NotebookNode, student: str, tables: Mapping[str, OwnTable]) -> NotebookNode:
    """Return a copy of a released notebook with a student's own tables.

    The student's program stands above the table in place of the course's, which follows below the check.
    Raises UserError if the notebook has a table, but no cell that defines the table's program.
    """
    made = copy.deepcopy(notebook)
    ours = made.metadata.setdefault("autograder", {})
    ours["student"] = student
    language = ours.get("language", LANGUAGES[0])
    for cell in made.cells:
        named = cell.metadata.get("nbgrader", {})
        source = own_source(GradeId(named.get("grade_id", "")), cell.source, tables)
        if source != cell.source:
            cell.source = source
            if "checksum" in named:
                named["checksum"] = compute_checksum(cell)
    for table in tables.values():
        _put_program(made, table, language)
    return made


def _put_program(notebook: NotebookNode, table: OwnTable, language: str) -> None:
    """Put a table's program into its cell, and the course's program below the check. Other code of the cell stays."""
    cells, name = notebook.cells, table.exercise.name
    places = {cell.metadata.get("nbgrader", {}).get("grade_id"): place for place, cell in enumerate(cells)}
    answer, check = (places.get(GradeId.of(kind, name)) for kind in (CellKind.ANSWER, CellKind.CHECK))
    if answer is None or check is None:
        return
    above = [(cell, table.put_into(cell.source)) for cell in cells[:answer] if cell.cell_type == "code"]
    defining = [(cell, own) for cell, own in above if own is not None]
    if not defining:
        raise UserError(
            f"the release has no cell above the table {name} that defines {table.table.function}(): make it anew with "
            "`autograder release DIR NAME`, from a source notebook of this version"
        )
    program, own = defining[-1]
    below = [
        nbformat.v4.new_markdown_cell(_BELOW.read(language), id=f"below-{name}"),
        nbformat.v4.new_code_cell(program.source, id=f"common-{name}", metadata=copy.deepcopy(program.metadata)),
    ]
    program.source = own
    cells[check + 1 : check + 1] = below
    cells.insert(cells.index(program), nbformat.v4.new_markdown_cell(_ABOVE.read(language), id=f"above-{name}"))
