"""A submission as it lies in its folder: its notebooks, the files beside them, when it came, and a hash of all."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbgrader.utils import parse_utc

from .extras import TIMESTAMP, Extras, find_extras
from .sanitize import Unreadable, load

_LONGEST = 200  # bytes of a time


@dataclass(frozen=True)
class HandedIn:
    """`timestamp` is nbgrader's note of when it came, `doubt` what is to be said of it if it is none."""

    raw: dict[str, bytes]  # notebooks by name
    extras: Extras
    timestamp: str | None
    doubt: list[str]

    @property
    def digest(self) -> str:
        """Return a hash of all that the result of a submission depends on."""
        parts = [part for name in sorted(self.raw) for part in (name.encode(), self.raw[name])]
        parts.append(repr((self.timestamp, self.doubt)).encode())
        # Nothing is added for a notebook alone: what an earlier version has graded stays unchanged.
        for path, data in sorted(self.extras.files.items()):
            parts += [os.fsencode(path), data] if path != TIMESTAMP else []
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def handed_in(folder: Path, notebooks: Collection[str], ignore: Sequence[str]) -> HandedIn:
    """Read those of `notebooks` that are there, and the files beside them that nbgrader does not `ignore`.

    Raises Unreadable when there is no notebook, or one cannot be read.
    """
    paths = {name: folder / f"{name}.ipynb" for name in notebooks}
    raw = {name: load(path) for name, path in paths.items() if path.is_symlink() or path.exists()}
    if not raw:
        raise Unreadable(f"no notebook in {folder}: expected {', '.join(path.name for path in paths.values())}")
    timestamp, doubt = _timestamp(folder / TIMESTAMP)
    extras = find_extras(folder, ignore)
    if doubt:
        extras.files.pop(TIMESTAMP, None)  # nbgrader would stop at it
    return HandedIn(raw, extras, timestamp, doubt)


def _timestamp(path: Path) -> tuple[str | None, list[str]]:
    try:
        if not stat.S_ISREG(path.lstat().st_mode) or path.lstat().st_size > _LONGEST:
            raise ValueError
        text = path.read_text(encoding="utf-8").strip()
        if text:
            parse_utc(text)
        return text or None, []
    except FileNotFoundError:
        return None, []
    except (OSError, ValueError, OverflowError):
        return None, ["timestamp.txt holds no time, so nobody knows whether it was late"]
