"""Disks and gradebooks that fail during grading; a rerun is right."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.batch.batch import core_threads, grade
from autograder.grading.course.course import open_course
from autograder.grading.gradebook import book as gradebook
from autograder.grading.submission.pipeline import Result
from support.course import run_autograder
from support.regrading import AGAIN, COUNT, EARLIER, NAME, PATIENCE, Place

pytestmark = pytest.mark.long(35)


@pytest.mark.nightly(twin="tests/grading/test_failing_disks.py::test_a_full_disk_loses_nothing")
def test_who_hands_in_again_is_graded_again_and_nobody_else(place: Place, tmp_path: Path) -> None:
    here = place.copy(tmp_path / "course")
    files = {student: here.autograded(student) / f"{NAME}.ipynb" for student in here.students}
    before = {student: path.stat().st_mtime_ns for student, path in files.items() if path.exists()}
    results = here.grade()
    untouched = here.students[AGAIN:EARLIER]
    assert [student for student in here.students if results[student]["state"] == "unchanged"] == untouched
    assert [student for student in before if files[student].stat().st_mtime_ns == before[student]] == untouched
    assert {result["state"] for result in here.grade().values()} == {"unchanged"}
    here.check_right()


def graded_here(here: Place, seen: Callable[[Result, int], None] = lambda result, total: None) -> list[Result]:
    """Grade in this process. The engine stays for the next call."""
    with core_threads(2) as executor:
        return grade(open_course(here.folder), NAME, executor, ahead=4, seen=seen)


def regraded(here: Place) -> None:
    """Grade again, in this process. The result is right."""
    assert {result.state for result in graded_here(here)} <= {"graded", "unchanged"}
    here.check_right()


def in_own_mounts(script: str, place: Place, scratch: Path) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Run a shell script as root of a user and mount namespace, where $GRADE grades the folder in $1.

    A child cannot make namespaces of its own in there, so answers are not isolated.
    """
    inside = ["unshare", "--user", "--map-root-user", "--mount"]
    tried = subprocess.run([*inside, "mount", "-t", "tmpfs", "none", scratch], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no mounts in a user namespace here: {tried.stderr.strip()}")
    command = f"{sys.executable} -m autograder.cli grade --json --jobs=2 --isolation=none"
    done = subprocess.Popen(
        [*inside, "sh", "-euc", script, "sh", place.folder, scratch],
        env={**os.environ, "GRADE": command},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return place.finish(done)


def test_a_full_disk_loses_nothing(place: Place, tmp_path: Path) -> None:
    """The submissions without room fail with file and cause, and are graded when there is room."""
    here = place.copy(tmp_path / "course")
    script = """
        mount -t tmpfs -o size=24m tmpfs $2
        cp -r $1 $2/course
        free=$(df --output=avail -k $2 | tail -1)
        head -c $(( free - 100 ))k /dev/zero > $2/filled
        status=0
        $GRADE $2/course || status=$?
        rm -r $2/filled $1
        cp -r $2/course $1
        exit $status"""
    (tmp_path / "disk").mkdir()
    status, results, said = in_own_mounts(script, here, tmp_path / "disk")
    assert status == 1
    failed = [result for result in results.values() if result["state"] == "failed"]
    assert 0 < len(failed) < COUNT - EARLIER + AGAIN, (results, said)
    for result in failed:
        (reason,) = result["reasons"]
        assert "No space left on device" in reason or "disk is full" in reason
        assert NAME in reason or "gradebook" in reason
    here.check_whole()
    assert here.by_hand() == place.by_hand()
    regraded(here)


# Makes a file or folder read-only for this process, as root of a user and mount namespace.
READ_ONLY = """
import ctypes, os, subprocess
user, group = os.geteuid(), os.getegid()
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
assert not ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWNS)
for file, text in (("setgroups", "deny"), ("uid_map", f"0 {{user}} 1"), ("gid_map", f"0 {{group}} 1")):
    with open(f"/proc/self/{{file}}", "w") as opened:
        opened.write(text)
for options in (["--bind", {what!r}], ["-o", "remount,bind,ro"]):
    subprocess.run(["mount", *options, {what!r}], check=True)
"""


def test_a_read_only_course_is_told_at_once(place: Place, tmp_path: Path) -> None:
    """A course folder or gradebook that cannot be written is told at once; nothing is changed."""
    here = place.copy(tmp_path / "course")
    if subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("no mounts in a user namespace here")
    for what, why in ((here.folder, "must be writable"), (here.folder / "gradebook.db", "readonly database")):
        done = run_autograder("grade", here.folder, "--isolation=none", first=READ_ONLY.format(what=str(what)))
        assert (done.returncode, done.stdout) == (1, "")
        assert why in done.stderr
        assert here.book() == place.book()
    regraded(here)


@pytest.mark.nightly(twin="tests/grading/test_failing_disks.py::test_a_full_disk_loses_nothing")
def test_an_unreadable_folder_fails_alone(place: Place, tmp_path: Path) -> None:
    """A submission that nobody may read fails with the reason, and stops nobody else."""
    here = place.copy(tmp_path / "course")
    whose, other = here.students[0], here.students[EARLIER]
    closed = [here.folder / "submitted" / whose, here.folder / "submitted" / other / NAME]
    # Root may read everything; in a user namespace that does not know it, it is no more than the owner.
    if subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    for folder in closed:
        folder.chmod(0)
    status, results, _ = here.finish(here.start("--isolation=none", inside=["unshare", "--user"]))
    for folder in closed:
        folder.chmod(0o755)
    assert status == 1
    failed = {student: result["reasons"] for student, result in results.items() if result["state"] == "failed"}
    assert set(failed) == {whose, other}
    assert all(f"{student}/{NAME}: Permission denied" in failed[student][0] for student in failed)
    regraded(here)


def locked(here: Place) -> sqlite3.Connection:
    """The gradebook, held by another connection until it is closed.

    nbgrader waits a tenth of a second for it here.
    """
    book = here.folder / "gradebook.db"
    with (here.folder / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f'\nc.CourseDirectory.db_url = "sqlite:///{book}?timeout=0.1"\n')
    other = sqlite3.connect(book, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


def test_a_gradebook_locked_for_a_while_is_waited_for(place: Place, tmp_path: Path) -> None:
    here = place.copy(tmp_path / "course")
    other = locked(here)
    with ThreadPoolExecutor(1) as pool:
        end = pool.submit(regraded, here)
        while not list((here.folder / "autograded").glob("*/.*")) and not end.done():
            time.sleep(0.01)
        time.sleep(1)  # one is being written, and waits
        assert not end.done()
        other.close()
        end.result()


def test_a_gradebook_locked_for_too_long_fails_what_waits(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submission that waits for it fails with the reason; those after it are graded."""
    monkeypatch.setattr(gradebook, "PATIENCE", 0.3)
    here = place.copy(tmp_path / "course")
    other = locked(here)
    failed: list[Result] = []

    def seen(result: Result, total: int) -> None:
        if result.state == "failed":
            failed.append(result)
            if len(failed) == 2:
                other.close()

    results = graded_here(here, seen)
    assert [result.said for result in failed] == [["the gradebook cannot be written: database is locked"]] * 2
    assert len(failed) + sum(result.state == "graded" for result in results) == COUNT - EARLIER + AGAIN
    assert here.by_hand() == place.by_hand()
    regraded(here)


def test_two_graders_at_once_give_one_result(place: Place, tmp_path: Path) -> None:
    here = place.copy(tmp_path / "course")
    command = ["grade", here.folder, "--json", "--jobs=2", "--force"]
    with ThreadPoolExecutor(2) as pool:
        ends = [*pool.map(lambda _: run_autograder(*command, timeout=PATIENCE), range(2))]
    refused = [end.stderr for end in ends if end.returncode]
    assert len(refused) < 2
    assert all("another grader is at work" in said for said in refused)
    assert not any("Traceback" in end.stderr for end in ends)
    here.check_right()
