"""Garbage collection that leaves out data needed until the process ends."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_frozen() -> Iterator[None]:
    """Disable garbage collection in the `with` block. This is a context manager.

    At the end of the `with` block all objects are permanently excluded from later collections. To start grading then
    takes 6.4 s of processor time instead of 7.6 s.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
