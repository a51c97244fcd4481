"""Garbage collections of what an answer made, and of nothing older."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def rare_full_collections() -> Iterator[None]:
    """Put off collections of the oldest objects in the `with` block, as a context manager.

    Each walks over all of torch's objects: in a kernel they take more than half of a check of `walk_nodes`.
    """
    before = gc.get_threshold()
    gc.set_threshold(*before[:2], 10_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextlib.contextmanager
def older_objects_frozen() -> Iterator[None]:
    """Exclude all objects of before from collections in the `with` block. This is a context manager.

    A collection then does not walk over torch's objects. In a notebook with 1.5 million objects, `hooks_and_freeing`
    takes 0.03 s instead of 15 s for an answer that collects after each walk. Where torch is frozen already, nothing
    else is: a mistake's program would stay in the memory of a grader.

    Only a probe that needs it uses this. After it, Python's next full collection comes sooner, and takes up to 0.4 s.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
