"""Encoding of an assignment's files, except notebooks, for sending into the sandbox."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from ...authoring.redaction import read_lesson
from ...errors import UserError
from ...exercises import lesson_paths, module_files

EncodedFiles = dict[str, str]  # contents in base64 by relative path, as they are sent into the sandbox

_LARGEST = 24 << 20  # total bytes: every child receives them


def encoded_files(folder: Path) -> EncodedFiles:
    """Return the files of an assignment.

    `folder` is the assignment's source folder. Notebooks and answer keys are omitted. The modules of a private lesson's
    exercises lose their mistakes. These modules come last in the dict, each after the modules from which it imports.
    The child loads them in this order.
    Raises UserError if the files exceed 24 MB together.
    """
    exercises = folder / "exercises"  # of a private lesson
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _is_omitted(path, exercises)]
    if sum(path.stat().st_size for path in paths) > _LARGEST:
        raise UserError(f"the files in {folder} are larger than {_LARGEST >> 20} MB together")
    data = {path: path.read_bytes() for path in paths}
    for lesson in lesson_paths(exercises):
        files = module_files(lesson)
        data |= {files[name]: text.encode() for name, text in read_lesson(lesson).redacted().items()}
    return encoded({path.relative_to(folder).as_posix(): each for path, each in data.items()})


def _is_omitted(path: Path, exercises: Path) -> bool:
    """Return whether a file is not sent into the sandbox as it is.

    Not sent are notebooks, answer keys, cached bytecode, and modules in the folder `exercises`.
    """
    own = path.is_relative_to(exercises) and (
        path.suffix == ".py" or path.name == "key.json" or path.parent.name == "keys"
    )
    return own or path.suffix == ".ipynb" or "__pycache__" in path.parts


def encoded(files: Mapping[str, bytes]) -> EncodedFiles:
    """Return files in base64. `files` maps relative paths to contents."""
    return {path: base64.b64encode(data).decode() for path, data in files.items()}
