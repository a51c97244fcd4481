"""A submission as it lies in its folder: its notebooks, when it came, and a hash of both."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from nbgrader.utils import parse_utc

from .sanitize import Unreadable, load

_LONGEST = 200  # bytes of a time


@dataclass(frozen=True)
class HandedIn:
    """`timestamp` is nbgrader's note of when it came, `doubt` what is to be said of it if it is none."""

    raw: dict[str, bytes]  # notebooks by name
    timestamp: str | None
    doubt: list[str]

    @property
    def digest(self) -> str:
        """A hash of all that the result of a submission depends on."""
        parts = [part for name in sorted(self.raw) for part in (name.encode(), self.raw[name])]
        parts.append(repr((self.timestamp, self.doubt)).encode())
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def handed_in(folder: Path, notebooks: Collection[str]) -> HandedIn:
    """Read those of `notebooks` that are there. Raises Unreadable when there is none, or one cannot be read."""
    paths = {name: folder / f"{name}.ipynb" for name in notebooks}
    raw = {name: load(path) for name, path in paths.items() if path.is_symlink() or path.exists()}
    if not raw:
        raise Unreadable(f"no notebook in {folder}: expected {', '.join(path.name for path in paths.values())}")
    return HandedIn(raw, *_timestamp(folder / "timestamp.txt"))


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
