"""An exercise out of its lesson: statement, stub and needed definitions."""

from __future__ import annotations

import ast
import re
import symtable
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...checking.exercise import Exercise
from ...grade_ids import CellKind, GradeId
from ...lessons.source import NOTEBOOKS, STUB
from ..notebooks.headings import find_heading, link_to, title_of
from ..notebooks.notebook_file import grade_id_of, read_notebook, source_of

_BASE = {*sys.stdlib_module_names, "autograder", "numpy", "torch"}


@dataclass(frozen=True)
class Statement:
    """An exercise as a review shows it.

    `text` is Markdown, `cell` the code of a new cell for the answer, `lesson` a link to the exercise in its lesson.
    """

    text: str
    cell: str
    lesson: str


def state(exercise: Exercise, language: str) -> Statement:
    """Return the statement of an exercise, from the notebook of its lesson as built.

    A private lesson has no built notebook here. Its statement is only the title.
    Raises Unreadable if the notebook is damaged.
    """
    path = next((NOTEBOOKS / language).glob(f"[0-9][0-9]_{exercise.lesson}.ipynb"), None)
    notebook = read_notebook(path) if path else {"cells": []}
    cells = notebook["cells"]
    answer_at = GradeId.of(CellKind.ANSWER, exercise.name)
    answer = next((number for number, cell in enumerate(cells) if grade_id_of(cell) == answer_at), None)
    heading = find_heading(cells, exercise.name)
    check = f'from autograder import check\n\ncheck("{exercise.name}")'
    if path is None or answer is None or heading is None:
        return Statement("", f"{STUB.splitlines()[0]}\n\n{check}", exercise.lesson)
    number, title = heading
    below = [source_of(cells[number])[title.end() :].strip()]
    below += [source_of(cell) for cell in cells[number + 1 : answer] if cell["cell_type"] == "markdown"]
    text, stub = "\n\n".join(below), source_of(cells[answer])
    needed = _needed([*_code(cells[:answer])], text, stub)
    lesson = link_to(cells, path.name, exercise.name, title_of(path, notebook))
    return Statement(text, "\n\n\n".join(filter(None, [*needed, stub, check])), lesson)


def _code(cells: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the sources of a lesson's code cells, without answers and checks."""
    for cell in cells:
        if cell["cell_type"] == "code" and not grade_id_of(cell):
            yield source_of(cell)


def _needed(sources: list[str], text: str, stub: str) -> Iterator[str]:
    """Yield the imports of a lesson, and what an answer relies on, as far as the sources above define it.

    These are the functions and classes that the text or the stub names, all that they use themselves, and constants.
    """
    named, used = {name for code in re.findall(r"`([^`]+)`", text) for name in re.findall(r"\w+", code)}, _uses(stub)
    imports, definitions = list[str](), list[str]()
    for source, statement in reversed([*_statements(sources)]):
        above = min(each.lineno for each in [statement, *getattr(statement, "decorator_list", [])])
        code = "\n".join(source.splitlines()[above - 1 : statement.end_lineno])
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            imports += [code] if _is_for_answers(statement) else []
        elif _defines(statement) & (named | used) or _assigns(statement) & used or _is_constant(statement):
            named -= _defines(statement)
            used = used - _defines(statement) - _assigns(statement) | _uses(code)
            definitions.append(code)
    yield "\n".join(dict.fromkeys(reversed(imports)))
    yield "\n\n\n".join(reversed(definitions))


def _statements(sources: list[str]) -> Iterator[tuple[str, ast.stmt]]:
    for source in sources:
        try:
            yield from ((source, statement) for statement in ast.parse(source).body)
        except SyntaxError:  # a magic command
            continue


def _is_for_answers(statement: ast.Import | ast.ImportFrom) -> bool:
    """Return whether an import is of the base installation, and no command of the notebook."""
    module = (statement.module if isinstance(statement, ast.ImportFrom) else statement.names[0].name) or ""
    return module.partition(".")[0] in _BASE and module != "autograder"


def _defines(statement: ast.stmt) -> set[str]:
    return {statement.name} if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else set()


def _assigns(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _is_constant(statement: ast.stmt) -> bool:
    return any(name.isupper() and len(name) > 1 for name in _assigns(statement))


def _uses(code: str) -> set[str]:
    """Return the names that code looks up outside of its functions."""
    found, waiting = set[str](), [symtable.symtable(code, "cell", "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        is_module = table.get_type() == "module"
        found |= {
            each.get_name() for each in table.get_symbols() if each.is_referenced() and (is_module or each.is_global())
        }
    return found
