"""Comparison of two hand-ins of a student, apart from requests."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from ..files.nbgrader_files import SECRET, TIMESTAMP
from ..files.notebook_file import Unreadable, load_file, parse_notebook
from ..files.submitted_cells import grade_id_of, source_of
from .found import is_request_file, is_request_text

_MARKDOWN = "markdown"

Answers = Mapping[str, Hashable]  # by relative path; "" for the only notebook, whatever it is called


def answers_in(files: Mapping[str, Path], ignore: Sequence[str]) -> Answers:
    """Return all of a hand-in that its grade may depend on. Two hand-ins with equal results have the same answers.

    `files` maps relative paths to files. Those that match one of nbgrader's patterns `ignore` are left out. The text of
    a request makes no difference, nor do outputs. Any other file counts as a whole, since an answer can read it.
    Raises OSError if a file cannot be read.
    """
    found: dict[str, Hashable] = {}
    notebooks = []
    for name, path in files.items():
        parts = PurePosixPath(name).parts
        if name in (TIMESTAMP, SECRET) or is_request_file(path) or _is_ignored(parts, ignore):
            continue
        data, found[name] = path.read_bytes(), None
        try:
            if path.suffix == ".ipynb":
                found[name] = tuple(_cells(parse_notebook(load_file(path), path.name)))
                notebooks.append(name)
        except Unreadable:
            pass
        found[name] = found[name] or hashlib.sha256(data).digest()
    if len(notebooks) == 1:  # a browser adds numbers to its name
        found[""] = found.pop(notebooks[0])
    return found


def _is_ignored(parts: Sequence[str], ignore: Sequence[str]) -> bool:
    return any(fnmatch(part, pattern) for part in parts for pattern in ignore)


def _cells(notebook: Mapping[str, Any]) -> Iterator[Hashable]:
    """Yield what is compared of each cell, and whose copy of the lesson the notebook is.

    The student's own texts are left out where no answer in words can stand in them.
    """
    cells = [cell for cell in notebook["cells"] if isinstance(cell, Mapping)]
    names = [grade_id_of(cell) for cell in cells]
    in_words = not any(names) or any(
        name and cell.get("cell_type") == _MARKDOWN for cell, name in zip(cells, names, strict=True)
    )
    yield repr(notebook.get("metadata", {}).get("autograder"))
    for cell, name in zip(cells, names, strict=True):
        kind, text = cell.get("cell_type"), source_of(cell).rstrip()
        free = kind != "code" and not name
        if (free and (not in_words or is_request_text(text))) or not (text or name):
            continue
        yield str(kind), name, text, repr(cell.get("attachments"))
