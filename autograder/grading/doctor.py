"""The command `autograder doctor`: this machine's walls, Python and torch, with remedies."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from ..errors import UserError
from ..lessons.collection import COURSE
from ..messages.learners import message
from ..torch_versions import newer_torch
from .limits import Limits
from .sandbox.grader.engine import Engine
from .sandbox.grader.fork_server_process import NEEDS_LINUX
from .sandbox.grader.student_process import Ended
from .sandbox.wall.libc import CannotIsolate
from .sandbox.wire.wire_messages import ChildRequest
from .submission.self_test import grade_packaged_lesson
from .wall_kinds import Wall

_LOOK = """
import os, socket
def can(look, path):
    try:
        return bool(look(path))
    except OSError:
        return False
def read(path):
    return os.listdir(path) if os.path.isdir(path) else open(path).read(1)
def write(path):
    open(f"{path}/autograder-doctor", "w").close()
    os.remove(f"{path}/autograder-doctor")
    return True
seen = [p for p in %(hidden)r if can(read, p)]
try:
    socket.create_connection(("192.0.2.1", 9), 1)  # an address for documentation: without a route it fails at once
    network = True
except OSError as error:
    network = error.errno not in (1, 99, 101)
writable = [p for p in %(shown)r if can(write, p)]
others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()] if can(read, "/proc") else []
print("nothing" if not (seen or network or writable or others) else f"{seen} {network} {writable} {others}")
"""

_APPARMOR = """\
Ubuntu 23.10 and later let only programs with an AppArmor profile make user namespaces. As root, write the file
/etc/apparmor.d/autograder:

    abi <abi/4.0>,
    include <tunables/global>
    profile autograder {python} flags=(unconfined) {{
      userns,
    }}

and run: apparmor_parser -r /etc/apparmor.d/autograder"""

_CONTAINER = """\
This looks like a container. Its runtime has to allow namespaces, a mount of /proc and pivot_root. For Docker or Podman:

    docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \\
        --security-opt systempaths=unconfined ...

For Kubernetes, in the container's securityContext:

    seccompProfile: {type: Unconfined}
    appArmorProfile: {type: Unconfined}
    procMount: Unmasked          # with hostUsers: false in the pod's spec"""

_NONE = """\
Until then `autograder grade` and `nbgrader autograde` refuse to run answers. Without isolation, as your own user, where
students' code can read what you can: `autograder grade --isolation=none`, or in nbgrader_config.py
c.RunIsolated.isolation = "none"."""

_FIRST = """\
✓ answers are isolated by the first wall (full): own files, processes, network and users
  The kernel limits the memory of each process, processor time, the number of processes and the disk. The memory of all
  processes of a submission together is watched, twenty times a second."""

_SECOND = """\
✓ answers are isolated by the second wall (landlock): no files but Python's and their own, no network, no new processes,
  no signals to others
  The kernel limits memory, processor time and the size of each file. The disk space and the number of threads of a
  submission are watched, twenty times a second.
  It promises less: names and sizes of files can be found out, and shell commands in notebooks do not run.
  autograder/grading/THREATS.md has the table.
  The default is the first wall. To grade behind this one: `autograder grade --isolation=auto`, or in nbgrader_config.py
  c.RunIsolated.isolation = "auto"."""


_UNCOUNTED = """\
! the kernel does not let this user count the memory of an answer's process: bytes are counted inside of it alone, where
  they can be hidden"""

_LESSON = "gradient_accumulation"  # its exercises count passes, compare gradients and read a table: 1 s for them all


def examine() -> tuple[bool, str]:
    """Test which wall this machine allows around answers, and whether solutions get all points behind it.

    Also finds out whether torch is newer than the newest tried. Returns whether answers can be graded here, and a text
    with findings and remedies.
    """
    wall, findings = _examine_walls()
    complaint = _grade_solutions(wall) if wall else ""
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    if complaint:
        findings += f"\n✗ {complaint}"
    elif wall:
        findings += f"\n✓ the course's own solutions of a lesson get all points: {versions}"
    parameters = newer_torch()
    return bool(wall and not complaint), findings + (
        f"\n! {message('torch.newer', **parameters).en}" if parameters else ""
    )


