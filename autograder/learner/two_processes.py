"""Two processes on this machine that train together, started from a notebook.

A function of the notebook runs in both. `torch.distributed` joins them by gloo, which needs no GPU. This module is also
the program of such a process: `python -m autograder.learner.two_processes FOLDER RANK NAME SECONDS`.
"""

from __future__ import annotations

import datetime
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch

from ..messages.learners import message
from ..session import SESSION, being_graded
from .replies import Reply, TableReply

PACKAGES = Path(__file__).parents[2]  # the folder from which `autograder` can be imported
_SHOWN = 300  # characters of an error
_LOOPBACK = {"linux": "lo", "darwin": "lo0"}


def two_processes(worker: Callable[[int], dict[str, object]], seconds: float = 90) -> TableReply | Reply:
    """Run `worker(0)` and `worker(1)` in two new processes; return a table of what they return.

    `worker` is a function defined in the notebook. It imports and defines all that it uses, because the new processes
    know nothing else of the notebook, and returns a dict from label to value. Inside it `torch.distributed` is already
    initialised. Both processes have ended when this function returns, even if it was interrupted. If they could not
    run, or took more than `seconds`, a `Reply` says so. Nothing is started while nbgrader runs the notebook.
    """
    if being_graded():
        return Reply((message("processes.graded"),))
    if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
        return Reply((message("processes.nowhere"),))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "worker.py").write_text(textwrap.dedent(inspect.getsource(worker)), encoding="utf-8")
        processes = [_start(folder, rank, worker.__name__, seconds) for rank in (0, 1)]
        try:
            in_time = _wait(processes, seconds)
        finally:
            _end(processes)
        if not in_time:
            return Reply((message("processes.slow", seconds=f"{seconds:g}"),))
        found = [_read(folder / f"{rank}.json") for rank in (0, 1)]
        if None in found:
            return Reply((message("processes.failed"), _error_in(folder)))
        return _table([each for each in found if each is not None])


def _start(folder: Path, rank: int, name: str, seconds: float) -> subprocess.Popen[bytes]:
    """Start the process number `rank`. It ends by itself when this process ends, because its stdin is closed then."""
    paths = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}
    if sys.platform in _LOOPBACK:  # gloo would look up this machine's name, and may not find it
        environment.setdefault("GLOO_SOCKET_IFNAME", _LOOPBACK[sys.platform])
    with (folder / f"{rank}.txt").open("wb") as output:
        command = [sys.executable, "-m", __name__, str(folder), str(rank), name, str(seconds)]
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # the interrupt of a cell is for the kernel alone
        )


def _wait(processes: list[subprocess.Popen[bytes]], seconds: float) -> bool:
    """Wait until both processes have ended or one has failed. Returns False if `seconds` were not enough."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended = [process.poll() for process in processes]
        if None not in ended or any(ended):
            return True
        time.sleep(0.02)
    return False


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.kill()
        process.communicate()


def _read(file: Path) -> dict[str, str] | None:
    """Return the dict that a process has written into `file`, or None if the process did not finish."""
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def _error_in(folder: Path) -> str:
    """Return the error that ended the processes, in one line. A lost connection only follows from the other's error."""
    said = [(folder / f"{rank}.txt").read_text(encoding="utf-8", errors="replace") for rank in (0, 1)]
    found = re.findall(r"^(?:\[rank\d\]: )?([\w.]*(?:Error|Exception)\b.*)", "\n".join(said), re.M)
    found.sort(key=lambda error: "Connection closed by peer" in error)
    return found[0][:_SHOWN] if found else "?"


def _table(found: list[dict[str, str]]) -> TableReply:
    labels = list(dict.fromkeys(label for each in found for label in each))
    head = ("", *(message("processes.one", rank=str(rank)).read(SESSION.language) for rank in (0, 1)))
    rows = tuple((label, *(each.get(label, "") for each in found)) for label in labels)
    return TableReply(message("processes.title", torch=torch.__version__).read(SESSION.language), head, rows)


def _work(folder: Path, rank: int, name: str, seconds: float) -> None:
    """Join the other process, run the worker function `name`, and write what it returns."""

    def end_with_the_notebook() -> None:
        while os.read(0, 1):  # not `sys.stdin`, whose lock a thread may hold when the interpreter ends
            pass
        os._exit(1)

    threading.Thread(target=end_with_the_notebook, daemon=True).start()
    torch.set_num_threads(1)
    store = torch.distributed.FileStore(str(folder / "store"), 2)  # type: ignore[attr-defined]
    timeout = datetime.timedelta(seconds=seconds)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timeout)
    file = folder / "worker.py"
    namespace: dict[str, object] = {"__name__": "worker"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), namespace)
    returned = namespace[name](rank)  # type: ignore[operator]
    text = json.dumps({str(label): str(value) for label, value in returned.items()})
    partial = folder / f"{rank}.part"
    partial.write_text(text, encoding="utf-8")
    partial.replace(folder / f"{rank}.json")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    _work(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
