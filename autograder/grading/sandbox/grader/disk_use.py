"""Disk space of a folder that a student's process writes in."""

from __future__ import annotations

import os

_MOST = 20_000  # files and folders, as in the namespaces' folders; it also bounds the time of a look


def exceeds(folder: str, most: int) -> bool:
    """Return whether the files in a folder take more than `most` bytes of the disk, or are too many.

    A folder that cannot be listed, such as one with a path that is too long, exceeds every limit. A file that was
    deleted while it is open is not counted.
    """
    used = count = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    count += 1
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if used > most or count > _MOST:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except FileNotFoundError:  # deleted meanwhile
            continue
        except OSError:
            return True
    return False
