"""An assignment's own files: data, and the exercises of a private lesson."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from ...authoring.redaction import ModuleSource
from ...errors import UserError

_MODULES, _KEYS = Path("exercises"), Path("exercises/keys")  # of a private lesson
_LARGEST = 24 << 20  # total bytes: every child receives them


def encoded_files(folder: Path) -> dict[str, str]:
    """Return the files of a source folder in base64 by relative path, for the sandbox.

    Notebooks are omitted, and so are keys, which hold results. Exercise modules are redacted: they lose their programs.
    Raises UserError if the files exceed 24 MB together.
    """
    found: dict[str, str] = {}
    total = 0
    for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
        inside = path.relative_to(folder)
        if path.is_file() and path.suffix != ".ipynb" and "__pycache__" not in path.parts and inside.parent != _KEYS:
            data = path.read_bytes()
            if inside.parent == _MODULES and path.suffix == ".py":
                data = ModuleSource(data.decode()).redacted().encode()
            total += len(data)
            if total > _LARGEST:
                raise UserError(f"the files in {folder} are larger than {_LARGEST >> 20} MB together")
            found[inside.as_posix()] = base64.b64encode(data).decode()
    return found


def encoded(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return files in base64 by relative path."""
    return {path: base64.b64encode(data).decode() for path, data in files.items()}
