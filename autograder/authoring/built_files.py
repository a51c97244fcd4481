"""Files built from lesson sources, and marks of translations that match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..lessons.source import Lesson, source_digest


def write(files: Mapping[Path, str | bytes]) -> Iterator[Path]:
    """Write the files whose content on disk differs, and yield their paths.

    `files` is a dict from path to new content.
    """
    for path in stale(files):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_encoded(files[path]))
        yield path


def stale(files: Mapping[Path, str | bytes]) -> list[Path]:
    """Return the paths at which the file on disk differs from the content in `files`."""
    return [path for path, new in files.items() if not path.is_file() or path.read_bytes() != _encoded(new)]


def _encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def accept(lesson: Lesson) -> int:
    """Mark every Russian text of a lesson source as a translation of its present English text.

    The mark is the attribute `of` of the cell, a hash of the English text. Returns the number of changed cells.
    """
    lines = lesson.path.read_text(encoding="utf-8").splitlines(keepends=True)
    changed = 0
    for english, russian in zip(lesson.cells, lesson.cells[1:]):
        if english.kind != "markdown" or (english.language, russian.language) != ("en", "ru"):
            continue
        header = (
            re.sub(r' of="\w*"', "", lines[russian.line - 1].rstrip("\n")) + f' of="{source_digest(english.source)}"\n'
        )
        changed += header != lines[russian.line - 1]
        lines[russian.line - 1] = header
    lesson.path.write_text("".join(lines), encoding="utf-8")
    return changed
