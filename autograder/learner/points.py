"""Points of exercises according to the learner's own notebook."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checking.exercise import Exercise
from .working_copy import Unreadable, read_notebook


@dataclass(frozen=True)
class LessonNotebook:
    """A notebook as JSON data, with its lesson's exercises by name."""

    cells: list[dict[str, Any]]
    metadata: dict[str, Any]
    exercises: dict[str, Exercise]

    @property
    def by_grade_id(self) -> dict[str, dict[str, Any]]:
        """Cells by grade id. Of duplicates the last counts, as in nbgrader."""
        named = {str(nbgrader_of(cell).get("grade_id", "")): cell for cell in self.cells}
        return {grade_id: cell for grade_id, cell in named.items() if grade_id}

    def counts(self, name: str) -> bool:
        """Return whether an exercise counts toward the grade. An instructor may make an extra count."""
        return bool(self._check(name).get("grade", self.exercises[name].core))

    def worth(self, name: str) -> float:
        """Return the points of an exercise in this notebook, which an instructor may have changed."""
        points = self._check(name).get("points")
        return float(points) if isinstance(points, (int, float)) else self.exercises[name].points

    def total(self) -> float:
        """Return the points of all exercises that count."""
        return sum(self.worth(name) for name in self.exercises if self.counts(name))

    def _check(self, name: str) -> dict[str, Any]:
        """Return nbgrader's metadata of an exercise's check cell, or an empty dict if there is none."""
        return nbgrader_of(self.by_grade_id.get(f"check-{name}", {"metadata": {}}))


def saved_notebook(exercises: dict[str, Exercise]) -> LessonNotebook:
    """Return this kernel's notebook as saved. It has no cells if its path is unknown or it cannot be read."""
    try:
        path = this_notebook()
        cells = read_notebook(Path(path).expanduser().resolve())["cells"] if path else []
    except (Unreadable, ImportError):
        cells = []
    return LessonNotebook(cells, {}, exercises)


def this_notebook() -> str | None:
    """Return the path of this kernel's notebook if VS Code or Jupyter's server provides it, else None."""
    from IPython import get_ipython

    shell = get_ipython()
    told = shell.user_ns.get("__vsc_ipynb_file__") if shell else None
    told = told or os.environ.get("JPY_SESSION_NAME", "")
    return str(told) if str(told).endswith(".ipynb") else None


def nbgrader_of(cell: dict[str, Any]) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell."""
    ours = cell["metadata"].get("nbgrader")
    return ours if isinstance(ours, dict) else {}
