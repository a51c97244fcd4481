"""Everything that can break under `autograder grade`, at random moments; after a rerun there is one right result each.

A person has given scores, extra credit and comments before; then some students handed in again and others for the
first time, and the grader is killed, runs out of disk or finds the gradebook locked.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from nbgrader.api import Gradebook

from autograder.authoring.build import COURSE
from autograder.grading.batch import grade
from autograder.grading.course import gradebook
from autograder.grading.course.folders import RECORD
from autograder.grading.course.settings import course_settings
from autograder.grading.sandbox.engine import Engine
from autograder.grading.submission.grader import RestartingEngine
from autograder.grading.submission.pipeline import Result
from support.course import Course
from support.submissions import Submission, all_of, read

SEED = 20261121
GRADER_KILLS, TEMPLATE_KILLS, CHILD_KILLS = 6, 4, 40  # 50 rounds
COUNT, EARLIER, AGAIN = 12, 8, 4  # submissions; those graded before the faults; those of them that come again, changed
PATIENCE = 90  # seconds for a grader on a busy machine
NAME = "00_first_gradient"


@dataclass(frozen=True)
class Place:
    """A course with something to grade, and the gradebook as an undisturbed run leaves it."""

    folder: Path
    students: list[str]
    expected: list[tuple[Any, ...]]

    def copy(self, target: Path) -> Place:
        shutil.copytree(self.folder, target, symlinks=True)
        return Place(target, self.students, self.expected)

    def autograded(self, student: str) -> Path:
        return self.folder / "autograded" / student / NAME

    def start(self, *more: str, inside: Sequence[str] = ()) -> subprocess.Popen[str]:
        command = [
            *inside,
            sys.executable,
            "-m",
            "autograder.cli",
            "grade",
            str(self.folder),
            "--json",
            "--jobs=2",
            *more,
        ]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, dict[str, dict[str, Any]], str]:
        """The exit status, the results by student, and what was said on stderr."""
        out, said = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in said, said
        results = json.loads(out)[NAME] if out else []
        return process.returncode, {result["student"]: result for result in results}, said

    def grade(self, *more: str) -> dict[str, dict[str, Any]]:
        """The results of an undisturbed run by student."""
        status, results, said = self.finish(self.start(*more))
        assert status == 0, (said, results)
        return results

    def book(self) -> list[tuple[Any, ...]]:
        """Every score and comment: the machine's and the person's."""
        with contextlib.closing(sqlite3.connect(self.folder / "gradebook.db")) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            grades = """SELECT s.student_id, c.name, g.auto_score, g.manual_score, g.extra_credit,
                g.needs_manual_grade OR g.manual_score IS NOT NULL -- which waits for another look if graded again
                FROM grade g JOIN base_cell c ON c.id = g.cell_id JOIN submitted_notebook n ON n.id = g.notebook_id
                JOIN submitted_assignment s ON s.id = n.assignment_id"""
            comments = """SELECT s.student_id, c.name, m.auto_comment, m.manual_comment
                FROM comment m JOIN base_cell c ON c.id = m.cell_id JOIN submitted_notebook n ON n.id = m.notebook_id
                JOIN submitted_assignment s ON s.id = n.assignment_id"""
            rows = [*db.execute(grades), *db.execute(comments)]
        return sorted(rows, key=repr)

    def by_hand(self) -> list[tuple[Any, ...]]:
        """What a person gave: in every state of the gradebook the same."""
        marks = [(row[0], row[1], *(row[3:5] if len(row) == 6 else row[3:])) for row in self.book()]
        return [row for row in marks if any(row[2:])]

    def check_whole(self) -> None:
        """Every folder that is there is whole, killed or not."""
        for student in self.students:
            if self.autograded(student).exists():
                read(self.autograded(student) / f"{NAME}.ipynb")

    def check_right(self) -> None:
        """What the issue asks for after a rerun."""
        assert self.book() == self.expected
        assert {each.name for each in (self.folder / "autograded").iterdir()} == set(self.students)
        for student in self.students:
            assert [each.name for each in self.autograded(student).parent.iterdir()] == [NAME]
            assert sorted(each.name for each in self.autograded(student).iterdir()) == [RECORD, f"{NAME}.ipynb"]
            checked = read(self.autograded(student) / f"{NAME}.ipynb")
            assert all(cell.execution_count for cell in checked.cells if cell.cell_type == "code")
        drafts = [each.name for each in (self.folder / ".autograder").iterdir()]
        assert sorted(drafts) == [f"{NAME}.json", f"{NAME}.lock"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    (lesson,) = COURSE.read(["first_gradient"])
    folder = tmp_path_factory.mktemp("faults") / "calculus"
    quick = [each for each in all_of(lesson) if each.student.startswith(("solved", "blank", "mistakes"))][:COUNT]
    course = Course.make(folder, lesson)
    for submission in quick[:EARLIER]:
        hand_in(course, submission)
    first = Place(folder, [each.student for each in quick], [])
    first.grade()
    grade_by_hand(folder, [each.student for each in quick[:EARLIER:2]])
    for submission in quick[:AGAIN]:
        hand_in(course, submission, "# another version")
    for submission in quick[EARLIER:]:
        hand_in(course, submission)
    undisturbed = first.copy(folder.parent / "undisturbed")
    undisturbed.grade("--force")
    return Place(folder, first.students, undisturbed.book())


def hand_in(course: Course, submission: Submission, first: str = "") -> None:
    notebook = submission.notebook(read(course.released("en")))
    notebook.cells.insert(0, nbformat.v4.new_code_cell(first or "# the first version"))
    course.hand_in(submission.student, notebook)


def grade_by_hand(folder: Path, students: list[str]) -> None:
    """As formgrader does."""
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", "calculus") as book:
        for number, student in enumerate(students):
            notebook = book.find_submission_notebook(NAME, NAME, student)
            for grade_, points in zip(notebook.grades, (1.5, 0.5)):
                grade_.manual_score, grade_.extra_credit = points, number / 4
            for comment in notebook.comments:
                comment.manual_comment = f"seen by a person: {number}"
        book.db.commit()


# ---------------------------------------------------------------------------------------------------------- regrading


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


# -------------------------------------------------------------------------------------------------------------- kills


def template_of(grader: psutil.Process) -> psutil.Process | None:
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
    _, alive = psutil.wait_procs(below, timeout=20)
    assert alive == []
    return 1


def kill_templates(place: Place, chance: random.Random, kills: int) -> int:
    """Twice in one run: the first time another is started, the second time it is given up."""
    grader = place.start("--force")
    killed: list[int] = []
    for _ in range(2):
        wait_for(chance.randrange(1, 4), place, grader)
        template = None
        while grader.poll() is None and (template is None or template.pid in killed):
            template = template_of(psutil.Process(grader.pid))
            time.sleep(0.01)
        if template:
            killed.append(template.pid)
            template.kill()
    status, results, said = place.finish(grader)
    assert len(killed) == 2
    assert status == 1
    reasons = {reason for result in results.values() for reason in result["reasons"]}
    assert all("template process ended 2 times" in reason for reason in reasons or {said})
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
            template = template_of(psutil.Process(grader.pid))
            children = template.children(recursive=True) if template else []
            if children:
                chance.choice(children).kill()
                done += 1
    status, results, _ = place.finish(grader)
    assert status == int(any(result["state"] == "failed" for result in results.values()))
    for result in results.values():
        assert result["state"] == "graded" or "process ended" in "\n".join(result["reasons"]), result
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


def test_killed_at_random_moments(place: Place, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    kills = {
        "grader-1": (kill_grader, GRADER_KILLS // 2),
        "grader-2": (kill_grader, GRADER_KILLS // 2),
        "template": (kill_templates, TEMPLATE_KILLS),
        "children": (kill_children, CHILD_KILLS),
    }
    with ThreadPoolExecutor(2) as pool:
        ends = []
        for name, (kill, rounds) in kills.items():
            here, mine = place.copy(tmp_path / name), random.Random(chance.random())
            ends.append(pool.submit(in_turns, here, partial(kill, here, mine), rounds))
        for end in ends:
            end.result()


# ------------------------------------------------------------------------------------------------- disk and gradebook


@pytest.fixture(scope="module")
def standby() -> Iterator[RestartingEngine]:
    with RestartingEngine(Engine) as made:
        yield made


def regraded(here: Place, standby: RestartingEngine) -> None:
    """Graded again, here, and right."""
    results = grade(course_settings(here.folder), NAME, standby, jobs=2)
    assert {result.state for result in results} <= {"graded", "unchanged"}
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


def test_full_disk(place: Place, tmp_path: Path, standby: RestartingEngine) -> None:
    """On a disk with room for some: the rest fails with the file and the cause, and is graded when there is room."""
    here = place.copy(tmp_path / "course")
    script = """
        mount -t tmpfs -o size=24m tmpfs $2
        cp -r $1 $2/course
        free=$(df --output=avail -k $2 | tail -1)
        head -c $(( free - 250 ))k /dev/zero > $2/filled
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
    regraded(here, standby)


