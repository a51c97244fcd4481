"""Attacks on the wall of Landlock and seccomp, which needs no namespaces."""

from __future__ import annotations

import ast
import contextlib
import errno
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import autograder
from autograder.checking.exercise import Exercise
from autograder.grading.limits import Limits
from autograder.grading.sandbox.grader.disk_use import exceeds
from autograder.grading.sandbox.grader.engine import Engine
from autograder.grading.sandbox.grader.student_process import StudentProcess
from autograder.grading.sandbox.wall.system_calls import (
    CLONE,
    CLONE3,
    PRLIMIT,
    REFUSED,
    REFUSED_WITHOUT_NAMESPACES,
    SOCKETPAIR,
)
from autograder.grading.wall_kinds import Wall
from autograder.lessons.source import Lesson
from support import attacks
from support.assignment import Assignment, open_assignment
from support.attacks.attack import Attack
from support.attacks.defence import assert_honest_ones_are_graded, assert_no_gain

pytestmark = pytest.mark.long(15)

LIMITS = Limits(cell_seconds=1, total_seconds=8, memory=1 << 30, processes=12, disk_bytes=64 << 20)


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    folder = tmp_path_factory.mktemp("second")
    with open_assignment(lesson_source, exercises, folder, LIMITS, wall=Wall.LANDLOCK) as opened:
        yield opened
        assert_honest_ones_are_graded(opened)


