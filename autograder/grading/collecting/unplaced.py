"""Files whose student or assignment is unknown, kept in `unplaced/`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...language import quantity
from ..files.atomic import remove_leftovers, swap_in, temporary_sibling
from ..tables.csv_text import read_csv, write_csv

_FOLDER, _TABLE = "unplaced", "reasons.csv"


@dataclass(frozen=True)
class UnplacedFile:
    """A file from an archive whose student or assignment is unknown.

    `path` is that in the archive. `contents` is the file on disk, or None if it cannot be read.
    """

    path: str
    reason: str
    contents: Path | None = None


def keep_unplaced(root: Path, source: str, files: Sequence[UnplacedFile]) -> Path:
    """Write the unplaced files of one archive, and a table of the reasons, into the folder `unplaced/SOURCE`.

    Files of an earlier run with the same archive are removed: some may have been placed since. Returns the folder.
    """
    place = root / _FOLDER / source
    remove_leftovers(place)
    if not files:
        shutil.rmtree(place, ignore_errors=True)
        return place
    with temporary_sibling(place) as folder:
        rows = [["file", "reason", "path in the archive"]]
        for number, file in enumerate(files, 1):
            name = f"{number:03}{Path(file.path).suffix[:10]}"
            if file.contents is not None:
                shutil.copyfile(file.contents, folder / name)
            rows.append([name if file.contents is not None else "", file.reason, file.path])
        write_csv(folder / _TABLE, rows)
        if place.exists():
            swap_in(place, folder)
        else:
            folder.rename(place)
    return place


def count_unplaced(root: Path) -> int:
    """Return the number of unplaced files, from all archives, of the course in the folder `root`."""
    tables = [read_csv(path) for path in (root / _FOLDER).rglob(_TABLE)]
    return sum(len(table.rows) - 1 for table in tables)


def doubt_of_unplaced(root: Path) -> str:
    """Return a text such as ", or it has no place yet (2 files in unplaced/)", to put after "no submission".

    Returns "" if there are no unplaced files. Such a file may be the submission that seems to be missing.
    """
    count = count_unplaced(root)
    return f", or it has no place yet ({quantity(count, 'file')} in unplaced/)" if count else ""
