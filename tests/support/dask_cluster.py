"""A real Dask scheduler and workers, as processes that see no course folder."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from support.course import BIN

_SECONDS = 120
# Two addresses of a link, and no address that a company's network uses (RFC 6598).
_NET = "100.100.{}.{}"


class NetworkNamespace:
    """A network namespace, connected to this machine by one link.

    `here` is the address of this machine on the link. `prefix` begins a command that runs inside. Needs root.
    """

    def __init__(self, number: int) -> None:
        self.name = f"ag{os.getpid()}-{number}"
        net = 4 * os.getpid() % 256 + number
        self.here, there = _NET.format(net, 1), _NET.format(net, 2)
        self.prefix = ["ip", "netns", "exec", self.name]
        outside, inside = f"a{os.getpid()}-{number}", f"b{os.getpid()}-{number}"
        _ip("netns", "add", self.name)
        _ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", self.name)
        _ip("address", "add", f"{self.here}/30", "dev", outside)
        _ip("link", "set", outside, "up")
        for arguments in (("address", "add", f"{there}/30", "dev", inside), ("link", "set", inside, "up")):
            _ip("-n", self.name, *arguments)
        _ip("-n", self.name, "link", "set", "lo", "up")

    def close(self) -> None:
        _ip("netns", "delete", self.name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class DaskCluster:
    """A scheduler and its workers. All are ended at the end of a `with` block.

    `hidden` is a folder that workers do not see, if the tests run as root. With `networks`, there are three network
    namespaces for workers.
    """

    def __init__(self, folder: Path, hidden: Path, networks: bool = False) -> None:
        self.folder, self._hidden = folder, hidden
        self.networks = [NetworkNamespace(number) for number in range(3 if networks else 0)]
        self.processes: list[subprocess.Popen[bytes]] = []
        self.logs: list[Path] = []

    def __enter__(self) -> DaskCluster:
        self.folder.mkdir()
        host = "0.0.0.0" if self.networks else "127.0.0.1"
        environment = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
        self._start("scheduler", ["--host", host, "--port", "0", "--no-dashboard"], environment)
        self._port = self._wait_for(self.logs[0], r"Scheduler at:\s+tcp://\S+:(\d+)")
        self.address = f"tcp://127.0.0.1:{self._port}"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        for network in self.networks:
            network.close()

    def add_worker(
        self, path: str = "", hide: bool = True, core: int | None = None, network: NetworkNamespace | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a worker, and return its process when it is registered.

        `path` is put in front of Python's path. `core` is the only one that the worker may use.
        """
        address = f"tcp://{network.here}:{self._port}" if network else self.address
        arguments = [address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", "space"]
        environment = {"PYTHONPATH": path} if path else {}
        process = self._start("worker", arguments, environment, hide, network.prefix if network else ())
        if core is not None:
            os.sched_setaffinity(process.pid, {core})  # before it has threads
        self._wait_for(self.logs[-1], "Registered to")
        return process

    def _start(
        self,
        what: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        hide: bool = False,
        prefix: Sequence[str] = (),
    ) -> subprocess.Popen[bytes]:
        folder = self.folder / f"{what}-{len(self.processes)}"
        folder.mkdir()
        command = [str(BIN / "dask"), what, *arguments]
        if hide and os.geteuid() == 0:  # a mount namespace in which the course is covered
            cover = f'mount -t tmpfs none "{self._hidden}" && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", cover, "sh", *command]
        command = [*prefix, *command]
        log = folder / "log"
        self.logs.append(log)
        (folder / "tmp").mkdir()
        inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment = {**inherited, "TMPDIR": str(folder / "tmp"), **environment}
        with log.open("wb") as stream:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdout=stream, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def _wait_for(self, log: Path, pattern: str) -> str:
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[1] if found.groups() else found[0]
            time.sleep(0.1)
        raise AssertionError(log.read_text(errors="replace"))
