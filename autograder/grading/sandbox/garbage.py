"""Garbage collection around data that lives as long as its process."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_frozen() -> Iterator[None]:
    """Disable garbage collection inside, and afterwards freeze all objects permanently.

    Collecting all of torch takes as long as ten submissions, and in a child it would copy every page.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
