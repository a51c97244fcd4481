"""Links in a submission, which `nbgrader autograde` would follow."""

from __future__ import annotations

from pathlib import Path

from .sanitize import Unreadable


def refuse_linked_notebook(submitted: Path, name: str) -> None:
    """Raise Unreadable when a notebook, its folder or the student's folder is a link: it may be anybody's."""
    for path in (submitted / f"{name}.ipynb", submitted, submitted.parent):
        if path.is_symlink():
            raise Unreadable(f"{name}.ipynb cannot be opened: {path} is a link")


def remove_copies(submitted: Path, copied: Path, source: Path) -> list[str]:
    """Remove the files of `copied` that are links in `submitted`. Returns their relative paths.

    nbgrader has copied what the links lead to. A file of the assignment itself, from `source`, stays.
    """
    removed = []
    for path in sorted(copied.rglob("*")):
        inside = path.relative_to(copied)
        if (submitted / inside).is_symlink() and not (source / inside).exists():
            path.unlink()
            removed.append(inside.as_posix())
    return removed
