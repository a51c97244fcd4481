"""The path that a learner has chosen, kept beside the history."""

from __future__ import annotations

from pathlib import Path

from ..history import folder
from ..lessons.paths import CoursePath, path_names, read_path

WHOLE = "all"  # the whole course


def chosen_path() -> CoursePath | None:
    """Return the chosen path, or None for the whole course."""
    try:
        name = _file().read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return read_path(name) if name in path_names() else None


def choose_path(name: str) -> None:
    """Keep the name of a path. `WHOLE` stands for the whole course.

    Raises OSError if it cannot be written.
    """
    _file().parent.mkdir(parents=True, exist_ok=True)
    _file().write_text(f"{name}\n", encoding="utf-8")


def _file() -> Path:
    return folder() / "path"
