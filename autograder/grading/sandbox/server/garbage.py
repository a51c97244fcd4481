"""Garbage collection that leaves out data needed until the process ends."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_frozen() -> Iterator[None]:
    """Disable garbage collection in the `with` block. This is a context manager.

    At the end of the `with` block all objects are permanently excluded from later collections. Collecting all of torch
    takes as long as ten submissions. In a child it would also copy every memory page.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
