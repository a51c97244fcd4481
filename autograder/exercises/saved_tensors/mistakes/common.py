"""Helpers of wrong answers to several exercises."""

import os
import tempfile
import uuid
from pathlib import Path

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint


def running_with_hooks(pack, unpack):
    """Return a function of `f` and `x` that returns `f(x)`, run under these saved-tensor hooks."""

    def run(f, x):
        with saved_tensors_hooks(pack, unpack):
            return f(x)

    return run


def checkpoint_segments(layers, x, size):
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=False)
    return x


class TempFile:
    """A temporary file, deleted together with this Python object.

    Deleting does not fail if the file is missing.
    """

    def __init__(self, folder=None):
        self.name = os.path.join(folder or tempfile.gettempdir(), str(uuid.uuid4()))

    def __del__(self):
        Path(self.name).unlink(missing_ok=True)


def read_file(file):
    loaded = torch.load(file.name)
    return loaded


def write_file(t, folder=None):
    file = TempFile(folder)
    torch.save(t, file.name)
    return file


def read_if_file(packed):
    return packed if isinstance(packed, Tensor) else read_file(packed)
