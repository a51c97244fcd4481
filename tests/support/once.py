"""Things that are made once in a run of the tests, for all workers."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def once(place: Path, make: Callable[[], None]) -> None:
    """Make something in a folder, unless this worker or another has made it before."""
    place.parent.mkdir(exist_ok=True)
    done = place.with_suffix(".done")
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            make()
            done.touch()
