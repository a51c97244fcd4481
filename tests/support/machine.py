"""A machine beside this one: own accounts, homes, processes and network, and the files of this machine.

It is made of Linux namespaces. Nothing that happens in it remains: /etc is a copy, /home and /srv are empty.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autograder.lessons.source import REPOSITORY
from support.needs import lack

# The machine's first process. It ends when its standard input does, and all others with it.
_FIRST = """
set -e
cp --archive /etc "$1/etc"
mount --bind "$1/etc" /etc
for folder in /home /srv; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
ip link set lo up
{open}
echo ready
read end || true
"""


class Machine:
    """The machine, from outside."""

    def __init__(self, folder: Path, process: int, path: str) -> None:
        self.folder = folder
        self.process = process  # any process of the machine, as this machine counts
        self.variables = {"PATH": path, "LANG": "C.UTF-8", "HOME": "/root"}
        self._enter = ["nsenter", f"--target={process}", "--mount", "--pid", "--net"]

    def command(self, *words: str | Path, user: str = "root", cwd: str = "/") -> list[str]:
        """Return the command line that runs a command as a user of the machine."""
        become = [] if user == "root" else ["runuser", "--user", user, "--"]
        home = [] if user == "root" else [f"HOME=/home/{user}"]
        return [*self._enter, *become, "env", f"--chdir={cwd}", *home, *map(str, words)]

    def path(self, path: str) -> Path:
        """Return where a file of the machine is from here."""
        return Path(f"/proc/{self.process}/root{path}")

    def run(self, *words: str | Path, **more: Any) -> str:
        """Run a command. Returns what it printed."""
        done = subprocess.run(self.command(*words, **more), env=self.variables, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@contextmanager
def machine(prefixes: Iterable[Path]) -> Iterator[Machine]:
    """Start a machine with the programs of the system, of this Python and of other places of installation."""
    if os.geteuid() or not all(map(shutil.which, ("unshare", "nsenter", "useradd", "ip"))):
        lack("a machine of its own needs root, and util-linux, passwd and iproute2 of Debian")
    with tempfile.TemporaryDirectory(prefix="machine-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        places = [*prefixes, Path(sys.prefix), Path(sys.base_prefix)]
        path = os.pathsep.join([*(str(each / "bin") for each in places), "/usr/sbin:/usr/bin:/sbin:/bin"])
        script = _FIRST.replace("{open}", "\n".join(_open([*places, REPOSITORY], folder)))
        new = ["unshare", "--mount", "--pid", "--net", "--fork", "--mount-proc", "--kill-child"]
        pipe = subprocess.PIPE
        with subprocess.Popen([*new, "sh", "-c", script, "sh", folder], stdin=pipe, stdout=pipe, text=True) as holder:
            try:
                assert holder.stdout
                if holder.stdout.readline() != "ready\n":
                    lack("this machine lets nobody make namespaces")
                (first,) = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
                yield Machine(folder, int(first), path)
            finally:
                holder.kill()


def _open(paths: Iterable[Path], folder: Path) -> Iterator[str]:
    """Yield commands that let other users of the machine reach these paths.

    A path may lie below a folder that only root enters, such as /root. The folder is hidden then, and holds nothing but
    the path.
    """
    closed: dict[Path, Path] = {}
    for path in sorted({each.resolve() for each in paths}):
        for parent in [*reversed(path.parents), path]:
            if not parent.stat().st_mode & 0o001:
                closed[path] = parent
                break
    kept = {path: folder / f"kept-{number}" for number, path in enumerate(closed)}
    for path, place in kept.items():
        yield f"mkdir '{place}' && mount --rbind '{path}' '{place}'"
    for parent in sorted(set(closed.values())):
        yield f"mount -t tmpfs -o mode=755 tmpfs '{parent}'"
    for path, place in kept.items():
        yield f"mkdir -p '{path}' && mount --rbind '{place}' '{path}'"
