"""Garbage collections of what an answer made, and of nothing older."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def older_objects_frozen() -> Iterator[None]:
    """Exclude all objects of before from collections in the `with` block. This is a context manager.

    Reference cycles of before stay in memory. A collection does not walk over torch's objects: observing `fixed_point`
    takes 0.03 s instead of 0.4 s. Where objects were frozen already, all stay frozen: `gc.unfreeze` knows no subset.
    """
    frozen = gc.get_freeze_count()
    gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()
