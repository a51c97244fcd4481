"""A limit on the memory that an answer takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from mmap import PAGESIZE
from pathlib import Path

import torch

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

MOST = 4 << 30  # bytes, as for a submission that is graded


@contextmanager
def memory_limited() -> Iterator[None]:
    """Let the process take at most `MOST` bytes more inside the `with` block than it has.

    A larger allocation fails at once. Without the limit it first fills the memory, which no time limit interrupts, and
    the system may then end the kernel. There is a limit on Linux alone, and none if the system sets a lower one. There
    is none beside a GPU either, because its driver reserves addresses for all memory of the machine.
    """
    if sys.platform != "linux" or resource is None or torch.cuda.is_available():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * PAGESIZE
    if soft != resource.RLIM_INFINITY and soft <= taken + MOST:
        yield
        return
    with suppress(ValueError):  # the system allows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (taken + MOST, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
