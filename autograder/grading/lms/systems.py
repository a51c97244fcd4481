"""The known learning management systems (LMS)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from ...errors import UserError
from ..tables.csv_text import read_csv
from .blackboard import Blackboard
from .brightspace import Brightspace
from .canvas import Canvas
from .exchange import Exchange
from .gradescope import Gradescope
from .interface.grade_table import GradeTable
from .interface.origin import Origin
from .interface.system import Lms
from .moodle import Moodle
from .sakai import Sakai

SYSTEMS: tuple[Lms, ...] = (
    Moodle(),
    Exchange(),
    Blackboard(),
    Canvas(),
    Brightspace(),
    Gradescope(),
    Sakai(),
)


@dataclass(frozen=True)
class Reading:
    """The LMS of an archive's paths, and the number of enclosing folders.

    `told` maps attempts to what the LMS's own files say of senders.
    """

    lms: Lms
    depth: int
    told: Mapping[str, Origin]

    def origin(self, entry: str, known: Mapping[str, Collection[str]] = MappingProxyType({})) -> Origin | None:
        """Return who handed in the file at `entry`, a path in the archive, or None if the path has another form.

        `known` maps numbers of people, in lower case, to their names and those of their teams. They decide between
        several readings of the path.
        """
        path = _below(entry, self.depth)
        origin = self.lms.origin(path)
        said = self.told.get(origin.attempt) if origin else None
        if origin is None or said is None:
            return origin and self._chosen(origin, self.lms.other_origins(path), known)
        time, unread = said.time or origin.time, said.unread or origin.unread
        return replace(
            origin,
            name=said.name,
            numbers=said.numbers,
            members=said.members,
            time=time,
            hidden=said.hidden,
            unread=unread,
        )

    def _chosen(self, first: Origin, others: Iterable[Origin], known: Mapping[str, Collection[str]]) -> Origin:
        """Return the reading of which somebody has the number, and of several that of which somebody has the name."""
        found = [(each, number) for each in (first, *others) for number in each.numbers if number.casefold() in known]
        if len(found) > 1:
            named = [
                (each, number)
                for each, number in found
                if each.name and self.lms.name_in_path(each.name) in known[number.casefold()]
            ]
            found = named if len(named) == 1 else found
        origin = found[0][0] if found else first
        return replace(origin, rivals=tuple((each.name, number) for each, number in found)) if found[1:] else origin

    def is_own_file(self, entry: str) -> bool:
        """Return whether the LMS has written a file, so that it is no submission."""
        return bool(self.lms.own_files.match(_below(entry, self.depth)))


def recognise(entries: Collection[str], files: Mapping[str, Path] | None = None) -> Reading | None:
    """Return the LMS whose form at least half of an archive's paths have, or None if no LMS has so many.

    `entries` are the paths that the LMS made; `files` maps those that are files to files on disk. Entries in one folder
    count once, because a student may have named them. Only folders that enclose all entries are skipped, so that no
    student's folder is taken for the LMS's.
    """
    for depth in range(common_folders(entries) + 1):
        groups: dict[str, set[Lms]] = {}
        for path in {_below(entry, depth) for entry in entries}:
            fits = {lms for lms in SYSTEMS if lms.origin(path)}
            groups.setdefault(path.partition("/")[0], set()).update(fits)
        counts = {lms: sum(lms in found for found in groups.values()) for lms in SYSTEMS}
        best = max(counts, key=lambda lms: counts[lms])
        if groups and 2 * counts[best] >= len(groups):
            below = {_below(path, depth): place for path, place in (files or {}).items() if path in entries}
            return Reading(best, depth, best.told(below))
    return None


def system_called(title: str) -> Lms | None:
    """Return the LMS with a title, as it is stored with attempts, or None."""
    return next((lms for lms in SYSTEMS if lms.title == title), None)


def read_grade_table(path: Path) -> GradeTable:
    """Read the table of grades that an LMS has exported. Raises UserError if the file is something else."""
    text = read_csv(path)
    heads = [text.cell(0, at).strip() for at in range(len(text.rows[0]))] if text.rows else []
    for lms in SYSTEMS:
        table = lms.table(text, heads, path)
        if table:
            return table
    forms = "; ".join(f"{lms.title}: {lms.table_form}" for lms in SYSTEMS if lms.table_form)
    raise UserError(f"{path} is no table of grades that an LMS exports ({forms})")


def common_folders(entries: Collection[str]) -> int:
    """Return the number of folders that enclose all entries: 1 for `["all/ann.zip", "all/bob/x.ipynb"]`."""
    parts = [entry.split("/")[:-1] for entry in entries]
    return sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, zip(*parts)))


def _below(entry: str, depth: int) -> str:
    return "/".join(entry.split("/")[depth:])