def _grade_solutions(wall: Wall) -> str:
    """Return a complaint if a lesson's own solutions do not get all points behind `wall`, or "".

    A class's grading begins with the same self-test of its own lesson.
    """
    (lesson,) = COURSE.read([_LESSON])
    try:
        with Engine(Limits(), wall=wall) as engine:
            grade_packaged_lesson(engine, lesson, COURSE.exercises(lesson))
    except UserError as error:
        return str(error)
    except (Ended, RuntimeError) as error:
        return f"a process ended while the course's own solutions were graded: {error}"
    return ""


def _examine_walls() -> tuple[Wall | None, str]:
    """Return the strongest wall that stands, or None, and a text with findings and remedies."""
    if sys.platform != "linux":
        return None, f"✗ {NEEDS_LINUX}"
    refused: dict[Wall, CannotIsolate] = {}
    for wall, said in ((Wall.FULL, _FIRST), (Wall.LANDLOCK, _SECOND)):
        try:
            finding, is_counted = _look_around(wall)
        except CannotIsolate as error:
            refused[wall] = error
            continue
        lines = [f"✗ {finding}"] if finding else [said, *[_UNCOUNTED] * (not is_counted)]
        if refused:
            weaker = [f"✗ the first wall (full) cannot be built: {refused[Wall.FULL]}\n"] * (not finding)
            lines = [*weaker, *lines, "\nFor the first wall:", *_remedies()]
        return None if finding else wall, "\n".join(lines)
    nothing = (
        f"✗ answers cannot be isolated: {refused[Wall.FULL]}\n"
        f"✗ nor by the second wall (landlock): {refused[Wall.LANDLOCK]}"
    )
    return None, "\n\n".join([nothing, *_remedies(), _NONE])


def _look_around(wall: Wall) -> tuple[str, bool]:
    """Return a complaint about the isolation behind `wall`, or "", and a bool.

    The bool tells whether the kernel counts the memory of a child.

    A process in the sandbox tries to reach hidden files, the network and other processes, and to write into folders.
    Raises CannotIsolate if the kernel refuses the wall.
    """
    try:
        with Engine(Limits(cell_seconds=10), wall=wall) as engine, engine.fork() as child:
            look = _LOOK % {"hidden": _hidden(), "shown": [f"{sys.prefix}/lib", "/usr/lib"]}
            said = child.weigh(ChildRequest.CELL, source=look)
    except Ended as ended:
        return f"a process was isolated ({wall}), but did not get through a first cell: {ended.why}", False
    text = "".join(str(output.get("text", output)) for output in said["outputs"]).strip()
    complaint = (
        f"from inside ({wall}) something of this machine can be reached: {text}\nPlease report this with your system."
    )
    return "" if text == "nothing" else complaint, said["touched"] is not None


def _hidden() -> list[str]:
    """Return paths of this machine that must be invisible inside the sandbox."""
    return [str(path) for path in (Path.home() / ".bashrc", Path.home() / ".ssh", Path("/etc/shadow"), Path("/var"))]


def _remedies() -> Iterator[str]:
    """Yield sentences that tell how to change the settings of this machine that prevent isolation."""
    if _read("/proc/sys/user/max_user_namespaces") == "0":
        yield "User namespaces are switched off. As root: sysctl -w user.max_user_namespaces=15000"
    if _read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
        yield "Ordinary users may not make namespaces here. As root: sysctl -w kernel.unprivileged_userns_clone=1"
    if _read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        yield _APPARMOR.format(python=Path(sys.executable).resolve())
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists() or "kubepods" in _read("/proc/1/cgroup"):
        yield _CONTAINER


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
