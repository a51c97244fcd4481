"""Places of free answers, and of cells that a student deleted."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..gradebook.released_notebooks import CellOrder, Released
from .submitted_notebook import SubmittedNotebook

_COMPARED = 500  # characters of a text
_ALIKE = 0.7  # a text of an older release, after a few words have changed


class Places:
    """The places of the released cells in a submitted notebook.

    `names` are the grade ids of the submitted cells, empty for cells without one. `order` are all cells as released.
    """

    def __init__(self, sources: Sequence[str], names: Sequence[str], order: CellOrder) -> None:
        self._order = order
        self._prose = {text for name, text in order if not name}
        self._texts = [source.strip() for source in sources]
        self._named = {name: position for position, name in enumerate(names) if name}
        self._unnamed = {text: place for place, (text, name) in enumerate(zip(self._texts, names)) if text and not name}
        self._names = names

    def before(self, name: str) -> int:
        """Return the position of the cell behind which the deleted cell `name` belongs. It is -1 for the beginning."""
        above = list(self._order)
        known = [each for each, _ in above]
        for other, text in reversed(above[: known.index(name)] if name in known else above):
            place = self._named.get(other) if other else self._unnamed.get(text)
            if place is not None:
                return place
        return -1 if name in known else len(self._texts) - 1

    def texts_below(self, position: int, cells: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the positions of the student's own texts between a cell and the next released one."""
        return list(self._own(range(position + 1, len(cells)), cells))

    def texts_above(self, position: int, cells: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the positions of the student's own texts between a cell and the released one above it."""
        return list(self._own(range(position - 1, -1, -1), cells))

    def _own(self, positions: range, cells: Sequence[Mapping[str, Any]]) -> Iterator[int]:
        for place in positions:
            if self._names[place] or self._is_prose(self._texts[place]):
                return
            if cells[place].get("cell_type") != "code" and self._texts[place]:
                yield place

    def _is_prose(self, text: str) -> bool:
        if text in self._prose:
            return True
        released = [each[:_COMPARED] for each in self._prose]
        return bool(text) and bool(difflib.get_close_matches(text[:_COMPARED], released, 1, _ALIKE))


def find_written(notebook: SubmittedNotebook) -> dict[str, int]:
    """Return the positions of free answers that their own cells do not hold, by grade id.

    Such a cell is missing or untouched, and the student's text stands where it was, below it or above it. Of several
    texts the last one is taken. If the order of the released cells is unknown, nothing is found.
    """
    cells, names, order = notebook.cells, notebook.names, notebook.released.order
    if not order:
        return {}
    places, found = Places(notebook.sources, names, order), dict[str, int]()
    for name, known in notebook.released.cells.items():
        if not _is_written(known):
            continue
        there = [position for position, each in enumerate(names) if each == name]
        if not there:
            texts = places.texts_below(places.before(name), cells)
        elif notebook.sources[there[-1]].strip() == known.source.strip():
            texts = places.texts_below(there[-1], cells) or places.texts_above(there[-1], cells)
        else:
            continue
        if texts:
            found[name] = max(texts)
    return found


def _is_written(cell: Released) -> bool:
    """Return whether a released cell takes a free answer, which a person grades."""
    return cell.solution and cell.points is not None and not cell.locked and cell.cell_type != "code"
