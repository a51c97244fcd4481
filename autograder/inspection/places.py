"""Lines of the learner's code."""

from __future__ import annotations

import functools
import linecache
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

_OURS = (str(Path(torch.__file__).parent) + os.sep, str(Path(__file__).parents[1]) + os.sep, "<frozen ")
_LIBRARY = str(Path(os.__file__).parent) + os.sep  # the standard library, and in it the installed packages


@dataclass(frozen=True)
class Place:
    """A line of code.

    `file` is "" for a cell of a notebook.
    """

    file: str
    line: int
    code: str

    def __str__(self) -> str:
        code = f"`{self.code}`" if self.code else ""
        where = f"{self.file}:{self.line}" if self.file else "" if code else str(self.line)
        return f"{code} ({where})" if code and where else code or where


def learners_place() -> Place | None:
    """Return the innermost line that belongs neither to torch nor to this package, or None without one.

    A line of an installed package counts only where there is no other.
    """
    frame, library = sys._getframe(1), None
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OURS):
            if not name.startswith(_LIBRARY):
                return _place(name, frame.f_lineno)
            library = library or (name, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return _place(*library) if library else None


@functools.lru_cache(maxsize=1024)  # each step of a loop asks for the same lines
def _place(name: str, line: int) -> Place:
    is_cell = "ipykernel" in name or name.startswith("<")
    return Place("" if is_cell else Path(name).name, line, linecache.getline(name, line).strip())
