"""GPU measurements, taken on this machine or read from a recording."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..language import grouped
from ..lessons.gpu_recordings import Measured, read_recording
from ..messages.learners import message
from ..session import SESSION
from .replies import Reply, TableReply


def on_gpu(measure: Callable[[], Measured]) -> TableReply | Reply:
    """Return a table of the values that `measure()` returns.

    If this machine has a GPU, `measure` is called; else its recording is read. If there is no recording either, a
    `Reply` says so.
    """
    if torch.cuda.is_available():
        return _table("gpu.here", measure(), device=torch.cuda.get_device_name(), torch=torch.__version__)
    found = read_recording(measure)
    if found is None:
        return Reply((message("gpu.nowhere"),))
    return _table("gpu.recorded", found["measured"], device=found["device"], torch=found["torch"])


def gpu_peak(work: Callable[[], object]) -> int:
    """Return the peak of bytes allocated on the GPU during `work()`, beyond the bytes allocated before.

    `work` is run twice, and the second run is measured. The first run allocates a workspace for matrix products, which
    stays, and gradients in `.grad`.
    """
    work()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    return torch.cuda.max_memory_allocated() - before


def _table(title: str, measured: Measured, **parameters: str) -> TableReply:
    language = SESSION.speaks
    rows = tuple(
        (label, str(value) if isinstance(value, bool) else grouped(value, language))
        for label, value in measured.items()
    )
    return TableReply(message(title, **parameters).read(SESSION.language), ("", ""), rows)
