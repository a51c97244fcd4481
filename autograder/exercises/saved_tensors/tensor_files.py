"""Saving tensors in temporary files."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from .common import Function


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


@functools.cache
def _shared_folder(name: str, parent: str) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=parent)


def empty_folder(name: str) -> str:
    """Return the path of an empty folder, the same one for the same `name` in this process.

    A new folder for each case would take 2.5 ms.
    """
    parent = tempfile.gettempdir()
    folder = _shared_folder(name, parent).name
    if not os.path.isdir(folder):  # a forked child of the grader inherits the cache, but has another file system
        _shared_folder.cache_clear()
        folder = _shared_folder(name, parent).name
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry, ignore_errors=True)
        else:
            Path(entry).unlink(missing_ok=True)
    return folder


def saving_to_files(
    keep: Callable[[Tensor], object],
    write: Callable[[Tensor], object] = write_file,
    unpack: Callable[[Any], Any] = read_if_file,
    is_small: Callable[[int, int], bool] = int.__lt__,
    size: Callable[[Tensor], int] = Tensor.numel,
) -> Callable[[Function, Tensor, int], Tensor]:
    """Return an answer that saves large tensors in files; a mistake replaces parts of it.

    `keep` stores a small tensor, `write` a large one, and `unpack` restores both. `size` and `is_small` compare a
    tensor with the threshold.
    """

    def run(f: Function, x: Tensor, threshold: int) -> Tensor:
        def pack(t: Tensor) -> object:
            return keep(t) if is_small(size(t), threshold) else write(t)

        with saved_tensors_hooks(pack, unpack):
            return f(x)

    return run


def hooks_for_files(
    parameters: Sequence[Tensor],
    write: Callable[[Tensor], object],
    unpack: Callable[[Any], Any] = read_if_file,
) -> Any:
    """Return saved-tensor hooks that write every tensor except parameters to a file.

    `write` saves a tensor and returns what `unpack` needs.
    """
    weights = {p.untyped_storage().data_ptr() for p in parameters}

    def pack(t: Tensor) -> object:
        return t.detach() if t.untyped_storage().data_ptr() in weights else write(t)

    return saved_tensors_hooks(pack, unpack)


def copy_of(t: Tensor) -> Tensor:
    return t.detach().clone()


def keeping(stays: Callable[[Tensor], bool], folder: str) -> Any:
    """Return saved-tensor hooks that write every tensor to a file for which `stays` is not true."""
    return saved_tensors_hooks(lambda t: t.detach() if stays(t) else write_file(copy_of(t), folder), read_if_file)


def write_under_a_name(t: Tensor, folder: str) -> str:
    """Write a tensor to a file that nobody deletes, and return its name."""
    name = os.path.join(folder, str(uuid.uuid4()))
    torch.save(copy_of(t), name)
    return name


def load_if_name(packed: Any) -> Any:
    return packed if isinstance(packed, Tensor) else torch.load(packed)


def read_as_before(packed: Any) -> Any:
    """Return a tensor, read from a file and cast to its dtype if `packed` is a pair of file and dtype."""
    return packed if isinstance(packed, Tensor) else read_if_file(packed[0]).to(packed[1])


def largest_lacking(folder: str, saved: Sequence[int]) -> int:
    """Return the bytes of the largest tensor for which there is no file in a folder, or 0.

    `saved` holds the bytes of the tensors. A file may be larger than its tensor.
    """
    sizes = sorted((path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()), reverse=True)
    pairs = zip(sorted(saved, reverse=True), [*sizes, *[0] * len(saved)])
    return next((tensor for tensor, file in pairs if file < tensor), 0)


def remove_files(names: Sequence[str]) -> None:
    for name in names:
        Path(name).unlink(missing_ok=True)
