"""Saving tensors in temporary files."""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


class TempFile:
    """A temporary file, deleted together with this Python object.

    Deleting does not fail if the file is missing.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.name = os.path.join(folder or tempfile.gettempdir(), str(uuid.uuid4()))

    def __del__(self) -> None:
        Path(self.name).unlink(missing_ok=True)


def read_file(file: TempFile) -> Tensor:
    loaded: Tensor = torch.load(file.name)
    return loaded


def write_file(t: Tensor, folder: str | None = None) -> TempFile:
    file = TempFile(folder)
    torch.save(t, file.name)
    return file


def read_if_file(packed: Any) -> Any:
    return packed if isinstance(packed, Tensor) else read_file(packed)


def count_files(folder: str) -> tuple[int, int]:
    """Return the number of files in a folder, subfolders included, and the sum of their bytes."""
    sizes = [path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def largest_file(folder: str) -> int:
    """Return the bytes of the largest file in a folder, subfolders included, or 0."""
    return max((path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()), default=0)
