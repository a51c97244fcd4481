"""Limits on a submission's resources, and names of walls."""

from __future__ import annotations

from dataclasses import dataclass

# Walls: Linux namespaces; Landlock with seccomp; nothing. AUTO stands for the strongest of the first two.
FULL, LANDLOCK, NONE, AUTO = "full", "landlock", "none", "auto"
ISOLATIONS = (AUTO, FULL, LANDLOCK, NONE)


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
