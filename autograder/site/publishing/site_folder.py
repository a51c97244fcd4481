"""The site's folder, and the list of what builds wrote there."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...errors import UserError

_LIST = ".site-files"  # the names of all files that a build has written
_INDEX = "pagefind"


def update(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write `files` into a folder, with an index for search, and return the paths of those that were written.

    Files that stay the same are left alone. What an earlier build has written and this one has not is deleted.
    Raises UserError if Pagefind fails.
    """
    known = _recorded(folder)
    index = {name for name in known if name.startswith(f"{_INDEX}/")}
    _record(folder, known | files.keys())  # a build that ends early leaves no stranger
    written = _write(folder, files)
    removed = _remove(folder, known - index - files.keys())
    if written or removed or not index or not all((folder / name).is_file() for name in index):
        made = _search_index(folder)
        _record(folder, known | files.keys() | made.keys())
        written += _write(folder, made)
        _remove(folder, index - made.keys())
        index = set(made)
    _record(folder, files.keys() | index)
    return written


def _search_index(folder: Path) -> dict[str, bytes]:
    """Return the files of Pagefind's index of the pages in a folder."""
    with tempfile.TemporaryDirectory() as made:
        command = [sys.executable, "-m", "pagefind_bin", "--site", str(folder), "--output-path", made]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise UserError(f"Pagefind made no index of the site: {done.stderr or done.stdout}")
        paths = sorted(path for path in Path(made).rglob("*") if path.is_file())
        return {f"{_INDEX}/{path.relative_to(made).as_posix()}": path.read_bytes() for path in paths}


def _recorded(folder: Path) -> set[str]:
    path = folder / _LIST
    return set(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else set()


def _record(folder: Path, names: Iterable[str]) -> None:
    _write(folder, {_LIST: "".join(f"{name}\n" for name in sorted(names)).encode()})


def _write(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write the files that are missing or differ, and return their paths."""
    written = []
    for name, data in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            written.append(path)
    return written


def _remove(folder: Path, names: Iterable[str]) -> list[Path]:
    """Delete the files inside the folder that are there, and return their paths."""
    inside = [path for name in names if (path := folder / name).resolve().is_relative_to(folder.resolve())]
    removed = [path for path in inside if path.is_file()]
    for path in removed:
        path.unlink()
    return removed
