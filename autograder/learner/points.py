"""Points of exercises in a learner's notebook.

An instructor can change the points in a notebook.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checking.exercise import Exercise
from .working_copy import Unreadable, read_notebook


@dataclass(frozen=True)
class LessonNotebook:
    """A notebook as JSON data, with its lesson's exercises.

    `exercises` is a dict from exercise name to exercise.
    """

    cells: list[dict[str, Any]]
    metadata: dict[str, Any]
    exercises: dict[str, Exercise]

    @property
    def by_grade_id(self) -> dict[str, dict[str, Any]]:
        """A dict from grade id to cell. Of two cells with the same grade id the last is taken, as nbgrader does."""
        named = {str(nbgrader_of(cell).get("grade_id", "")): cell for cell in self.cells}
        return {grade_id: cell for grade_id, cell in named.items() if grade_id}

    def counts(self, name: str) -> bool:
        """Return whether the points of exercise `name` count toward the grade.

        An instructor can make an extra exercise count.
        """
        return bool(self._check(name).get("grade", self.exercises[name].core))

    def worth(self, name: str) -> float:
        """Return the points that exercise `name` gives in this notebook."""
        points = self._check(name).get("points")
        return float(points) if isinstance(points, (int, float)) else self.exercises[name].points

    def total(self) -> float:
        """Return the sum of points of the exercises that count toward the grade."""
        return sum(self.worth(name) for name in self.exercises if self.counts(name))

    def _check(self, name: str) -> dict[str, Any]:
        """Return nbgrader's metadata of the check cell of exercise `name`, or an empty dict if there is none."""
        return nbgrader_of(self.by_grade_id.get(f"check-{name}", {"metadata": {}}))


def saved_notebook(exercises: dict[str, Exercise]) -> LessonNotebook:
    """Return this kernel's notebook as last saved.

    Returns a notebook without cells if the path is unknown or the file cannot be read.
    """
    try:
        path = this_notebook()
        cells = read_notebook(Path(path).expanduser().resolve())["cells"] if path else []
    except (Unreadable, ImportError):
        cells = []
    return LessonNotebook(cells, {}, exercises)


def this_notebook() -> str | None:
    """Return the path of this kernel's notebook, as VS Code or Jupyter's server tells it.

    Returns None if neither VS Code nor the server tells it.
    """
    from IPython import get_ipython

    shell = get_ipython()
    told = shell.user_ns.get("__vsc_ipynb_file__") if shell else None
    told = told or os.environ.get("JPY_SESSION_NAME", "")
    return str(told) if str(told).endswith(".ipynb") else None


def nbgrader_of(cell: dict[str, Any]) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell, or an empty dict if there is none."""
    ours = cell["metadata"].get("nbgrader")
    return ours if isinstance(ours, dict) else {}
