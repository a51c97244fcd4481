"""Relative paths that are valid on every disk, and distinct."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_LONGEST = 240  # bytes of a file name
_DEEPEST = 20  # folders; deeper ones are left out of the path


class SafePaths:
    """The paths of the files in one delivery.

    No two paths are equal, even without regard to capitals, and no file has the path of a folder. The paths `reserved`
    are never given.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._files = set(reserved)
        self._folders: set[str] = set()
        self._numbers: dict[tuple[str, int], int] = {}  # the last ones given: 5,000 equal names once took a minute

    def add(self, path: str) -> str:
        """Add a path in a safe form, and return this form.

        Names that are too long are cut, hidden names and control characters are changed. A file gets a number if its
        path is taken. So does a folder with the path of a file.
        """
        *folders, name = [_clean(piece) for piece in path.split("/")]
        place = ""
        for folder in folders[:_DEEPEST]:
            place = self._free(place, folder, self._files)
            self._folders.add(place.casefold())
            place += "/"
        place = self._free(place, name, self._files, self._folders)
        self._files.add(place.casefold())
        return place

    def _free(self, above: str, name: str, *taken: set[str]) -> str:
        """Return the path of `name` in the folder `above`, with a number if the path is in one of the sets `taken`."""
        stem, dot, suffix = name.rpartition(".")
        key = f"{above}{name}".casefold(), len(taken)
        number = self._numbers.get(key, 1)
        while True:
            path = above + name if number == 1 else f"{above}{stem or suffix} ({number}){dot}{suffix if stem else ''}"
            if not any(path.casefold() in paths for paths in taken):
                self._numbers[key] = number
                return path
            number += 1


def _clean(piece: str) -> str:
    """Return a file or folder name in a form that every disk can hold: `.hidden` becomes `_.hidden`."""
    clean = "".join(c if c.isprintable() else "_" for c in unicodedata.normalize("NFC", piece)).strip()
    clean = f"_{clean}" if clean.startswith((".", "~")) or not clean else clean
    stem, dot, suffix = clean.rpartition(".") if "." in clean else (clean, "", "")
    if len(clean.encode()) <= _LONGEST:
        return clean
    end = f"{dot}{suffix[:20]}"
    return stem.encode()[: _LONGEST - len(end.encode())].decode(errors="ignore") + end
