"""A pretended CUDA device with what lessons ask of `torch.cuda`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

from autograder.checking.devices.pretended_device import pretended_device

_STREAM = mock.MagicMock()
CUDA_FUNCTIONS: dict[str, Any] = {
    "is_available": lambda: True,
    "synchronize": lambda: None,
    "reset_peak_memory_stats": lambda: None,
    "memory_allocated": lambda: 0,
    "max_memory_allocated": lambda: 1,
    "is_current_stream_capturing": lambda: False,
    "Stream": lambda: _STREAM,
    "stream": lambda _: nullcontext(),
    "current_stream": lambda: _STREAM,
}


@contextmanager
def pretended_cuda() -> Iterator[None]:
    """Let the `with` block use a device "cuda" that this machine lacks."""
    # Optimizers of torch 2.15 ask an accelerator that is available for its stream.
    no_accelerator = mock.patch("torch.accelerator.current_accelerator", return_value=None)
    with mock.patch.multiple("torch.cuda", **CUDA_FUNCTIONS), no_accelerator, pretended_device("cuda"):
        yield
