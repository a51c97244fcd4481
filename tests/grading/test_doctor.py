"""`autograder doctor` as root, as an ordinary user, without namespaces and without Linux."""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from autograder.grading.doctor import _LESSON, examine
from autograder.grading.limits import Limits
from autograder.lessons.collection import COURSE, Collection
from support.course import run_autograder
from support.forbidden import LANDLOCK, NAMESPACES, forbid
from support.machine import machine

pytestmark = pytest.mark.long(45)

DOCTOR = [sys.executable, "-m", "autograder.cli", "doctor"]


def within_own_users(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script as the root of new users: to the machine it is an ordinary user, whoever runs the tests."""
    if not shutil.which("unshare"):
        pytest.skip("needs util-linux's unshare")
    return subprocess.run(["unshare", "-U", "-r", "sh", "-c", script], capture_output=True, text=True, check=False)


@pytest.fixture
def ordinary() -> None:
    if within_own_users("true").returncode:
        pytest.skip("this machine lets nobody make namespaces; `autograder doctor` says how to allow it")


@pytest.mark.usefixtures("ordinary")
def test_a_machine_that_isolates() -> None:
    for said in (run_autograder("doctor"), within_own_users(" ".join(DOCTOR))):
        assert (said.returncode, said.stderr) == (0, "")
        assert said.stdout.startswith("✓ answers are isolated")
        assert "✓ the course's own solutions of a lesson get all points: Python" in said.stdout


@pytest.mark.usefixtures("ordinary")
@pytest.mark.nightly(twin="tests/grading/test_doctor.py::test_a_machine_that_isolates")
def test_a_machine_that_forbids_namespaces() -> None:
    said = within_own_users(f"echo 0 > /proc/sys/user/max_user_namespaces && {' '.join(DOCTOR)}")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("✗ the first wall (full) cannot be built")
    assert "✓ answers are isolated by the second wall (landlock)" in said.stdout
    assert "--isolation=auto" in said.stdout
    assert "sysctl -w user.max_user_namespaces=15000" in said.stdout


@pytest.mark.usefixtures("ordinary", "quick_fork_servers")
def test_a_torch_with_which_a_solution_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a torch that computes something else, the course's own solution does not get all points."""
    (lesson,) = COURSE.read([_LESSON])
    cells = [replace(cell, source=cell.source.replace("y) / len(batches)\n", "y)\n")) for cell in lesson.cells]
    monkeypatch.setattr(Collection, "read", lambda *_: [replace(lesson, cells=cells)])
    healthy, said = examine()
    assert not healthy
    assert "✓ answers are isolated" in said
    assert "✗ the course's own solution of 03_gradient_accumulation does not get all points" in said
    assert f"Python {platform.python_version()} with torch {torch.__version__}" in said
    assert "install versions that it was tried on" in said


@pytest.mark.nightly(twin="tests/grading/test_doctor.py::test_a_machine_that_isolates")
@pytest.mark.usefixtures("ordinary")
def test_a_container_that_forbids_namespaces() -> None:
    command = forbid(NAMESPACES, DOCTOR)
    for said in (
        subprocess.run(command, capture_output=True, text=True, check=False),
        within_own_users(shlex.join(command)),
    ):
        assert (said.returncode, said.stderr) == (0, "")
        assert "✓ answers are isolated by the second wall (landlock)" in said.stdout


_WHO = """
from autograder.grading.sandbox.grader.engine import Engine
with Engine(wall="landlock") as engine, engine.fork() as child:
    said = child.ask("cell", source="import os, resource as r\\nprint(os.getuid(), r.getrlimit(r.RLIMIT_NPROC)[0])")
    print(said)
"""


@pytest.mark.nightly(twin="tests/grading/test_doctor.py::test_a_machine_that_isolates")
def test_root_and_an_ordinary_user_of_a_container() -> None:
    """On a machine where Python may be read by all. There, root gives each child a user of its own."""
    with machine([]) as here:
        here.run("useradd", "--create-home", "ann")
        assert "by the second wall (landlock)" in here.run(*forbid(NAMESPACES, DOCTOR), user="ann", cwd="/tmp")
        said = here.run(*forbid(NAMESPACES, [sys.executable, "-c", _WHO]), cwd="/tmp")
        user, processes = re.search(r"(\d+) (\d+)", said).groups()  # type: ignore[union-attr]
        assert int(user) > 1_000_000
        assert int(processes) == Limits().processes


@pytest.mark.nightly(twin="tests/grading/test_doctor.py::test_a_machine_that_isolates")
def test_a_container_that_forbids_both_walls() -> None:
    said = subprocess.run(forbid(NAMESPACES | LANDLOCK, DOCTOR), capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (1, "")
    assert said.stdout.startswith("✗ answers cannot be isolated")
    assert "✗ nor by the second wall (landlock): landlock_create_ruleset" in said.stdout
    assert "--isolation=none" in said.stdout


# Each command in a fork, which writes into files of its own. torch is imported once.
OTHER_SYSTEM = """
import os, sys, torch, zoneinfo  # which reads a file of this system
sys.platform = "darwin"
for name in ("sched_getaffinity", "sched_setaffinity", "pidfd_open"):
    delattr(os, name)
for number, command in enumerate({commands}):
    if not os.fork():
        sys.stdout, sys.stderr = (open(f"{{number}}.{{name}}", "w") for name in ("out", "err"))
        from autograder.cli import main
        sys.exit(main(command))
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
NEED_LINUX = (["doctor"], ["grade", "."], ["grade", ".", "--isolation=none"])
TO_WORKERS = ["grade", ".", "--scheduler", "tcp://there"]


@pytest.mark.nightly(twin="tests/grading/test_doctor.py::test_a_machine_that_isolates")
def test_another_system_than_linux(tmp_path: Path) -> None:
    """Commands say that they need Linux, unless they send submissions to workers."""
    script = OTHER_SYSTEM.format(commands=[*NEED_LINUX, TO_WORKERS])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["1"] * 4
    said = [tmp_path.joinpath(f"{n}.out").read_text() + tmp_path.joinpath(f"{n}.err").read_text() for n in range(4)]
    assert not any("Traceback" in each for each in said)
    assert all("grade in a Docker container or on a Linux machine" in each for each in said[:-1])
    assert "is no course folder" in said[-1], "nothing about the system"
