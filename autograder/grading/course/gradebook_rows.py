"""Fast access to rows of the tables in nbgrader's database.

Accessing the rows one by one takes more time than judging a submission.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nbgrader.api import Assignment, Grade, Notebook, new_uuid
from sqlalchemy import bindparam, func, insert, select, update


@dataclass(frozen=True)
class NotebookLayout:
    """The cells of a released notebook, by database id.

    `graded` holds the grade ids of graded cells, `commented` those of cells that nbgrader comments on.
    """

    id: str
    name: str
    graded: dict[str, str]
    commented: dict[str, str]


@dataclass(frozen=True)
class AssignmentLayout:
    """The layout of an assignment's notebooks.

    `due` tells whether the assignment has a due date.
    """

    id: str
    due: bool
    notebooks: list[NotebookLayout]


def layout_of(db: Any, assignment: str) -> AssignmentLayout:
    """Return the layout of an assignment. `db` is the gradebook's SQLAlchemy session."""
    found = db.query(Assignment).filter(Assignment.name == assignment).one()
    return AssignmentLayout(found.id, found.duedate is not None, [_notebook(each) for each in found.notebooks])


def _notebook(notebook: Notebook) -> NotebookLayout:
    graded, commented, tasks = (
        {cell.id: cell.name for cell in cells}
        for cells in (notebook.grade_cells, notebook.solution_cells, notebook.task_cells)
    )
    return NotebookLayout(notebook.id, notebook.name, graded | tasks, commented | tasks)


class Rows:
    """A reader and writer of table rows in the current transaction.

    `db` is the gradebook's SQLAlchemy session. `model` is always one of nbgrader's table classes.
    """

    def __init__(self, db: Any) -> None:
        self._db = db.connection()  # the session itself searches for changed objects before each statement
        self._added: set[str] = set()  # ids of rows added in this transaction: no other row refers to them yet

    def ensure(self, model: Any, **values: str) -> str:
        """Return the id of the row with these column values. Adds the row if there is none."""
        looked_for = self._added.isdisjoint(values.values())
        found: str | None = self._db.scalar(_with(model, *values), values) if looked_for else None
        if found is None:
            found = values.get("id") or str(new_uuid())
            self._added.add(found)
            self._db.execute(_insert(model), [{"id": found, **values}])
        return found

    def change(self, model: Any, id: str, **values: Any) -> None:
        """Change column values of the row with the id `id`."""
        self._db.execute(_update(model), [{"row": id, **values}])

    def of(self, model: Any, submitted: str, cells: Iterable[str]) -> dict[str, Any]:
        """Return the rows that belong to one submitted notebook, by the cell's database id.

        `submitted` is the database id of the notebook. `cells` must be given because the database index starts with the
        cell.
        """
        if submitted in self._added:
            return {}
        found = self._db.execute(_of(model), {"cells": list(cells), "submitted": submitted})
        return {row.cell_id: row for row in found}

    def score(self, submitted: str, cells: Iterable[str]) -> float:
        """Return the sum of the scores of `cells` in one submitted notebook. Both are given by database id.

        nbgrader's own sum reads the rows of the whole class.
        """
        return float(self._db.scalar(_score(), {"cells": list(cells), "submitted": submitted}))

    def put(self, model: Any, submitted: str, there: Mapping[str, Any], rows: Mapping[str, dict[str, Any]]) -> None:
        """Write column values for cells of one submitted notebook.

        `submitted` is the notebook's database id. `rows` holds the values by the cell's database id. Rows that are in
        `there` are updated, the others are inserted.
        """
        old = [{"row": there[cell].id, **values} for cell, values in rows.items() if cell in there]
        new = [
            {"cell_id": cell, "notebook_id": submitted, **values} for cell, values in rows.items() if cell not in there
        ]
        if old:
            self._db.execute(_update(model), old)
        if new:
            self._db.execute(_insert(model), new)


# Statements are cached: building one takes as long as executing it.


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
