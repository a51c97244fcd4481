"""Limits on a submission's resources, and the kinds of walls."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Wall(StrEnum):
    """The kinds of isolation around students' code; AUTO chooses between two."""

    AUTO = "auto"  # the stronger of FULL and LANDLOCK that a machine gives
    FULL = "full"  # Linux namespaces
    LANDLOCK = "landlock"  # Landlock with seccomp
    NONE = "none"


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
