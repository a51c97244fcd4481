"""A September: a class, four assignments, every LMS, rules that change, and kills at any moment.

The environment variable SEPTEMBER_STUDENTS sets another number of students, 200 for example.
"""

from __future__ import annotations

import os
import random

import pytest

from support.killing import run, run_killed
from support.september.checks import canvas_gradebook, check_account, check_grades, check_returned
from support.september.classroom import Classroom
from support.september.lessons import ASSIGNMENTS, EXERCISE, FIRST, MENDED, NORM, TOTAL, worth, write_lesson
from support.september.model import Model
from support.september.people import make_people, make_teams
from support.september.schedule import plan

pytestmark = pytest.mark.long(15)

STUDENTS = int(os.environ.get("SEPTEMBER_STUDENTS", 40))
SEED = 20240901
CREDIT, NEW_CREDIT = 80, 70  # percent on the first late day, before and after the rule was changed


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """The class. Each test goes on where the one before has ended."""
    chance = random.Random(SEED)
    people = make_people(STUDENTS, chance)
    handed_in = plan(people, make_teams(people, STUDENTS // 20), chance)
    return Classroom(tmp_path_factory.mktemp("september"), people, handed_in, CREDIT)


@pytest.fixture(scope="module")
def moments() -> random.Random:
    """The moments at which commands are killed."""
    return random.Random(SEED)


@pytest.mark.nightly(twin="tests/grading/collecting/test_collect.py::test_moodle_with_its_worksheet")
def test_the_first_turn(room: Classroom, moments: random.Random) -> None:
    """A first attempt of everybody is collected and graded by the rules."""
    folder, archives = room.folder, room.archives
    run_killed(folder, moments.randrange(2, 4), "course", folder, "--apply")
    room.run("course", folder, "--apply")
    room.release(NORM)  # after the rules were applied
    for assignment in ASSIGNMENTS:
        source, sheet = archives.moodle(assignment, 1)
        first = assignment == FIRST
        said = room.collect(source, worksheet=sheet, add=first, status=int(first))
        missing = [line for line in said.splitlines() if "no usable notebook came" in line]
        told = {line.partition(" (participant ")[0] for line in missing}
        assert told == (archives.told if first else set())
        if first:
            assert sorted(room.students()) == sorted(each.id for each in room.people)
            room.write_students(room.people, extended=False)
        sources = [
            archives.canvas(assignment, 1),
            archives.blackboard(assignment, 1),
            archives.exchange(assignment, 1),
            archives.files(assignment, 1, as_folder=True),
            archives.files(assignment, 1, as_folder=False),
            *([archives.teams()] if assignment == TOTAL else []),
        ]
        if first:
            run_killed(folder, moments.randrange(20, 2 * STUDENTS), "collect", *sources, "--course", folder)
        room.collect(*sources, status=1)
    check_account(room)
    run("grade", folder)
    check_grades(room, Model(worth(mended=False), CREDIT, extended=False), turn=1)


@pytest.mark.nightly(twin="tests/grading/test_regrading.py::test_scores_are_listed_then_raised_then_lowered")
def test_an_exercise_is_mended(room: Classroom, moments: random.Random) -> None:
    """Scores are raised by a command that is killed and run again. Nobody else's change."""
    write_lesson(room.folder, MENDED, mended=True)
    run("build", "--accept", MENDED, "--course", room.folder)
    again = ["grade", room.folder, MENDED, "--again", EXERCISE, "--apply"]
    run_killed(room.folder, moments.randrange(3, STUDENTS // 10), *again)
    run(*again)
    check_grades(room, Model(worth(mended=True), CREDIT, extended=False), turn=1)


@pytest.mark.nightly(
    twin="tests/grading/collecting/test_collect.py::test_the_latest_of_several_attempts_is_submitted_and_the_others_are_kept"
)
def test_the_second_turn(room: Classroom, moments: random.Random) -> None:
    """Newer archives add what is newer. Older archives and the same ones again change no submission."""
    archives = room.archives
    for assignment in ASSIGNMENTS:
        source, sheet = archives.moodle(assignment, 2)
        if assignment == TOTAL:
            command = ["collect", source, "--worksheet", sheet, "--course", room.folder]
            run_killed(room.folder, moments.randrange(5, STUDENTS // 2), *command)
        room.collect(source, worksheet=sheet)
        room.collect(
            archives.canvas(assignment, 2),
            archives.blackboard(assignment, 2),
            archives.exchange(assignment, 2),
            archives.files(assignment, 2, as_folder=False),
        )
    before = room.submitted()
    room.collect(archives.old())
    for turn in (1, 2):
        archive, sheet = (archives.folder / f"{FIRST}-{name}" for name in (f"moodle-{turn}.zip", f"{turn}.csv"))
        room.collect(archive, worksheet=sheet, status=int(turn == 1))
    assert room.submitted() == before
    check_account(room)


@pytest.mark.nightly(
    twin="tests/grading/rules/test_rules_applied.py::test_a_rule_changed_later_changes_nothing_until_it_is_applied"
)
def test_other_rules_and_a_killed_grader(room: Classroom, moments: random.Random) -> None:
    """New attempts are graded, and the best one counts where the rules say so.

    Then a rule and extensions are changed.
    """
    folder = room.folder
    run_killed(folder, moments.randrange(20, 2 * STUDENTS), "grade", folder)
    run("grade", folder)
    check_grades(room, Model(worth(mended=True), CREDIT, extended=False))
    room.extend(random.Random(SEED))
    room.write_rules(NEW_CREDIT)
    run_killed(folder, moments.randrange(2, 4), "course", folder, "--apply")
    room.run("course", folder, "--apply")
    run("grade", folder)
    check_grades(room, Model(worth(mended=True), NEW_CREDIT, extended=True))


@pytest.mark.nightly(twin="tests/grading/test_killed_processes.py::test_a_rerun_after_one_kill_is_right")
def test_everybody_gets_what_is_theirs(room: Classroom, moments: random.Random) -> None:
    """Pages and returned files are those of the model. Who handed in nothing gets nothing."""
    folder, book = room.folder, room.archives.folder / "canvas.csv"
    book.write_bytes(canvas_gradebook(room.people, {}))
    run_killed(folder, moments.randrange(20, 2 * STUDENTS), "feedback", folder)
    room.run("feedback", folder)
    command = ["return", folder, "--gradebook", book]
    run_killed(folder, moments.randrange(20, STUDENTS), *command)
    room.run(*command, status=1)
    expected = check_grades(room, Model(worth(mended=True), NEW_CREDIT, extended=True))
    check_returned(room, expected)
    assert not [path for path in (folder / ".autograder").iterdir() if path.name.startswith(("collect-", "."))]
