"""The steps of a Dockerfile's last stage and the services of a compose file, without a container."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

from autograder.lessons.source import REPOSITORY
from support.machine import Machine

# pip installs into an environment of the machine's own. The packages of these tests count as installed.
_PIP = """\
#!/bin/sh
exec {python} -m pip --disable-pip-version-check --python {environment}/bin/python "$@" --no-index --no-build-isolation
"""


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, each with its arguments."""
    lines = re.sub(r"^#.*\n", "", dockerfile.read_text(encoding="utf-8"), flags=re.M).replace("\\\n", " ")
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines.splitlines()) if name]


class Image:
    """An image as it would be, with its files on a machine."""

    def __init__(self, dockerfile: Path, machine: Machine) -> None:
        self.machine = machine
        self.workdir = "/"
        self.command: list[str] = []
        self._prepare_pip()
        steps = instructions(dockerfile)
        last = max(number for number, (name, _) in enumerate(steps) if name == "FROM")
        for name, rest in steps[last + 1 :]:
            if rest.startswith("--from="):
                continue  # the proxy, which is on the PATH here
            getattr(self, f"_{name.lower()}")(rest)

    def _prepare_pip(self) -> None:
        """Put a `pip` for the machine on its PATH. What this environment has is beside what it installs."""
        environment = self.machine.folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        for shared in ("etc", "share"):  # Jupyter's extensions
            (environment / shared).symlink_to(Path(sys.prefix, shared))
        programs = environment / "bin"
        for program in Path(sys.executable).parent.iterdir():
            if not (programs / program.name).exists() and program.name != "autograder":
                (programs / program.name).symlink_to(program)
        (programs / "pip").unlink()
        (programs / "pip").write_text(_PIP.format(python=sys.executable, environment=environment))
        (programs / "pip").chmod(0o755)
        (packages,) = environment.glob("lib/python*/site-packages")
        self.machine.variables["PATH"] = path = f"{programs}:{self.machine.variables['PATH']}"
        self.machine.path("/etc/profile.d/image.sh").write_text(f"export PATH={path}\n")  # for shells at login
        self.machine.variables["PYTHONPATH"] = f"{packages}:{sysconfig.get_path('purelib')}"

    def _workdir(self, rest: str) -> None:
        self.workdir = rest
        self.machine.run("mkdir", "-p", rest)

    def _copy(self, rest: str) -> None:
        *sources, target = rest.split()
        # A folder is copied with its contents, not as itself.
        for source in sources:
            path = REPOSITORY / source
            into = target if path.is_dir() else f"{target}/"
            self.machine.run("mkdir", "-p", into, cwd=self.workdir)
            self.machine.run("cp", "-r", f"{path}/." if path.is_dir() else path, into, cwd=self.workdir)

    def _run(self, rest: str) -> None:
        if rest.startswith("apt-get"):
            return  # there is no network; this machine has its packages
        self.machine.run("sh", "-c", rest, cwd=self.workdir)

    def _expose(self, rest: str) -> None:
        assert rest.isdecimal()

    def _cmd(self, rest: str) -> None:
        self.command = json.loads(rest)
