"""Rows of nbgrader's tables, through its models: many in one statement. One by one they take more time than judging."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nbgrader.api import Assignment, Grade, Notebook, new_uuid
from sqlalchemy import bindparam, func, insert, select, update


@dataclass(frozen=True)
class NotebookLayout:
    """A notebook: the names of its cells by their ids in the database, of those that have a grade and a comment."""

    id: str
    name: str
    graded: dict[str, str]
    commented: dict[str, str]


@dataclass(frozen=True)
class AssignmentLayout:
    """What an assignment consists of, and whether it is due at some time."""

    id: str
    due: bool
    notebooks: list[NotebookLayout]


def layout_of(db: Any, assignment: str) -> AssignmentLayout:
    """The layout of an assignment that the database `db` holds."""
    found = db.query(Assignment).filter(Assignment.name == assignment).one()
    return AssignmentLayout(found.id, found.duedate is not None, [_notebook(each) for each in found.notebooks])


def _notebook(notebook: Notebook) -> NotebookLayout:
    graded, commented, tasks = (
        {cell.id: cell.name for cell in cells}
        for cells in (notebook.grade_cells, notebook.solution_cells, notebook.task_cells)
    )
    return NotebookLayout(notebook.id, notebook.name, graded | tasks, commented | tasks)


class Rows:
    """Adds and changes rows in the transaction of a session."""

    def __init__(self, db: Any) -> None:
        self._db = db.connection()  # the session itself looks for changed objects with each statement
        self._added: set[str] = set()  # nothing is there yet that belongs to these

    def ensure(self, model: Any, **values: str) -> str:
        """The id of the row with these values, which is added if there is none."""
        looked_for = self._added.isdisjoint(values.values())
        found: str | None = self._db.scalar(_with(model, *values), values) if looked_for else None
        if found is None:
            found = values.get("id") or str(new_uuid())
            self._added.add(found)
            self._db.execute(_insert(model), [{"id": found, **values}])
        return found

    def change(self, model: Any, id: str, **values: Any) -> None:
        """Give a row other values."""
        self._db.execute(_update(model), [{"row": id, **values}])

    def of(self, model: Any, submitted: str, cells: Iterable[str]) -> dict[str, Any]:
        """By cell, the rows that one submitted notebook has. The index is by cell first."""
        if submitted in self._added:
            return {}
        found = self._db.execute(_of(model), {"cells": list(cells), "submitted": submitted})
        return {row.cell_id: row for row in found}

    def score(self, submitted: str, cells: Iterable[str]) -> float:
        """What one submitted notebook has earned in these cells. nbgrader's own sum looks through the whole class."""
        return float(self._db.scalar(_score(), {"cells": list(cells), "submitted": submitted}))

    def put(self, model: Any, submitted: str, there: Mapping[str, Any], rows: Mapping[str, dict[str, Any]]) -> None:
        """Values by cell for one submitted notebook: rows that are `there` are changed, the others added."""
        old = [{"row": there[cell].id, **values} for cell, values in rows.items() if cell in there]
        new = [
            {"cell_id": cell, "notebook_id": submitted, **values} for cell, values in rows.items() if cell not in there
        ]
        if old:
            self._db.execute(_update(model), old)
        if new:
            self._db.execute(_insert(model), new)


# Statements are made once: it takes as long as to run them.


@functools.cache
def _with(model: Any, *names: str) -> Any:
    return select(model.__table__.c.id).where(*(model.__table__.c[name] == bindparam(name) for name in names))


def _in_it(model: Any) -> tuple[Any, Any]:
    columns = model.__table__.c
    return columns.cell_id.in_(bindparam("cells", expanding=True)), columns.notebook_id == bindparam("submitted")


@functools.cache
def _of(model: Any) -> Any:
    return select(model.__table__).where(*_in_it(model))


@functools.cache
def _score() -> Any:
    return select(func.coalesce(func.sum(Grade.score), 0.0)).where(*_in_it(Grade))


@functools.cache
def _insert(model: Any) -> Any:
    return insert(model.__table__)


@functools.cache
def _update(model: Any) -> Any:
    return update(model.__table__).where(model.__table__.c.id == bindparam("row"))