def test_read_only(place: Place, tmp_path: Path, standby: RestartingEngine) -> None:
    """Of a course folder that cannot be written, or a gradebook, that is said at once; nothing is changed."""
    here = place.copy(tmp_path / "course")
    (tmp_path / "disk").mkdir()
    for what, why in (("", "must be writable"), ("gradebook.db", "readonly database")):
        script = f"""
            mount --bind $1/{what} $1/{what}
            mount -o remount,bind,ro $1/{what}
            exec $GRADE $1"""
        status, results, said = in_own_mounts(script, here, tmp_path / "disk")
        assert (status, results) == (1, {})
        assert why in said
        assert here.book() == place.book()
    regraded(here, standby)


def test_unreadable_folder(place: Place, tmp_path: Path, standby: RestartingEngine) -> None:
    """What a student handed in as nobody may read it fails with the reason, and stops nobody else."""
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
    regraded(here, standby)


def locked(here: Place) -> sqlite3.Connection:
    """The gradebook, held by another connection until it is closed. nbgrader waits a tenth of a second for it here."""
    book = here.folder / "gradebook.db"
    with (here.folder / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f'\nc.CourseDirectory.db_url = "sqlite:///{book}?timeout=0.1"\n')
    other = sqlite3.connect(book, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


def test_gradebook_locked_for_a_while(place: Place, tmp_path: Path, standby: RestartingEngine) -> None:
    here = place.copy(tmp_path / "course")
    other = locked(here)
    with ThreadPoolExecutor(1) as pool:
        end = pool.submit(regraded, here, standby)
        while not list((here.folder / "autograded").glob("*/.*")) and not end.done():
            time.sleep(0.01)
        time.sleep(1)  # one is being written, and waits
        assert not end.done()
        other.close()
        end.result()


def test_gradebook_locked_for_too_long(
    place: Place, tmp_path: Path, standby: RestartingEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submission that waits for it fails, with the reason; the ones after the lock is released are graded."""
    monkeypatch.setattr(gradebook, "PATIENCE", 0.3)
    here = place.copy(tmp_path / "course")
    other = locked(here)
    failed: list[Result] = []

    def seen(result: Result, total: int) -> None:
        if result.state == "failed":
            failed.append(result)
            if len(failed) == 2:
                other.close()

    results = grade(course_settings(here.folder), NAME, standby, jobs=2, seen=seen)
    assert [result.reasons for result in failed] == [["the gradebook cannot be written: database is locked"]] * 2
    assert len(failed) + sum(result.state == "graded" for result in results) == COUNT - EARLIER + AGAIN
    assert here.by_hand() == place.by_hand()
    regraded(here, standby)


def test_two_graders_at_once(place: Place, tmp_path: Path) -> None:
    here = place.copy(tmp_path / "course")
    ends = [here.finish(grader) for grader in (here.start("--force"), here.start("--force"))]
    refused = [said for status, _, said in ends if status]
    assert len(refused) < 2
    assert all("another grader is at work" in said for said in refused)
    here.check_right()
