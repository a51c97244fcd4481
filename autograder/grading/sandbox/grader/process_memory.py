"""Relatives, threads and memory use of other processes, on Linux."""

from __future__ import annotations

import contextlib
import os
import re
import resource
from pathlib import Path

_PAGE = resource.getpagesize()


def descendants(process: int) -> list[int]:
    """Return the process ids of a process and its descendants. The first id is that of the process itself."""
    found = [process]
    for each in found:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{each}/task"):
                with contextlib.suppress(OSError):
                    children = Path(f"/proc/{each}/task/{thread}/children").read_text(encoding="utf-8")
                    found += map(int, children.split())
    return found


def parent(process: int) -> int:
    """Return the process id of a process's parent. Raises OSError if the process has ended."""
    return int(_state(process)[1])


def threads(process: int) -> int:
    """Return the number of a process's threads, or 0 if it is unknown."""
    with contextlib.suppress(OSError):
        return int(_state(process)[17])
    return 0


def _state(process: int) -> list[str]:
    """Return the fields after a process's name, which may hold anything. Source: proc_pid_stat(5)."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    return stat.rpartition(")")[2].split()


def resident(process: int) -> int:
    """Return the bytes of memory that a process has, or 0 if they are unknown.

    Memory shared with other processes is counted in full.
    """
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1]) * _PAGE
    return 0


def memory(process: int) -> int:
    """Return the bytes of memory that a process uses, or 0 if they are unknown.

    The contents of files are not counted. Memory shared with other processes is counted in proportion.
    """
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
        return sum(int(kb) << 10 for kb in re.findall(r"^(?:Pss_Anon|Pss_Shmem|SwapPss): +(\d+) kB", text, re.M))
    with contextlib.suppress(OSError):
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()
        return (int(resident) - int(shared)) * _PAGE
    return 0
