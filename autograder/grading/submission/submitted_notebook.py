"""A submitted notebook beside the release from which it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...grade_ids import find_lost
from ..files.inert_names import one_line
from ..files.notebook_file import LARGEST_NOTEBOOK, load_file, without_padding
from ..files.submitted_cells import grade_id_of, origin_of, source_of
from ..gradebook.released_notebooks import ReleasedNotebook

_KINDS = ["code", "markdown", "raw"]


@dataclass(frozen=True)
class SubmittedFile:
    """The file of a submitted notebook, read once.

    `path` is relative to the submission's folder. `data` are the contents without the zero bytes at the end, of which
    there were `zeros`. The JSON is not kept with them: that of ten notebooks can take 2 GB of memory.
    """

    path: str
    data: bytes
    zeros: int = 0

    @classmethod
    def read(cls, folder: Path, path: str, largest: int = LARGEST_NOTEBOOK) -> SubmittedFile:
        """Read a file of the submission in `folder`.

        Raises Unreadable if it is not a regular file, or has more than `largest` bytes.
        """
        whole = load_file(folder / path, largest)
        data = without_padding(whole)
        return cls(path, data, len(whole) - len(data))


@dataclass(frozen=True)
class SubmittedNotebook:
    """A submitted notebook beside the release from which it was made.

    `raw` is the notebook's JSON in format 4.
    """

    raw: Mapping[str, Any]
    released: ReleasedNotebook

    @cached_property
    def cells(self) -> list[Mapping[str, Any]]:
        """The cells of a known type."""
        return [cell for cell in self.raw["cells"] if isinstance(cell, dict) and cell.get("cell_type") in _KINDS]

    @cached_property
    def sources(self) -> list[str]:
        """The source of each cell."""
        return [source_of(cell) for cell in self.cells]

    @cached_property
    def names(self) -> list[str]:
        """The grade id of each cell, or an empty text for a cell that has none.

        A released cell that has lost its metadata is recognised by its source.
        """
        names = [grade_id_of(cell) for cell in self.cells]
        known = {name: cell.source for name, cell in self.released.cells.items()}
        lost = find_lost(list(zip(names, self.sources)), known)
        return [lost.get(position, name) for position, name in enumerate(names)]

    @property
    def answers(self) -> dict[str, str]:
        """A dict from grade id to source, for the answer cells that differ from the release."""
        sources = dict(zip(self.names, self.sources))
        cells = self.released.cells.items()
        to_fill_in = {name: cell.source for name, cell in cells if (cell.solution or cell.task) and not cell.locked}
        there = sources.keys() & to_fill_in
        return {name: sources[name] for name in there if sources[name].strip() != to_fill_in[name].strip()}

    @property
    def is_of_release(self) -> bool:
        """Return whether the notebook was made from the release: it has at least half of the released cells."""
        return 2 * len(self._recognised) >= max(len(self.released.cells), 1)

    def other_assignment(self, assignment: str) -> str | None:
        """Return the name of another assignment from whose release the notebook was made, as it states itself.

        Returns None if the notebook has a cell of this `assignment`, or states nothing.
        """
        named = stated_assignment(self.raw)
        return named if named and named != one_line(assignment) and not self._recognised else None

    @property
    def _recognised(self) -> set[str]:
        return self.released.cells.keys() & self.names


def stated_assignment(notebook: Mapping[str, Any]) -> str | None:
    """Return the assignment from whose release a notebook was made, as it states itself, or None."""
    told = origin_of(notebook)
    named = told.get("assignment") or told.get("lesson")
    return one_line(named) if isinstance(named, str) and named else None
