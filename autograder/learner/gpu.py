"""GPU measurements, taken on this machine or read from a recording.

A recording is the file `recordings/<name of the measuring function>.json` beside this module. It is made by
benchmarks/record_cuda.py on a machine with a GPU, and holds the name of the GPU, the version of torch and the measured
values. Without GPU and recording, a lesson says that there are no numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..language import grouped
from ..messages.cards import message
from ..session import SESSION
from .replies import Reply, Table

RECORDINGS = Path(__file__).parent / "recordings"  # in the package, so that the wheel has them

Measured = dict[str, "bool | int | float"]  # bytes, counts or flags by label


def on_gpu(measure: Callable[[], Measured]) -> Table | Reply:
    """Return a table of the values that `measure()` returns.

    If this machine has a GPU, `measure` is called; else its recording is read. If there is no recording either, a
    `Reply` says so.
    """
    if torch.cuda.is_available():
        return _table("gpu.here", measure(), device=torch.cuda.get_device_name(), torch=torch.__version__)
    recording = RECORDINGS / f"{measure.__name__}.json"
    if not recording.exists():
        return Reply((message("gpu.nowhere"),))
    recorded: dict[str, Any] = json.loads(recording.read_text(encoding="utf-8"))
    return _table("gpu.recorded", recorded["measured"], device=recorded["device"], torch=recorded["torch"])


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


def _table(title: str, measured: Measured, **parameters: str) -> Table:
    language = SESSION.speaks
    rows = tuple(
        (label, str(value) if isinstance(value, bool) else grouped(value, language))
        for label, value in measured.items()
    )
    return Table(message(title, **parameters).read(SESSION.language), ("", ""), rows)