NIGHTLY = pytest.mark.nightly(twin="tests/hostile/test_attacks.py::test_an_attack_does_not_pay")
ATTACKS = [
    pytest.param(attack, id=attack.name, marks=[] if attack.on_landlock else NIGHTLY)  # others end as behind the first
    for attack in attacks.ON_WALLS
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_does_not_pay(attack: Attack, assignment: Assignment) -> None:
    assert_no_gain(attack, assignment)


@pytest.fixture(scope="module")
def engine(assignment: Assignment) -> Engine:
    return assignment.engine


def said(child: StudentProcess, cell: str) -> str:
    """Return what a cell prints, with the errors that it raises."""
    outputs = child.ask("cell", source=cell)["outputs"]
    return "".join(each.get("text", "") + each.get("ename", "") for each in outputs).strip()


def test_no_server_of_the_machine_hears_anything(engine: Engine, tmp_path: Path) -> None:
    """Servers with an address, a path and an abstract name, which listen and take messages."""
    path = tmp_path / "socket"
    with contextlib.ExitStack() as opened:
        servers = []
        for family, address in (
            (socket.AF_INET, ("127.0.0.1", 0)),
            (socket.AF_INET6, ("::1", 0)),
            (socket.AF_UNIX, str(path)),
            (socket.AF_UNIX, f"\0hostile-{os.getpid()}"),
        ):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                server = opened.enter_context(socket.socket(family, kind))
                server.bind(f"{address}-{kind}" if isinstance(address, str) else address)
                if kind == socket.SOCK_STREAM:
                    server.listen()
                server.setblocking(False)
                servers.append(server)
        addresses = [(int(each.family), int(each.type), each.getsockname()) for each in servers]
        cell = f"""
import socket
import subprocess
import sys
reached = []
for family, kind, address in {addresses!r}:
    for make in (lambda: socket.socket(family, kind), lambda: socket.socketpair(socket.AF_UNIX, kind)[0],
                 lambda: socket.socketpair()[0]):
        for reach in (lambda one: one.connect(address), lambda one: one.sendto(b"hostile", address)):
            try:
                reach(make())
                reached.append(address)
            except (OSError, TypeError):
                pass
print(reached)
"""
        with engine.fork() as child:
            assert said(child, cell) == "[]"
        for server in servers:
            with pytest.raises(BlockingIOError):
                server.accept() if server.type == socket.SOCK_STREAM else server.recv(100)


def test_no_submission_sees_another(engine: Engine) -> None:
    with engine.fork() as one, engine.fork() as other:
        folder = said(one, "open('answer', 'w').write('42')\nimport os\nprint(os.getcwd())")
        process = said(one, "print(os.getpid())")
        assert (Path(folder) / "answer").read_text() == "42"
        looks = f"import os\nos.listdir({folder!r})", f"open('{folder}/answer')", f"os.kill({process}, 0)"
        assert [said(other, look) for look in looks] == ["PermissionError"] * 3
        assert said(other, f"print(open('/proc/{process}/stat').read())") == "PermissionError"
    until = time.monotonic() + 100
    while Path(folder).exists():
        assert time.monotonic() < until
        with engine.fork():  # the fork server collects those that have ended
            time.sleep(0.02)


def test_a_folder_that_cannot_be_looked_into_counts_as_full(tmp_path: Path) -> None:
    assert not exceeds(str(tmp_path), 100_000)
    (tmp_path / "large").write_bytes(bytes(200_000))
    assert exceeds(str(tmp_path), 100_000)
    assert not exceeds(str(tmp_path), 300_000)
    assert not exceeds(str(tmp_path / "missing"), 0)
    assert exceeds(str(tmp_path / "large"), 300_000)


def test_every_call_of_the_table_is_refused(engine: Engine) -> None:
    """Calls without sense, which the kernel would refuse for another reason."""
    column = ("x86_64", "aarch64").index(platform.machine())
    tables = REFUSED | REFUSED_WITHOUT_NAMESPACES
    numbers = {name: each[column] for name, each in tables.items() if each[column] is not None}
    # Compiled under a library's name: the known hole of the audit hook, which makes it a tool for this test.
    look = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
answers = {{}}
def call(name, number, *arguments):
    result = libc.syscall(number, *map(ctypes.c_long, arguments or (-1, -1, -1, -1, -1, -1)))
    answers[name] = ctypes.get_errno() if result == -1 else 0
for name, number in {numbers!r}.items():
    call(name, number)
call("clone", {CLONE[column]}, 17, 0, 0, 0, 0)
call("clone3", {CLONE3[column]})
call("prlimit", {PRLIMIT[column]}, 1, 7, 0, 0)
call("datagrams", {SOCKETPAIR[column]}, 1, 2, 0, 0)
call("packets", {SOCKETPAIR[column]}, 1, 5 | 0o2000000, 0, 0)
call("own limit", {PRLIMIT[column]}, 0, 7, 0, 0)
"""
    library = os.path.dirname(json.__file__) + "/__init__.py"
    with engine.fork() as child:
        shown = said(
            child, f"space = {{}}\nexec(compile({look!r}, {library!r}, 'exec'), space)\nprint(space['answers'])"
        )
    answers = ast.literal_eval(shown)
    assert answers.pop("clone3") == errno.ENOSYS
    assert answers.pop("own limit") == 0
    assert answers == dict.fromkeys(answers, errno.EPERM)
    assert len(answers) == len(numbers) + 4


def test_habits_work_without_processes(engine: Engine) -> None:
    with engine.fork() as child:
        assert "Operation not permitted" in said(child, "!pip install torch\nimport math\nprint(math.pi > 3)")
        assert said(child, "import threading\nthreading.Thread(target=print, args=(1,)).start()") == "1"
        assert said(child, "import torch, tempfile\nf = tempfile.NamedTemporaryFile()\ntorch.save(1, f)") == ""
        assert said(child, "import asyncio\nprint(await asyncio.sleep(0.01, 2))") == "2"
        assert said(child, "import getpass\nprint(getpass.getuser())") == "student"


@pytest.mark.nightly(twin="tests/hostile/test_attacks.py::test_an_attack_does_not_pay")
def test_a_package_among_others_hides_its_exercises(tmp_path: Path) -> None:
    """As installed from a wheel: what may be read lies around what may not."""
    packages = tmp_path / "lib" / "site-packages"
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(autograder.__file__).parent, packages / "autograder", ignore=without)
    (packages / "neighbour.py").write_text("answer = 42")
    cell = """
import importlib, os, autograder
importlib.invalidate_caches()
from neighbour import answer
read = []
for folder, _, names in os.walk(os.path.dirname(autograder.__file__)):
    for name in names:
        try:
            open(os.path.join(folder, name), "rb").close()
            read.append(os.path.join(folder, name).partition("/lib/site-packages/autograder/")[2])
        except OSError:
            pass
print(answer, len(read) > 100, [name for name in read if name.startswith("exercises")])
"""
    script = f"""
import autograder.grading.sandbox.grader.engine as engine
with engine.Engine(wall="landlock") as started, started.fork() as child:
    print(child.ask("cell", source={cell!r})["outputs"][0]["text"])
"""
    for folder in (tmp_path.parent, tmp_path):
        folder.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(packages)}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "42 True ['exercises/__init__.py']", done.stderr
