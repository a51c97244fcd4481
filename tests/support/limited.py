"""Work in a process with limits on time and memory."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from pathlib import Path

SECONDS, BYTES = 60, 1 << 30  # of a processor, six times the slowest seen; and more than before


def limit_memory() -> None:
    """Let this process take no more than so many bytes in addition."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + BYTES, pages + BYTES))


def limited(work: Callable[[], object]) -> None:
    """Do the work in a fork that the kernel kills when it takes too much."""

    def run() -> None:
        limit_memory()
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        work()

    child = multiprocessing.get_context("fork").Process(target=run)
    child.start()
    child.join()
    assert child.exitcode == 0
