"""Cells of Python files in jupytext's percent format.

A line `# %%` begins a cell. Attributes on that line say what the cell is, such as `# %% answer="twice"`. Lessons,
mistakes and the programs of an exercise are such files. A test compares the reader with jupytext. Only the standard
library is needed, because `autograder verify` must run wherever torch does.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UserError

ROLES = ("answer", "given", "alternative", "check", "written")  # of a lesson's cells in an exercise

_HEADER = re.compile(r"^# %%(?P<markdown> \[markdown\])?(?P<metadata>.*)$")
_PAIR = re.compile(r"""\s*(?P<key>\w+)=(?P<value>"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\d+)\s*""")


class BrokenSource(UserError):
    """An error in a file of cells: place, problem, remedy."""

    def __init__(self, path: Path, line: int, wrong: str) -> None:
        super().__init__(f"{path}:{line}: {wrong}")


@dataclass(frozen=True)
class Cell:
    """One cell of a file.

    `line` is the number, in the file, of the line that holds the cell's attributes.
    """

    kind: str  # "code" or "markdown"
    source: str
    metadata: dict[str, Any]
    line: int

    @property
    def language(self) -> str | None:
        return next((tag for tag in self.metadata.get("tags", []) if tag in ("en", "ru")), None)

    @property
    def is_fact(self) -> bool:
        return "fact" in self.metadata.get("tags", [])

    @property
    def is_folded(self) -> bool:
        """True if the cell's code is shown only after a click."""
        return "folded" in self.metadata.get("tags", [])

    @property
    def is_invitation(self) -> bool:
        """True if the first paragraph asks a learner to change something, and the others tell what comes of it."""
        return "try" in self.metadata.get("tags", [])

    @property
    def is_picture(self) -> bool:
        """True if the cell draws a picture.

        Such a cell is not executed by `autograder verify`, and no other cell may depend on it.
        """
        return "picture" in self.metadata.get("tags", [])

    @property
    def role(self) -> tuple[str, str] | None:
        """The cell's part in an exercise and the exercise's name, or None.

        An example is ("answer", "accumulate_uneven").
        """
        return next(((role, str(self.metadata[role])) for role in ROLES if role in self.metadata), None)


def read_cells(path: Path, keys: Set[str]) -> list[Cell]:
    """Return the cells of the file at `path`. `keys` are the attributes that a cell may have.

    Raises BrokenSource if the file is malformed.
    Raises OSError if it cannot be read.
    """
    return parse_cells(path.read_text(encoding="utf-8"), path, keys)


def parse_cells(text: str, path: Path, keys: Set[str]) -> list[Cell]:
    """Return the cells of a text, as `read_cells` does. `path` is named in errors."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if _HEADER.match(line)]
    if not starts:
        raise BrokenSource(path, 1, "no cell: a cell starts with a line `# %%` or `# %% [markdown]`")
    return [_cell(path, lines[a:b], a + 1, keys) for a, b in zip(starts, [*starts[1:], len(lines)])]


def _cell(path: Path, lines: list[str], line: int, keys: Set[str]) -> Cell:
    header = _HEADER.match(lines[0])
    assert header is not None
    metadata: dict[str, Any] = {}
    at, text = 0, header["metadata"].strip()
    while at < len(text):
        pair = _PAIR.match(text, at)
        if pair is None:
            raise BrokenSource(path, line, f'cannot read `{text[at:]}` in the header: write key="value"')
        try:
            metadata[pair["key"]] = json.loads(pair["value"])
        except json.JSONDecodeError:
            raise BrokenSource(path, line, f"`{pair['value']}` is not JSON: quote it with double quotes") from None
        at = pair.end()
    unknown = ", ".join(key for key in metadata if key not in keys)
    if unknown:
        raise BrokenSource(path, line, f"a cell has no attribute {unknown}; it may have {', '.join(sorted(keys))}")
    body = lines[1:]
    if header["markdown"]:
        stray = next((i for i, each in enumerate(body) if each and not each.startswith("#")), None)
        if stray is not None:
            raise BrokenSource(path, line + 1 + stray, "a line of a markdown cell starts with `# `")
        body = [each.removeprefix("#").removeprefix(" ") for each in body]
    return Cell("markdown" if header["markdown"] else "code", "\n".join(body).strip("\n"), metadata, line)


def execute(path: Path, cell: Cell, namespace: dict[str, Any], source: str | None = None) -> None:
    """Run a cell of the file at `path` in `namespace`. What it prints is discarded.

    `source` is code in place of the cell's own.
    Raises BrokenSource if the code raises.
    """
    code = cell.source if source is None else source
    lines_before = "\n" * cell.line  # errors then report the line in the file
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch issues one at the first use of forward mode
            exec(compile(lines_before + code, str(path), "exec"), namespace)
    except Exception as error:
        what = "fact does not hold" if cell.is_fact else "cell raises an error"
        detail = f"{type(error).__name__}: {error}".rstrip(": ")
        raise BrokenSource(path, cell.line, f"this {what}: {detail}") from error


def define(path: Path, cell: Cell, namespace: dict[str, Any], asks: str, source: str | None = None) -> Any:
    """Run a cell as `execute` does, and return the object that it calls `asks`.

    Raises BrokenSource if the code raises, or if it does not define the name.
    """
    namespace.pop(asks, None)
    execute(path, cell, namespace, source)
    if asks not in namespace:
        raise BrokenSource(path, cell.line, f"the cell does not define `{asks}`, the name its exercise asks for")
    return namespace[asks]
