"""Released cells of a submission that nothing graded needs.

Such a cell shares no object with a student's cell or a check, binds nothing that they read, and changes no setting. It
may use a student's functions.

The idea of a slice, which keeps only what a criterion needs: Weiser, "Program Slicing", 1981.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from .cell_names import CellNames

# Calls that change a setting, or the state of a random generator.
_SETS = re.compile(r"(set_|register_|enable|disable|reset|use|seed|manual_seed|start$)\w*")
_MOST_CELLS = 500  # of a submission: the work can grow with their square


class RehearsedCell(NamedTuple):
    """A released cell, as it ran in the rehearsal.

    `quiet` tells whether the run left files and settings as they were, and wrote no error.
    """

    source: str
    quiet: bool


@dataclass
class _Cell:
    """A submission's cell, with links to the places of others.

    `shared` are cells with objects that both use, `used` those whose functions and modules this one uses, and `users`
    those that use this one's. `has_state` tells whether its functions may change objects that they are not given.
    """

    names: CellNames
    shared: set[int] = field(default_factory=set)
    used: set[int] = field(default_factory=set)
    users: set[int] = field(default_factory=set)
    has_state: bool = False


class Demonstrations:
    """The rehearsed cells of a lesson's notebooks.

    `paths` are the names that released cells bind to other people's objects.
    """

    def __init__(self, rehearsed: Iterable[RehearsedCell], paths: Mapping[str, str]) -> None:
        cells = [*rehearsed]
        self._names = {cell.source: CellNames.of(cell.source, is_released=True) for cell in cells}
        self._quiet = {cell.source for cell in cells if cell.quiet and not _sets(cell.source, paths)}

    def __contains__(self, source: str) -> bool:
        return source in self._names

    def needless(self, sources: Sequence[str], locked: Set[int], asked: Set[str]) -> list[int]:
        """Return the places of the cells that need not be run.

        `sources` are a submission's code cells, `locked` the places of its checks and tests, and `asked` the names
        that a student defines. There are none if any cell may use names that its source does not tell, or if there are
        more than `_MOST_CELLS` cells.
        """
        if len(sources) > _MOST_CELLS:
            return []
        names = [self._names[source] if source in self._names else CellNames.of(source) for source in sources]
        if any(each.dynamic for each in names):
            return []
        roots = {
            place
            for place, source in enumerate(sources)
            if place in locked or source not in self._quiet or names[place].bound & asked
        }
        return sorted({*range(len(sources))} - _needed(names, roots))


def _sets(source: str, paths: Mapping[str, str]) -> bool:
    """Return whether a released cell calls what may change a setting or the state of a random generator.

    `paths` are the names of other people's objects. A call of an object that the cell has just made, such as
    `torch.Generator().manual_seed(0)`, sets nothing else. A cell that is not plain Python may call anything.
    """
    try:
        calls = [ast.unparse(each.func) for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Call)]
    except SyntaxError:
        return True
    named = (each.split(".") for each in calls if "(" not in each)
    return any(top in paths and _SETS.fullmatch(end) for top, *_, end in ([each[0], *each] for each in named))


def _needed(names: Sequence[CellNames], roots: Set[int]) -> set[int]:
    """Return the places of `roots` and of the cells that they need."""
    uncertain = set(roots)
    while True:
        cells = _linked(names, uncertain)
        dependent = _reached(roots, lambda cell: cell.shared | cell.users, cells)
        if dependent <= uncertain:  # a cell that runs a student's code may end before it has bound its names
            break
        uncertain |= dependent
    return _reached(roots, lambda cell: cell.shared | cell.used | (cell.users if cell.has_state else set()), cells)


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
        for name in each.late & binding.keys():
            cells[place].has_state |= not _link(cells, place, name, binding[name], name in changed)
        for name in each.bound:
            before = reaching.get(name, set())
            again = _import_the_same(name, [each, *(names[source] for source in before)])
            surely = name in each.always and place not in uncertain and not again
            reaching[name] = {place} | (set() if surely else before)
    with_state = {place for place, cell in enumerate(cells) if cell.has_state}
    for place in _reached(with_state, lambda cell: cell.users, cells):
        cells[place].has_state = True
    return cells


def _link(cells: list[_Cell], place: int, name: str, sources: Set[int], changed: bool) -> bool:
    """Link a cell with those that bind a name which it reads.

    Returns whether the name stands for what has no state.
    """
    fixed = not changed and all(name in cells[each].names.fixed for each in sources)
    if fixed and _import_the_same(name, [cells[each].names for each in sources]):
        sources = {min(sources, default=place)}  # students import again what a released cell has imported
    for source in sources - {place}:
        if fixed:
            cells[place].used.add(source)
            cells[source].users.add(place)
        else:
            cells[place].shared.add(source)
            cells[source].shared.add(place)
    return fixed


def _import_the_same(name: str, cells: Sequence[CellNames]) -> bool:
    return len({each.imported.get(name) for each in cells}) == 1 and cells[0].imported.get(name) is not None


def _reached(places: Set[int], following: Callable[[_Cell], set[int]], cells: Sequence[_Cell]) -> set[int]:
    found, waiting = set(places), [*places]
    while waiting:
        new = following(cells[waiting.pop()]) - found
        found |= new
        waiting += new
    return found
