"""Notebook files: reading of what students submit, writing of what was graded."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode

from ...language import Note
from ...messages.reasons import describe_reason, make_reason
from .file_kinds import kind_of

LARGEST_NOTEBOOK = 100 << 20  # bytes of a notebook file, its outputs included
_MOST_VALUES = 2_000_000  # numbers, texts and the like; so many take 200 MB and 2 s
_PUNCTUATION, _CHUNK = (b"{", b"[", b",", b":"), 1 << 20
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


class Unreadable(Exception):
    """An error: a submission cannot be read, and so cannot be graded.

    `reason` tells an instructor why. `str()` of the error is the reason in English.
    """

    def __init__(self, reason: Note) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return describe_reason(self.reason).en


def read_notebook(path: Path) -> dict[str, Any]:
    """Return the JSON of a submitted notebook file in format 4.

    Notebooks in format 2 or 3 are converted. Raises Unreadable if the notebook is invalid.
    """
    return parse_notebook(load_file(path), path.name)


def load_file(path: Path, largest: int = LARGEST_NOTEBOOK) -> bytes:
    """Return the bytes of a submitted file.

    Raises Unreadable if `path` is not a regular file, or the file has more than `largest` bytes.
    """
    try:
        # Follow no link out of the submission, and do not block on a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable(make_reason("link", name=path.name)) from error
        raise Unreadable(make_reason("cannot_open", name=path.name, why=error.strerror)) from error
    # Not `os.fdopen`: for a folder it raises without closing the descriptor.
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(make_reason("not_regular", name=path.name))
        if status.st_size > largest:
            size, most = status.st_size >> 20, largest >> 20
            raise Unreadable(make_reason("large_file", name=path.name, size=size, most=most))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(largest)
    except OSError as error:
        raise Unreadable(make_reason("cannot_read", name=path.name, why=error.strerror)) from error
    finally:
        os.close(descriptor)


def without_padding(data: bytes) -> bytes:
    """Return the contents of a notebook without zero bytes at the end, which a crash or a full disk leaves.

    In UTF-16 and UTF-32 zero bytes are parts of characters, and stay.
    """
    return data.rstrip(b"\0") if data.endswith(b"\0") and json.detect_encoding(data) == "utf-8" else data


def parse_notebook(data: bytes, name: str) -> dict[str, Any]:
    """Return the JSON of a notebook in format 4. `data` are the bytes of its file.

    Notebooks in format 2 or 3 are converted. Zero bytes at the end are ignored. `name` is the file name in error
    messages. Raises Unreadable if the notebook is invalid.
    """
    try:
        return _parsed(without_padding(data), name)
    except Unreadable as error:
        raise Unreadable(kind_of(data, name) or error.reason) from error


def _parsed(data: bytes, name: str) -> dict[str, Any]:
    """Return the JSON of a notebook. Raises Unreadable as `parse_notebook` does."""
    if _has_many_values(data):
        raise Unreadable(make_reason("many_values", name=name, most=f"{_MOST_VALUES:,}"))
    try:
        raw = json.loads(data)
    except RecursionError as error:
        raise Unreadable(make_reason("nested", name=name)) from error
    except ValueError as error:
        if _is_cut_off(data, error):
            raise Unreadable(make_reason("cut_off", name=name)) from error
        raise Unreadable(make_reason("no_json", name=name, why=str(error))) from error
    if not isinstance(raw, dict):
        raise Unreadable(make_reason("no_object", name=name))
    if raw.get("nbformat") in (2, 3):
        raw = _upgraded(raw, name)
    if raw.get("nbformat") != 4:
        said = raw.get("nbformat")
        if not isinstance(said, int):
            raise Unreadable(make_reason("no_format", name=name))
        raise Unreadable(make_reason("wrong_format", name=name, number=str(said)[:24]))
    if not isinstance(raw.get("cells"), list):
        raise Unreadable(make_reason("no_cells", name=name))
    notebook: dict[str, Any] = raw
    return notebook


def _has_many_values(data: bytes) -> bool:
    """Return whether JSON data has more than `_MOST_VALUES` values, without parsing it.

    Punctuation outside of strings is counted: each value but the first has such a character before it.
    """
    count, inside = 0, 0
    if sum(map(data.count, _PUNCTUATION)) <= _MOST_VALUES:  # the usual case: no need to tell what is in a string
        return False
    data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    for start in range(0, len(data), _CHUNK):
        pieces = data[start : start + _CHUNK].split(b'"')
        outside = b" ".join(pieces[inside::2])
        count += sum(map(outside.count, _PUNCTUATION))
        if count > _MOST_VALUES:
            return True
        inside = (inside + len(pieces) - 1) % 2
    return False


def _is_cut_off(data: bytes, error: ValueError) -> bool:
    """Return whether `data` is a JSON object whose end is missing. `error` is the parser's exception."""
    whole = data.strip()
    at_end = isinstance(error, json.JSONDecodeError) and error.pos >= len(error.doc.rstrip())
    return whole.startswith(b"{") and (at_end or not whole.endswith(b"}"))


def _upgraded(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """Convert a notebook of format 2 or 3 into format 4, without outputs. `name` is the file name in error messages.

    The rules are those of nbformat (`v4/convert.py`, `upgrade_cell`). nbformat itself also validates the notebook,
    which takes minutes for a large file.
    Raises Unreadable if the notebook cannot be converted.
    """
    try:
        cells = [_upgraded_cell(cell) for sheet in raw["worksheets"] for cell in sheet["cells"]]
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise Unreadable(make_reason("not_converted", name=name, number=raw["nbformat"])) from error
    return {"nbformat": 4, "nbformat_minor": 4, "metadata": raw.get("metadata", {}), "cells": cells}


def _upgraded_cell(cell: dict[str, Any]) -> dict[str, Any]:
    kind, metadata = cell["cell_type"], cell.get("metadata", {})
    source = cell.get("input" if kind == "code" else "source", "")
    if kind == "heading":
        source = " ".join(["#" * min(int(cell.get("level", 1)), 6), *"".join(source).splitlines()])
    kind = "markdown" if kind in ("heading", "html") else kind
    return {"cell_type": kind, "metadata": metadata, "source": source}


def write_notebook(path: Path, notebook: NotebookNode) -> None:
    """Write a graded notebook to the file `path`, with one line of JSON per cell.

    nbformat's own function copies the notebook first, and takes ten times as long.
    """
    rest = {key: value for key, value in notebook.items() if key != "cells"}
    cells = ",\n".join(map(_ENCODER.encode, notebook.cells))
    text = f'{{"cells": [\n{cells}\n],\n{_ENCODER.encode(rest)[1:]}\n'
    # Printed text may hold a lone surrogate, which cannot be written to a file.
    path.write_text(text, encoding="utf-8", errors="replace")
