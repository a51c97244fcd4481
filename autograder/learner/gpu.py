"""GPU measurements, taken on this machine or read from a recording.

A recording is the file `recordings/<name of the measuring function>.json` beside this module. It is made by
benchmarks/record_cuda.py on a machine with a GPU, and holds the name of the GPU, the version of torch and the measured
values. The prose of a lesson says what is seen on a GPU, and `check_claims` compares it with what was measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..language import grouped
from ..messages.learners import message
from ..session import SESSION
from .replies import Reply, Table

RECORDINGS = Path(__file__).parent / "recordings"  # in the package, so that the wheel has them

Measured = dict[str, "bool | int | float"]  # bytes, counts or flags by label
Claims = Callable[[Any], dict[str, bool]]  # what a lesson says of measured values, and whether it is true of these


def on_gpu(measure: Callable[[], Measured]) -> Table | Reply:
    """Return a table of the values that `measure()` returns.

    If this machine has a GPU, `measure` is called; else its recording is read. If there is no recording either, a
    `Reply` says so.
    """
    if torch.cuda.is_available():
        return _table("gpu.here", measure(), device=torch.cuda.get_device_name(), torch=torch.__version__)
    recorded = _recorded(measure)
    if recorded is None:
        return Reply((message("gpu.nowhere"),))
    return _table("gpu.recorded", recorded["measured"], device=recorded["device"], torch=recorded["torch"])


def check_claims(measure: Callable[[], Measured], claims: Claims) -> None:
    """Check what a lesson says of the values that `measure()` returns on a GPU.

    The values are those of this machine's GPU, or else those of the recording. Does nothing if there is neither.
    Raises AssertionError, which names the false statements.
    """
    if torch.cuda.is_available():
        measured = measure()
    elif recorded := _recorded(measure):
        measured = recorded["measured"]
    else:
        return
    false = [statement for statement, holds in claims(measured).items() if not holds]
    assert not false, f"{measure.__name__} shows that these are false: {false}, {measured}"


def _recorded(measure: Callable[[], Measured]) -> dict[str, Any] | None:
    recording = RECORDINGS / f"{measure.__name__}.json"
    if not recording.exists():
        return None
    recorded: dict[str, Any] = json.loads(recording.read_text(encoding="utf-8"))
    return recorded


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
