"""Gradescope: the export of submissions, with names in `submission_metadata.yml`.

Source: public programs that read this file: a dict from folder to `:submitters`, each with `:name`, `:sid` and
`:email`, and `:created_at`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import yaml  # type: ignore[import-untyped]

from .interface.origin import Member, Origin
from .interface.system import Lms

_PATH = re.compile(r"(?P<folder>submission_\d+)/(?P<rest>.+)$")
_METADATA = "submission_metadata.yml"
_LARGEST = 50 << 20  # bytes


class Gradescope(Lms):
    """Gradescope."""

    title = "Gradescope"
    own_files = re.compile(re.escape(_METADATA) + "$")

    def origin(self, path: str) -> Origin | None:
        found = _PATH.match(path)
        return Origin("", (found["folder"],), found["folder"], found["rest"], hidden=True) if found else None

    def told(self, files: Mapping[str, Path]) -> dict[str, Origin]:
        found = {}
        for path, place in files.items():
            if PurePosixPath(path) == PurePosixPath(_METADATA) and place.stat().st_size <= _LARGEST:
                for folder, said in _read(place).items():
                    people = said.get(":submitters") if isinstance(said, dict) else None
                    members = tuple(map(_member, people or ()))
                    if members:
                        came = said.get(":created_at")
                        time = _time(came)
                        unread = "" if time or came is None else str(came)
                        found[str(folder)] = Origin("", (), str(folder), "", time, members=members, unread=unread)
        return found

    def identity(self, origin: Origin) -> str:
        """Return the first part of the e-mail address, or another number or the name."""
        return next(iter([*origin.numbers, origin.name])).partition("@")[0]


def _read(place: Path) -> dict[str, Any]:
    try:
        with place.open("rb") as file:
            content = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _member(person: Any) -> Member:
    cells = person if isinstance(person, dict) else {}
    name, email, number = (str(cells.get(f":{key}") or "") for key in ("name", "email", "sid"))
    return Member(name, tuple(filter(None, (email, number))))


def _time(said: object) -> datetime | None:
    if not isinstance(said, datetime):
        return None
    return said if said.tzinfo else said.replace(tzinfo=UTC)
