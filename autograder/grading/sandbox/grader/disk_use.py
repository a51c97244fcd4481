"""Disk space of a folder that a student's process writes in."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence

from ...limits import MOST_FILES


def bytes_on_disk(process: int, folder: str | None, mounts: Sequence[str]) -> int:
    """Return the bytes that a child has on disk.

    They are in `folder`, or in file systems of its own where `folder` is None. `mounts` are their paths, as the child
    sees them. Raises OSError if nobody may look into them.
    """
    if folder is None:
        counts = [os.statvfs(f"/proc/{process}/root{mount}") for mount in mounts]
        return sum((each.f_blocks - each.f_bfree) * each.f_frsize for each in counts)
    used = nameless_bytes(process)
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                used += entry.stat(follow_symlinks=False).st_blocks * 512
                waiting += [entry.path] if entry.is_dir(follow_symlinks=False) else []
    return used


def exceeds(folder: str, most: int) -> bool:
    """Return whether the files in a folder take more than `most` bytes of the disk, or are too many.

    A folder that cannot be listed, such as one with a path that is too long, exceeds every limit. Files without a
    name are counted by `nameless_bytes`.
    """
    used = count = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    count += 1
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if used > most or count > MOST_FILES:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except FileNotFoundError:  # deleted meanwhile
            continue
        except OSError:
            return True
    return False


def nameless_bytes(process: int) -> int:
    """Return the bytes on disk of a process's open files without a name, such as deleted ones.

    Returns 0 if the process cannot be looked into.
    """
    used = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{process}/fd"):
            with contextlib.suppress(OSError):
                found = os.stat(f"/proc/{process}/fd/{name}")
                used += found.st_blocks * 512 if stat.S_ISREG(found.st_mode) and not found.st_nlink else 0
    return used
