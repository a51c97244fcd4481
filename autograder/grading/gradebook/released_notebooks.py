"""Released notebooks, as the gradebook stores them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...checking.expected import Expected
from ...language import Note


@dataclass(frozen=True)
class Released:
    """A cell of a released notebook, as stored in the gradebook."""

    cell_type: str
    source: str
    checksum: str | None
    locked: bool
    points: float | None = None  # of a graded cell
    solution: bool = False
    task: bool = False

    def metadata(self, name: str) -> dict[str, Any]:
        """Return nbgrader's metadata of this cell. `name` is the cell's grade id."""
        kept = {
            "grade_id": name,
            "schema_version": 3,
            "grade": self.points is not None and not self.task,
            "solution": self.solution,
            "locked": self.locked,
            "task": self.task,
            "checksum": self.checksum,
            "cell_type": self.cell_type,
        }
        return kept if self.points is None else {**kept, "points": self.points}


ReleasedCells = Mapping[str, Released]  # by grade id


def released_cells(notebook: Any) -> ReleasedCells:
    """Return the cells of a student's notebook that grading restores."""
    found = {}
    for cell in notebook.cells:
        if ours := cell.metadata.get("nbgrader"):
            locked = ours.locked or (ours.grade and not ours.solution)
            found[ours.grade_id] = Released(
                cell.cell_type, cell.source, ours.get("checksum"), locked, ours.get("points"), ours.solution, ours.task
            )
    return found


CellOrder = tuple[tuple[str, str], ...]  # grade id and text of each cell; the text only where there is no grade id


@dataclass(frozen=True)
class ReleasedNotebook:
    """A notebook of an assignment, as students or one student got it.

    `kernel` is the notebook's kernelspec, or None. `order` holds all cells of the source notebook, in all languages. It
    is empty if they are unknown: the gradebook stores only cells with a grade id, and not their order.
    The other fields are empty if all students got the same. `expected` are results that are expected of this copy
    alone, by exercise. `foreign` are exercises of which the student has used another copy. `programs` are sources of
    cells that were handed out in place of common ones. `reasons` tell why an instructor should look at the copy.
    """

    cells: ReleasedCells
    kernel: dict[str, Any] | None
    order: CellOrder = ()
    expected: Mapping[str, Expected] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()
    reasons: tuple[Note, ...] = ()

    @property
    def numbers(self) -> Mapping[str, int]:
        """The numbers of the variants in it, by exercise. Empty if all students got the same."""
        return {}

    @property
    def points(self) -> dict[str, float]:
        """The maximum points of the graded cells, by grade id."""
        return {name: cell.points for name, cell in sorted(self.cells.items()) if cell.points is not None}

    def match(self, submitted: Mapping[str, Any]) -> ReleasedNotebook:
        """Return the release from which a submitted notebook is graded. `submitted` is the notebook's JSON."""
        return self


ReleasedNotebooks = Mapping[str, ReleasedNotebook]  # by released name: the file name without .ipynb
