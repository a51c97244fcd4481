"""The history of checks as a file for another machine."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...history import append_lines, history_file, read_history
from ...language import Text
from ...messages.cards import message


@dataclass(frozen=True)
class Imported:
    """The counts of an imported file's lines: added, known already, damaged."""

    added: int
    known: int
    broken: int

    def says(self) -> Text:
        added = message("import.added", count=self.added, known=self.known)
        if not self.broken:
            return added
        broken = message("import.broken", count=self.broken)
        return Text(f"{added.en} {broken.en}", f"{added.ru} {broken.ru}")


def export_history(file: Path, language: str) -> Text:
    """Copy the history to a new file, and return a sentence on it.

    Raises UserError if there is no history, or if the file exists or cannot be written.
    """
    try:
        lines = history_file().read_bytes()
    except FileNotFoundError:
        raise UserError(message("progress.empty").read(language)) from None
    except OSError as error:
        raise UserError(message("export.refused", file=history_file(), error=_reason(error)).read(language)) from error
    try:
        with file.open("xb") as copy:
            copy.write(lines)
    except FileExistsError:
        raise UserError(message("export.exists", file=file).read(language)) from None
    except OSError as error:
        raise UserError(message("export.refused", file=file, error=_reason(error)).read(language)) from error
    return message("export.done", file=file, count=len(read_history().checks))


def import_history(file: Path, language: str) -> Imported:
    """Add the lines of an exported file to the history. Lines that are there already are not added again.

    Lines in a form of another version are added as they are.
    Raises UserError if a file cannot be read or written, or if no line is one of a history.
    """
    try:
        given = file.read_text(encoding="utf-8", errors="replace").split("\n")
        ours = history_file().read_text(encoding="utf-8", errors="replace").split("\n") if _exists() else []
    except OSError as error:
        raise UserError(message("export.refused", file=file, error=_reason(error)).read(language)) from error
    here = Counter(_same(data) for data in map(_decoded, ours) if data)  # checks of one second may be equal
    new, count, broken = list[str](), 0, 0
    for line in filter(str.strip, given):
        data = _decoded(line)
        if data is None:
            broken += 1
        elif here[_same(data)]:
            here[_same(data)] -= 1
            count += 1
        else:
            new.append(json.dumps({**data, "imported": True}, ensure_ascii=False))
    if not new and not count:
        raise UserError(message("import.nothing", file=file).read(language))
    try:
        append_lines(new)
    except OSError as error:
        raise UserError(message("export.refused", file=history_file(), error=_reason(error)).read(language)) from error
    return Imported(len(new), count, broken)


def _exists() -> bool:
    return history_file().exists()


def _decoded(line: str) -> dict[str, Any] | None:
    """Return the data of a line, or None if it is no line of a history."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and "verdict" in data else None


def _same(data: dict[str, Any]) -> str:
    """Return a text that is equal for the same check, whichever machine it comes from."""
    return json.dumps({name: value for name, value in data.items() if name != "imported"}, sort_keys=True)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
