"""Versions that must be equal on all machines that grade together."""

from __future__ import annotations

import functools
import hashlib
import platform
from pathlib import Path

import torch

from ... import __version__
from ...lessons.collection import COURSE

_PACKAGE = Path(__file__).parents[2]


@functools.cache
def versions() -> dict[str, str]:
    """Return a dict from name to version, of everything that a verdict depends on.

    For the package and the lessons the values hold hashes of the files.
    """
    return {
        "autograder": f"{__version__} ({_hash(_PACKAGE, '*.py', '*.json')})",
        "lessons": _hash(COURSE.lessons, "*.py"),
        "torch": torch.__version__.partition("+")[0],
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }


def differences(mine: dict[str, str], theirs: dict[str, str]) -> str:
    """Return a text such as "torch 2.5.0 instead of 2.6.0" with the versions of `theirs` that differ from `mine`.

    Returns "" if there are none.
    """
    wrong = {name: value for name, value in mine.items() if theirs.get(name) != value}
    return "; ".join(f"{name} {theirs.get(name, 'missing')} instead of {value}" for name, value in wrong.items())


def _hash(folder: Path, *patterns: str) -> str:
    paths = (path for pattern in patterns for path in folder.rglob(pattern) if "__pycache__" not in path.parts)
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.relative_to(folder).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]
