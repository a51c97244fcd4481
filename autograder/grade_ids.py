"""Grade ids, also of cells whose metadata an editor has dropped.

VS Code and Colab keep no metadata in cells that a learner adds or pastes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from .bound_names import bound_names

_MOST_PARSED = 100_000  # characters of a notebook's nameless cells: Python's parser can take a second for so many


class CellKind(StrEnum):
    """The kinds of cells that a lesson names."""

    ANSWER = "answer"
    CHECK = "check"
    WRITTEN = "written"


class GradeId(str):
    """nbgrader's name of a cell, in a lesson for example `check-twice`."""

    __slots__ = ()

    @classmethod
    def of(cls, kind: CellKind, exercise: str) -> GradeId:
        return cls(f"{kind}-{exercise}")

    @property
    def kind(self) -> CellKind | None:
        """The kind of the cell. None if an instructor has named it in another way."""
        return next((kind for kind in CellKind if kind == self.partition("-")[0]), None)

    @property
    def exercise(self) -> str:
        return self.partition("-")[2]


def find_lost(cells: Sequence[tuple[str, str]], released: Mapping[str, str]) -> dict[int, str]:
    """Return a dict from position to grade id, for the cells that can be recognised by their source.

    `cells` holds grade id and source of each cell of a notebook, with an empty grade id for a cell without metadata.
    `released` maps grade ids to the sources of the released cells. A cell is recognised if its source is a released
    one, or if it binds all names that the released stub binds. Of several such cells the last is taken.
    """
    present = {name for name, _ in cells}
    missing = {name: source for name, source in released.items() if name not in present}
    nameless = {position: source for position, (name, source) in enumerate(cells) if not name and source.strip()}
    if not missing or not nameless:
        return {}
    same = {source.strip(): position for position, source in nameless.items()}
    bound, left = dict[int, set[str]](), _MOST_PARSED
    for place, source in nameless.items():
        left -= len(source)
        bound[place] = bound_names(source) if left >= 0 else set()
    found: dict[int, str] = {}
    for name, source in missing.items():
        position = same.get(source.strip())
        wanted = bound_names(source)
        if position is None and wanted:
            position = next((each for each in reversed(bound) if wanted <= bound[each]), None)
        if position is not None:
            found.setdefault(position, name)
    return found
