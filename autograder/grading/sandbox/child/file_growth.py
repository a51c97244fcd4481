"""A limit on files while the kernel counts memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from resource import RLIMIT_FSIZE, getrlimit, setrlimit


@contextmanager
def no_file_grows() -> Iterator[None]:
    """Let this process extend no file in the `with` block: it gets an OSError.

    Pages of a file that is removed again would count nowhere. The hard limit stays, so student code could raise the
    limit again, by a name that is conspicuous.
    """
    soft, hard = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        setrlimit(RLIMIT_FSIZE, (soft, hard))
