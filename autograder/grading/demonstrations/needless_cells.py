"""Released cells of a submission that need not be run.

Such a cell shares no object with a cell of the student's, reads nothing that depends on one, and changes no setting.
Its outputs are those of the rehearsal. In lesson 03 these are 13 of 41 cells, and a quarter of the processor time.

The idea of a slice, which keeps only what a criterion needs: Weiser, "Program Slicing", 1981.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from .cell_names import CellNames

# Calls that change a setting, or the state of a random generator.
_SETS = re.compile(r"(set_|register_|enable|disable|reset|use|seed|manual_seed|simplefilter|filterwarnings|start$)\w*")


_MOST_CELLS = 500  # of a submission: the work can grow with their square
Outputs = list[dict[str, Any]]  # of a cell, in nbformat's form


@dataclass(frozen=True)
class RehearsedCell:
    """A released cell, as it ran in the rehearsal.

    `quiet` tells whether the run left files and settings as they were, and wrote no error.
    """

    source: str
    outputs: Outputs
    quiet: bool


@dataclass
class _Cell:
    """A cell of a submission, with links to other cells.

    `shared` are the places of cells with objects that both use. `used` are the places of cells whose functions and
    modules this one uses.
    """

    names: CellNames
    shared: set[int] = field(default_factory=set)
    used: set[int] = field(default_factory=set)


class Demonstrations:
    """The rehearsed cells of a lesson's notebooks, one notebook for each language.

    `paths` are the names that released cells bind to other people's objects.
    """

    def __init__(self, notebooks: Iterable[Sequence[RehearsedCell]], paths: Mapping[str, str]) -> None:
        self._notebooks = [{cell.source: cell for cell in cells} for cells in notebooks]
        self._names: dict[str, CellNames | None] = {}
        self._quiet: set[str] = set()
        for cell in chain(*(cells.values() for cells in self._notebooks)):
            self._names[cell.source] = _names_of(cell.source)
            if cell.quiet and not _sets(cell.source, paths):
                self._quiet.add(cell.source)

    def __contains__(self, source: str) -> bool:
        return source in self._names

    def needless(self, sources: Sequence[str], locked: Set[int], asked: Set[str]) -> Mapping[str, Outputs]:
        """Return the outputs of the cells that need not be run, by source.

        `sources` are a submission's code cells, `locked` the places of its checks and tests, and `asked` the names
        that a student defines. The result is empty if any cell may use names that its source does not tell, if
        released cells were moved, or if there are more than `_MOST_CELLS`.
        """
        cells = self._cells_of(sources)
        left = [source for place, source in enumerate(sources) if place not in locked and source in cells]
        if not cells or len(sources) > _MOST_CELLS or left != [source for source in cells if source in set(left)]:
            return {}
        gone = {source for source in cells if source not in set(left)}
        changed = self._needed([*cells], gone, set(), asked)  # what would show something else than in the rehearsal
        needed = self._needed(sources, set(sources) - set(left), changed, asked)
        return {source: cells[source].outputs for source in left if source not in needed}

    def _needed(self, sources: Sequence[str], own: Set[str], others: Set[str], asked: Set[str]) -> set[str]:
        """Return the sources of the cells that must be run: those of the student, `others`, and what they need."""
        found = [self._names[source] if source in self._names else _names_of(source) for source in sources]
        names = [each for each in found if each and not each.dynamic]
        if len(names) < len(sources):
            return {*sources}
        mine = {place for place, source in enumerate(sources) if source in own or names[place].bound & asked}
        loud = {place for place, source in enumerate(sources) if source not in self._quiet or source in others}
        return {sources[place] for place in _must_run(names, mine, loud)}

    def _cells_of(self, sources: Sequence[str]) -> Mapping[str, RehearsedCell]:
        """Return the rehearsed cells of the notebook that a submission was made from.

        Its first cell sets the language, in which cells show their outputs.
        """
        return next((cells for cells in self._notebooks if next(iter(cells), None) in sources), {})


def _names_of(source: str) -> CellNames | None:
    """Return the names of a cell, or None if they cannot be told."""
    try:
        return CellNames.of(source)
    except (RecursionError, MemoryError, SyntaxError, ValueError):
        return None


def _sets(source: str, paths: Mapping[str, str]) -> bool:
    """Return whether a released cell calls what may change a setting or the state of a random generator.

    `paths` are the names of other people's objects. A cell that is not plain Python may call anything.
    """
    try:
        calls = [ast.unparse(each.func) for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Call)]
    except SyntaxError:
        return True
    return any(each.partition(".")[0] in paths and _SETS.fullmatch(each.rpartition(".")[2]) for each in calls)


def _linked(names: Sequence[CellNames], uncertain: Set[int]) -> list[_Cell]:
    """Link each cell with the cells from which it has names.

    An error may end the cells `uncertain` before they have bound their names.
    """
    cells = [_Cell(each) for each in names]
    binding: dict[str, set[int]] = {}
    for place, each in enumerate(names):
        for name in each.bound:
            binding.setdefault(name, set()).add(place)
    changed = set().union(*(each.changed for each in names))
    reaching: dict[str, set[int]] = {}
    for place, each in enumerate(names):
        for name in each.early:
            _link(cells, place, name, reaching.get(name, set()), name in changed)
        for name in each.late:
            _link(cells, place, name, binding.get(name, set()), name in changed)
        for name in each.bound:
            before = reaching.get(name, set())
            again = _import_the_same(name, [each, *(names[source] for source in before)])
            surely = name in each.always and place not in uncertain and not again
            reaching[name] = {place} | (set() if surely else before)
    return cells


def _link(cells: list[_Cell], place: int, name: str, sources: Set[int], changed: bool) -> None:
    fixed = not changed and all(name in cells[each].names.fixed for each in sources)
    if fixed and _import_the_same(name, [cells[each].names for each in sources]):
        sources = {min(sources, default=place)}  # students import again what a released cell has imported
    for source in sources - {place}:
        if fixed:
            cells[place].used.add(source)
        else:
            cells[place].shared.add(source)
            cells[source].shared.add(place)


def _import_the_same(name: str, cells: Sequence[CellNames]) -> bool:
    return len({each.imported.get(name) for each in cells}) == 1 and cells[0].imported.get(name) is not None


def _must_run(names: Sequence[CellNames], own: Set[int], loud: Set[int]) -> set[int]:
    """Return the places of the cells that must be run.

    `own` are the student's cells: what shares an object with them, or uses their functions, depends on them. `loud`
    are cells with effects outside of the names.
    """
    uncertain, dependent = own | loud, set[int]()
    while True:
        cells = _linked(names, uncertain | dependent)
        users: dict[int, set[int]] = {}
        for place, cell in enumerate(cells):
            for each in cell.used:
                users.setdefault(each, set()).add(place)
        found = _reached(own, lambda place: cells[place].shared | users.get(place, set()))  # noqa: B023
        if found <= dependent:
            return _reached(found | loud, lambda place: cells[place].shared | cells[place].used)  # noqa: B023
        dependent |= found


def _reached(places: Set[int], following: Any) -> set[int]:
    found, waiting = set(places), [*places]
    while waiting:
        new = following(waiting.pop()) - found
        found |= new
        waiting += new
    return found
