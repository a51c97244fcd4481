"""GPU recordings, and what a lesson says of them.

A recording is the file `recordings/<name of the measuring function>.json` beside this module. It is made by
benchmarks/record_cuda.py on a machine with a GPU, and holds the name of the GPU, the version of torch and the measured
values.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

RECORDINGS = Path(__file__).parent / "recordings"  # in the package, so that the wheel has them

Measured = dict[str, "bool | int | float"]  # bytes, counts or flags by label
Claims = Callable[[Any], dict[str, bool]]  # what a lesson says of measured values, and whether it is true of these


def read_recording(measure: Callable[[], Measured]) -> dict[str, Any] | None:
    """Return the recording of a measuring function, or None if there is none."""
    path = RECORDINGS / f"{measure.__name__}.json"
    if not path.exists():
        return None
    recording: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return recording


def check_claims(measure: Callable[[], Measured], claims: Claims) -> None:
    """Check what a lesson says of the values that `measure()` returns on a GPU.

    The values are those of this machine's GPU, or else those of the recording. Does nothing if there is neither.
    Raises AssertionError, which names the false statements.
    """
    if torch.cuda.is_available():
        measured = measure()
    elif recording := read_recording(measure):
        measured = recording["measured"]
    else:
        return
    false = [statement for statement, holds in claims(measured).items() if not holds]
    assert not false, f"{measure.__name__} shows that these are false: {false}, {measured}"
