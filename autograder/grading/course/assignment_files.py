"""Encoding of an assignment's files, except notebooks, for sending into the sandbox."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from ...errors import UserError

EncodedFiles = dict[str, str]  # contents in base64 by relative path, as they are sent into the sandbox

_LARGEST = 24 << 20  # total bytes: every child receives them


def encoded_files(folder: Path) -> EncodedFiles:
    """Return the files of an assignment that go into the sandbox, in base64.

    `folder` is the assignment's source folder. Notebooks are left out. Of a private lesson's exercises only the modules
    `exercises/LESSON/*.py` remain: keys must not reach students' code, and programs are sent when a test is judged.
    Raises UserError if the files exceed 24 MB together.
    """
    exercises = folder / "exercises"  # of a private lesson
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _is_omitted(path, exercises)]
    if sum(path.stat().st_size for path in paths) > _LARGEST:
        raise UserError(f"the files in {folder} are larger than {_LARGEST >> 20} MB together")
    return encoded({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def _is_omitted(path: Path, exercises: Path) -> bool:
    """Return whether a file is not sent into the sandbox.

    Not sent are notebooks, bytecode, and of the exercises all but the modules `exercises/LESSON/*.py`.
    """
    own = path.is_relative_to(exercises) and len(path.relative_to(exercises).parts) != 2
    return own or path.suffix == ".ipynb" or "__pycache__" in path.parts


def encoded(files: Mapping[str, bytes]) -> EncodedFiles:
    """Return files in base64. `files` maps relative paths to contents."""
    return {path: base64.b64encode(data).decode() for path, data in files.items()}
