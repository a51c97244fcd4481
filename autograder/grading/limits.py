"""Limits on a submission's resources."""

from __future__ import annotations

from dataclasses import dataclass

MOST_FILES = 5_000  # files and folders in a child's folder; a watch that counts so many takes about 50 ms


@dataclass(frozen=True)
class Limits:
    """The resources that one submission may use.

    Seconds are wall time. `memory` and names that end in `_bytes` are in bytes.
    """

    cell_seconds: float = 60
    total_seconds: float = 600
    memory: int = 4 << 30
    processes: int = 64
    open_files: int = 256
    file_bytes: int = 64 << 20
    disk_bytes: int = 256 << 20
    output_bytes: int = 1 << 20  # of one cell
