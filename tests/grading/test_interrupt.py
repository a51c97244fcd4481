"""Ctrl+C during `autograder grade`: kept results, no process left, one line."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable

import psutil
import pytest

from support.course import BIN, Course, run_autograder
from support.first_gradient import FIRST, NAME, SOLVED

pytestmark = pytest.mark.long(15)

LOOPS = {**SOLVED, FIRST.name: f"{SOLVED[FIRST.name]}\n\nwhile True:\n    pass"}
PATIENCE = 120  # seconds for anything to happen on a busy machine; a cell may run for longer


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """One submission that is soon graded, and one that runs until it is stopped."""
    course = Course.make(tmp_path_factory.mktemp("interrupt") / "course")
    course.configure("c.RunIsolated.cell_seconds = 1000\nc.RunIsolated.total_seconds = 1000")
    course.hand_in("ann", SOLVED)
    course.hand_in("loop", LOOPS)
    return course


def wait_for(happens: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.05)


def busy(process: psutil.Process) -> bool:
    """Does a fork of the fork server compute, for longer than a rehearsal takes?"""
    took: dict[int, float] = {}
    parents: dict[int, int] = {}
    for each in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            took[each.pid], parents[each.pid] = sum(each.cpu_times()[:2]), each.ppid()
    return any(time > 3 and took.get(parents[each], 0) > 1 for each, time in took.items())


def interrupted(course: Course, *arguments: str, when: Callable[[psutil.Process], object], group: bool) -> str:
    """Run a command, press Ctrl+C `when` something has happened, and return what it said."""
    command = [BIN / "autograder", "grade", course.folder, *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        process = psutil.Process(running.pid)
        try:
            wait_for(lambda: when(process))
            below = process.children(recursive=True)
            assert below
            (os.killpg if group else os.kill)(running.pid, signal.SIGINT)
            out, said = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()
    assert running.returncode == 130
    assert (out, said.count("\n")) == ("", 1), said
    _, alive = psutil.wait_procs(below, timeout=PATIENCE)
    assert alive == []
    return said


ALONE = pytest.param(
    False, marks=pytest.mark.nightly(twin="tests/grading/test_interrupt.py::test_an_interrupt_keeps_what_is_done")
)


@pytest.mark.parametrize("group", [True, ALONE])  # a terminal interrupts the whole group
def test_an_interrupt_keeps_what_is_done(course: Course, group: bool) -> None:
    done = course.autograded("ann")
    before = done.stat() if done.exists() else None

    def when(process: psutil.Process) -> bool:
        return done.exists() and busy(process)

    said = interrupted(course, when=when, group=group)
    assert said == (
        f"autograder: stopped: {NAME}, done and kept: 1 of 2 submissions; the same command goes on from there\n"
    )
    assert before is None or done.stat().st_mtime_ns == before.st_mtime_ns  # the second run went on
    assert not (course.folder / "autograded" / "loop").joinpath(NAME).exists()


def test_an_interrupt_while_the_command_imports_is_one_line(course: Course) -> None:
    """Python says on stderr what it has imported: argparse is among the first."""
    command = [BIN / "autograder", "grade", course.folder]
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    # A shell without job control starts its background processes with SIGINT ignored.
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, **heard) as running:
        assert running.stderr
        for line in running.stderr:
            if line.split()[-1] == "argparse":
                running.send_signal(signal.SIGINT)
                break
        said = [line for line in running.stderr if not line.startswith("import time:")]
    assert running.returncode == 130
    assert [line.partition(":")[0] for line in said] == ["autograder"], said
    assert "stopped" in said[0]


def test_an_interrupt_before_anything_is_graded_says_so(course: Course) -> None:
    said = interrupted(course, "--force", when=lambda process: process.children(), group=True)
    assert said == "autograder: stopped: nothing was graded yet\n"


def test_an_interrupt_stops_regrading(course: Course) -> None:
    assert run_autograder("grade", course.folder, "--student", "ann").returncode == 0
    said = interrupted(course, NAME, "--again", FIRST.name, when=lambda process: process.children(), group=True)
    assert "stopped: " in said
