"""Connections to a Dask scheduler, which runs elsewhere or is started here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor

import dask
from distributed import Client, LocalCluster

from ...errors import UserError
from ..doctor import examine
from .dask_executor import BATCH, DaskExecutor
from .version import differences, versions

_PATIENCE = 30  # seconds until a scheduler must answer
_LOCAL = "local:"


@contextlib.contextmanager
def dask_workers(address: str) -> Iterator[tuple[Executor, int]]:
    """Yield an executor on the workers of a scheduler, and how many submissions to send ahead.

    This is a context manager. `address` is that of a running scheduler, or "local:N" to start one here with N workers.
    Raises UserError with the remedy if there is no scheduler or no worker.
    """
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GiB"})  # submissions are part of the tasks
    with contextlib.ExitStack() as opened:
        if address.startswith(_LOCAL):
            count = address.removeprefix(_LOCAL)
            if not count.isdecimal() or int(count) < 1:
                raise UserError(f"--scheduler {address}: write local:2 for two workers on this machine")
            dask.config.set({"distributed.scheduler.allowed-failures": 1, "distributed.worker.memory.spill": False})
            cluster = LocalCluster(n_workers=int(count), threads_per_worker=1, dashboard_address=":0")  # type: ignore[no-untyped-call]
            address = opened.enter_context(cluster).scheduler_address
        client = opened.enter_context(_connect(address))
        yield DaskExecutor(client), 2 * sum(client.nthreads().values()) * BATCH


def examine_workers(address: str) -> tuple[bool, str]:
    """Examine the workers of a scheduler: versions, and walls around answers.

    Returns whether all workers can grade for this machine, and a text about each of them.
    Raises UserError with the remedy if there is no scheduler or no worker.
    """
    with _connect(address) as client:
        found = client.run(_examine, versions(), on_error="return")
    texts = {worker: each if isinstance(each, tuple) else (False, f"✗ {each!r}") for worker, each in found.items()}
    return all(fits for fits, _ in texts.values()), "\n\n".join(
        f"{worker}\n{text}" for worker, (_, text) in texts.items()
    )


def _examine(needed: dict[str, str]) -> tuple[bool, str]:
    """Return whether the worker that runs this function can grade, and a text with findings.

    `needed` are the versions of the machine that sends the submissions.
    """
    if wrong := differences(needed, versions()):
        return False, f"✗ not used: {wrong}"
    return examine()


def _connect(address: str) -> Client:
    """Return a client of a scheduler with workers, as a context manager. Raises UserError with the remedy."""
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise UserError(
            f"no Dask scheduler answers at {address} ({error}): start `dask scheduler` and `dask worker`"
        ) from error
    if not client.nthreads():  # type: ignore[no-untyped-call]
        client.close()  # type: ignore[no-untyped-call]
        raise UserError(f"the scheduler at {address} has no workers: start `dask worker {address}`")
    return client
