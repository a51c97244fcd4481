"""Tables of predictions that are about another program for each student.

The rule `variants = "per student"` asks for them. A student's variant of a table has a number, which derives from the
course's secret and the student's id.
"""

from __future__ import annotations

import ast
import hashlib
import hmac
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from nbformat.notebooknode import NotebookNode
from nbgrader.utils import compute_checksum

from ... import exercises
from ...checking.exercise import Exercise, seed_of_variant
from ...checking.expected import Expected, expect
from ...grade_ids import CellKind, GradeId
from ...lessons.source import CHECK, lesson_source
from ...lessons.variants import VariantTable, draw_table, variants_of
from ..gradebook.released_notebooks import Released, ReleasedCells, ReleasedNotebooks
from .hidden_cases import lesson_of, read_secret

_LARGEST = 999_999  # a number that is short to read, and so large that two students hardly ever share one


@dataclass(frozen=True)
class OwnTable:
    """A variant of a table of predictions, as one student gets it.

    `expected` is what the right table and those of mistakes show.
    """

    exercise: Exercise
    number: int
    table: VariantTable
    expected: Expected

    @property
    def stub(self) -> str:
        """The code of the unfinished table."""
        return self.table.stub(self.exercise.asks)

    def put_into(self, source: str) -> str | None:
        """Return the source of the common program's cell, with this program in its place. Other code stays.

        Returns None if `source` does not define the program's function.
        """
        try:
            body = ast.parse(source).body
        except SyntaxError:  # a magic command
            return None
        function = self.table.function
        for each in body:
            if isinstance(each, ast.FunctionDef) and each.name == function:
                lines = source.splitlines()
                lines[each.lineno - 1 : each.end_lineno] = self.table.program.splitlines()
                return "\n".join(lines)
        return None

    def checked_in(self, source: str) -> str:
        """Return the source of the table's check cell. `source` is that of the common notebook."""
        return CHECK.sub(f'check("{self.exercise.name}", personal={self.number})', source)


@dataclass(frozen=True)
class PersonalTables:
    """The tables of one assignment that differ from student to student.

    `key` derives from the course's secret. `lessons` has a dict for each notebook, by released name. It maps the
    exercise of a table to its lesson. `teams` maps students to their team.
    """

    key: str
    lessons: Mapping[str, Mapping[str, str]]
    teams: Mapping[str, str]

    @classmethod
    def of(cls, course: Path, notebooks: ReleasedNotebooks, teams: Mapping[str, str]) -> PersonalTables:
        """Return the tables in the released `notebooks`. `course` is the course folder.

        Raises UserError with the remedy if the secret is missing or too short.
        """
        key = hmac.new(read_secret(course).encode(), b"personal tables", hashlib.sha256).hexdigest()
        lessons = {
            name: {
                exercise: each.lesson
                for exercise, each in tables_with_variants(course, name).items()
                if GradeId.of(CellKind.CHECK, exercise) in notebook.cells
            }
            for name, notebook in notebooks.items()
        }
        return cls(key, lessons, teams)

    def number(self, student: str, exercise: str) -> int:
        """Return the number of a student's variant, from 1. Nobody without the course's secret can compute it."""
        found = hmac.new(self.key.encode(), f"{exercise} {student}".encode(), hashlib.sha256).digest()
        return 1 + int.from_bytes(found[:8]) % _LARGEST

    def numbers(self, student: str, notebook: str) -> dict[str, int]:
        """Return a dict from exercise to the number of a student's variant. `notebook` is a released name."""
        return {exercise: self.number(student, exercise) for exercise in self.lessons.get(notebook, {})}

    def draw(self, student: str, notebook: str) -> dict[str, OwnTable]:
        """Return a dict from exercise name to a student's tables in one notebook. `notebook` is its released name.

        Raises BrokenSource if a program cannot be run.
        """
        lessons = self.lessons.get(notebook, {})
        return {name: _draw(lessons[name], name, number) for name, number in self.numbers(student, notebook).items()}

    def holder(self, student: str, made_for: str) -> str:
        """Return the student whose tables count for `student`: a team hands in the copy of one member.

        `made_for` is the student for whom the copy was made, as the copy itself says.
        """
        team = self.teams.get(student)
        return made_for if team and team == self.teams.get(made_for) else student


def tables_with_variants(course: Path, notebook: str) -> dict[str, Exercise]:
    """Return a dict from name to exercise, for the tables in a notebook of which there are variants.

    `course` is the course folder, `notebook` a released name. Lessons of an instructor's own have no variants.
    """
    lesson = lesson_of(course, notebook)
    if lesson is None or lesson_source(lesson[0].name) is None or lesson[0].path.is_relative_to(course / "lessons"):
        return {}
    return {name: each for name, each in lesson[1].items() if variants_of(each).programs}


def own_source(name: GradeId, source: str, tables: Mapping[str, OwnTable]) -> str:
    """Return the source of a cell in a student's own copy. `name` and `source` are those of the common notebook."""
    table = tables.get(name.exercise)
    if table and name.kind is CellKind.ANSWER:
        return table.stub
    return table.checked_in(source) if table and name.kind is CellKind.CHECK else source


def own_cells(cells: ReleasedCells, tables: Mapping[str, OwnTable]) -> ReleasedCells:
    """Return the cells of a student's own copy. `cells` are those of the common notebook."""
    return {name: _own_cell(name, cell, own_source(GradeId(name), cell.source, tables)) for name, cell in cells.items()}


def _own_cell(name: str, cell: Released, source: str) -> Released:
    if source == cell.source:
        return cell
    ours = NotebookNode(nbgrader=NotebookNode(cell.metadata(name)))
    checksum = compute_checksum(NotebookNode(cell_type=cell.cell_type, metadata=ours, source=source))
    return replace(cell, source=source, checksum=checksum)


_drawing = threading.Lock()  # output is captured meanwhile, in the whole process


@cache
def _draw_once(lesson: str, name: str, number: int) -> OwnTable:
    exercise = exercises.find(name, lesson)
    table = draw_table(exercise, number)
    if table is None:
        raise LookupError(f"{lesson}.{name} has no variants here: install the same version of the course")
    return OwnTable(exercise, number, table, expect(exercise, table.right, table.mistaken, seed_of_variant(number)))


def _draw(lesson: str, name: str, number: int) -> OwnTable:
    with _drawing:
        return _draw_once(lesson, name, number)
