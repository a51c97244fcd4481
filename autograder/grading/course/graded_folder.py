"""The folder of a graded submission, with a record of its files."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from nbformat.notebooknode import NotebookNode
from nbgrader.utils import find_all_files

from ..files.inert_names import inert_name
from ..files.notebook_file import write_notebook

GRADING_RECORD = ".autograder.json"  # in an autograded folder: holds a `Record`


@dataclass(frozen=True)
class Record:
    """The stored record of a graded submission.

    `submitted` is the digest of the submitted files. `renamed` maps the released names of notebooks to submitted paths.
    Only notebooks that the student renamed are in `renamed`.
    """

    submitted: str
    renamed: dict[str, str] = field(default_factory=dict)


def write_result(
    folder: Path,
    files: Mapping[str, bytes],
    source: Path,
    ignore: Sequence[str],
    notebooks: Mapping[str, NotebookNode],
    record: Record,
) -> None:
    """Write a graded submission and its record into `folder`, as `nbgrader autograde` does.

    The folder `source` holds the assignment's files. Files that match one of the patterns `ignore` are not copied.
    `files` maps relative paths to contents of the student's other files, whose names are made harmless (see
    `inert_name`). If the assignment has a file with the same path, the student's file is omitted. `notebooks` maps
    released names to graded notebooks.
    """
    for found in map(Path, find_all_files(str(source), [*ignore, "*.ipynb"])):
        path = folder / found.relative_to(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, path)
    for name, notebook in notebooks.items():
        write_notebook(folder / f"{name}.ipynb", notebook)
    for name, data in files.items():
        path = folder / inert_name(name)
        with contextlib.suppress(FileExistsError, NotADirectoryError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(data)
    (folder / GRADING_RECORD).write_text(json.dumps(asdict(record)), encoding="utf-8")
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o444)


def recorded(place: Path) -> Record:
    """Return the record that `write_result` left in the folder `place`.

    If there is no valid record, returns a record with an empty digest.
    """
    try:
        return Record(**json.loads((place / GRADING_RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Record("")


def graded_at(place: Path) -> datetime | None:
    """Return the time, in UTC, at which the submission in the folder `place` was graded. None if there is no record."""
    try:
        return datetime.fromtimestamp((place / GRADING_RECORD).stat().st_mtime, UTC)
    except OSError:
        return None


def drop_record(place: Path) -> None:
    """Remove the record in the folder `place`. The next grading then grades the submission again."""
    (place / GRADING_RECORD).unlink(missing_ok=True)
