"""Graders, fork servers and children that are killed; a rerun is right."""

from __future__ import annotations

import contextlib
import csv
import random
import re
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest

from support.killing import run, run_killed
from support.regrading import COUNT, NAME, PATIENCE, Place

pytestmark = pytest.mark.long(20)

SEED = 20261121
GRADER_KILLS, SERVER_KILLS, CHILD_KILLS = 2, 2, 10


def fork_server_of(grader: psutil.Process) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):
        for child in grader.children():
            if any("grading.sandbox" in part for part in child.cmdline()):
                return child
    return None


def changes(place: Place) -> list[int]:
    """When what stands in the course's autograded folder came there."""
    stamps = []
    for student in place.students:
        with contextlib.suppress(OSError):
            stamps.append(place.autograded(student).stat().st_mtime_ns)
    return stamps


def wait_for(number: int, place: Place, grader: subprocess.Popen[str]) -> None:
    """Until `number` submissions have been written by this run, or it has ended."""
    since, end = time.time_ns(), time.monotonic() + PATIENCE
    while sum(stamp > since for stamp in changes(place)) < number and grader.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)


def kill_grader(place: Place, chance: random.Random, kills: int) -> int:
    grader = place.start("--force")
    if chance.random() < 0.3:
        time.sleep(chance.uniform(0, 8))
    else:
        wait_for(chance.randrange(COUNT), place, grader)
        time.sleep(chance.uniform(0, 0.2))
    below = psutil.Process(grader.pid).children(recursive=True)
    grader.kill()
    grader.communicate()
    _, alive = psutil.wait_procs(below, timeout=PATIENCE)
    assert alive == []
    return 1


def kill_fork_servers(place: Place, chance: random.Random, kills: int) -> int:
    """Twice in one run: the first time another is started, the second time it is given up."""
    grader = place.start("--force")
    killed: list[int] = []
    for _ in range(2):
        wait_for(chance.randrange(1, 4), place, grader)
        server = None
        while grader.poll() is None and (server is None or server.pid in killed):
            server = fork_server_of(psutil.Process(grader.pid))
            time.sleep(0.01)
        if server:
            killed.append(server.pid)
            server.kill()
    status, results, said = place.finish(grader)
    assert len(killed) == 2
    assert status == 1
    reasons = {reason for result in results.values() for reason in result["reasons"]}
    assert all("processes ended 2 times" in reason for reason in reasons or {said})
    states = {result["state"] for result in results.values()}
    assert states <= {"graded", "failed"}
    return len(killed)


def kill_children(place: Place, chance: random.Random, kills: int) -> int:
    """Returns how many there were."""
    grader = place.start("--force")
    wait_for(1, place, grader)
    done = 0
    while done < kills and grader.poll() is None:
        time.sleep(chance.uniform(0, 0.15))
        with contextlib.suppress(psutil.Error):
            server = fork_server_of(psutil.Process(grader.pid))
            children = server.children(recursive=True) if server else []
            if children:
                chance.choice(children).kill()
                done += 1
    status, results, _ = place.finish(grader)
    assert status == int(any(result["state"] == "failed" for result in results.values()))
    for result in results.values():
        assert result["state"] == "graded" or re.search("process(es)? ended", "\n".join(result["reasons"])), result
    return done


def in_turns(place: Place, kill: Callable[[int], int], rounds: int) -> None:
    """Kill `rounds` times, each run over what the one before has left, then grade undisturbed."""
    given = place.by_hand()
    assert given
    while rounds:
        rounds -= kill(rounds)
        place.check_whole()
        assert place.by_hand() == given
    place.grade()
    place.check_right()


def test_a_rerun_after_one_kill_is_right(place: Place, tmp_path: Path) -> None:
    """Grading, making pages and returning are each killed before a change in the course folder, and run again."""
    here = place.copy(tmp_path / "course")
    given = here.by_hand()
    assert given
    run_killed(here.folder, 20, "grade", here.folder, "--jobs=2", "--force")
    here.check_whole()
    assert here.by_hand() == given
    here.grade()
    here.check_right()
    for command, status in (("feedback", 0), ("return", 1)):  # two students wait for points from a person
        run_killed(here.folder, 5, command, here.folder)
        run(command, here.folder, status=status)
    assert all((here.folder / "feedback" / student / NAME / f"{NAME}.html").read_text() for student in here.students)
    with (here.folder / "returned" / NAME / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        assert len(list(csv.DictReader(file))) == COUNT - 2
    assert here.book() == here.expected


@pytest.mark.nightly(twin="tests/grading/test_killed_processes.py::test_a_rerun_after_one_kill_is_right")
def test_a_rerun_after_kills_at_random_moments_is_right(place: Place, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    kills = {
        "grader": (kill_grader, GRADER_KILLS),
        "fork server": (kill_fork_servers, SERVER_KILLS),
        "children": (kill_children, CHILD_KILLS),
    }
    with ThreadPoolExecutor(2) as pool:
        ends = []
        for name, (kill, rounds) in kills.items():
            here, mine = place.copy(tmp_path / name), random.Random(chance.random())
            ends.append(pool.submit(in_turns, here, partial(kill, here, mine), rounds))
        for end in ends:
            end.result()
