"""Students' requests to look at a grade again, found in submitted files.

A request is a file such as `regrade.txt`, or text in a Markdown cell after "Regrade:".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..files.nbgrader_files import TIMESTAMP, in_utc
from ..files.notebook_file import Unreadable, load_file, parse_notebook
from ..tables.csv_text import encoding_of

_FILE = re.compile(r"(regrade|пересмотр)\.(txt|md)", re.IGNORECASE)
_IN_CELL = re.compile(r"^[ \t#>*_]*(?:regrade|пересмотр)[*_]*:[*_]*(.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL)
_LARGEST = 100_000  # bytes of a file
_LONGEST = 4000  # characters of a request


def find_requests(folder: Path) -> Iterator[str]:
    """Yield the text of each request in the submission in `folder`. Links are not followed."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        try:
            if is_request_file(path):
                data = load_file(path, _LARGEST)
                mark, encoding = encoding_of(data)
                yield from _cut(data.removeprefix(mark).decode(encoding, "replace"))
            elif path.suffix == ".ipynb":
                yield from _in_notebook(parse_notebook(load_file(path), path.name))
        except (Unreadable, OSError):  # grading itself tells about files that cannot be read
            continue


def is_request_file(path: Path) -> bool:
    """Return whether a file is a request by its name."""
    return bool(_FILE.fullmatch(path.name))


def is_request_text(text: str) -> bool:
    """Return whether the text of a Markdown cell is a request."""
    found = _IN_CELL.search(text)
    return bool(found and found[1].strip())


def time_of(folder: Path) -> str:
    """Return the time of the submission in `folder`, in UTC as ISO 8601.

    Returns "" if nbgrader's file `timestamp.txt` is missing, empty or invalid.
    """
    try:
        text = load_file(folder / TIMESTAMP, _LARGEST).decode("utf-8")
        return in_utc(text) or ""
    except (Unreadable, OSError, ValueError):
        return ""


def _in_notebook(notebook: dict[str, Any]) -> Iterator[str]:
    for cell in notebook["cells"]:
        match cell:
            case {"cell_type": "markdown", "source": str() | list() as source}:
                lines = [source] if isinstance(source, str) else source
                text = "".join([line for line in lines if isinstance(line, str)])
                if found := _IN_CELL.search(text):
                    yield from _cut(found[1])


def _cut(text: str) -> Iterator[str]:
    """Yield `text` without white space around it, cut to `_LONGEST` characters. Yield nothing if no text is left."""
    if text := text.strip()[:_LONGEST]:
        yield text
