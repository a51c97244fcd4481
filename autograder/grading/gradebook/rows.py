"""Fast access to rows of the tables in nbgrader's database.

nbgrader's own objects load the rows one by one. That takes longer than checking a submission.
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
    """The cells of a released notebook, with database ids.

    `graded` and `commented` map database ids of cells to grade ids. `graded` holds the graded cells, `commented` the
    cells that nbgrader comments on. `id` is the notebook's database id.
    """

    id: str
    name: str
    graded: dict[str, str]
    commented: dict[str, str]


@dataclass(frozen=True)
class AssignmentLayout:
    """An assignment's notebooks with their cells, and database ids.

    `due` tells whether the assignment has a due date.
    """

    id: str
    due: bool
    notebooks: list[NotebookLayout]


def layout_of(db: Any, assignment: str) -> AssignmentLayout:
    """Return an assignment's notebooks with their cells, and database ids.

    `db` is the gradebook's SQLAlchemy session.
    """
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

    `db` is the gradebook's SQLAlchemy session. In the methods, `model` is one of nbgrader's table classes.
    """

    def __init__(self, db: Any) -> None:
        self._db = db.connection()  # the session itself searches for changed objects before each statement
        self._added: set[str] = set()  # ids of rows added in this transaction: no other row refers to them yet

    def ensure(self, model: Any, **values: str) -> str:
        """Return the id of the row of `model` with these column values. Adds the row if it is missing."""
        looked_for = self._added.isdisjoint(values.values())
        found: str | None = self._db.scalar(_with(model, *values), values) if looked_for else None
        if found is None:
            found = values.get("id") or str(new_uuid())
            self._added.add(found)
            self._db.execute(_insert(model), [{"id": found, **values}])
        return found

    def change(self, model: Any, id: str, **values: Any) -> None:
        """Change column values of the row of `model` with the database id `id`."""
        self._db.execute(_update(model), [{"row": id, **values}])

    def of(self, model: Any, submitted: str, cells: Iterable[str]) -> dict[str, Any]:
        """Return a dict from a cell's database id to its row of `model`, for one submitted notebook.

        `submitted` is the database id of the notebook. `cells` are database ids of cells. They are needed for speed:
        the database index starts with the cell.
        """
        if submitted in self._added:
            return {}
        found = self._db.execute(_of(model), {"cells": list(cells), "submitted": submitted})
        return {row.cell_id: row for row in found}

    def score(self, submitted: str, cells: Iterable[str]) -> float:
        """Return the sum of the scores of `cells` in one submitted notebook.

        `submitted` is the notebook's database id. `cells` are the cells' database ids. nbgrader's own sum would read
        the rows of the whole class.
        """
        return float(self._db.scalar(_score(), {"cells": list(cells), "submitted": submitted}))

    def put(self, model: Any, submitted: str, there: Mapping[str, Any], rows: Mapping[str, dict[str, Any]]) -> None:
        """Write column values for cells of one submitted notebook.

        `submitted` is the notebook's database id. `rows` maps a cell's database id to column values. `there` maps the
        same ids to the existing rows, which are updated. For all other cells rows are inserted.
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
