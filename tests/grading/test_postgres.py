"""A gradebook in PostgreSQL: a real server, our commands, nbgrader's, and formgrader's queries."""

from __future__ import annotations

import itertools
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine

from autograder.cli import main
from autograder.grading.course.course import open_course
from support.course import Course
from support.first_gradient import CHECK, FIRST, NAME, SOLVED, TOTAL, WRONG
from support.needs import lack
from support.postgres import Postgres
from support.regrading import Place, make_place

pytestmark = pytest.mark.long(20)

_numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    if Postgres.missing():
        lack("no PostgreSQL server: apt-get install postgresql")
    running = Postgres()
    yield running
    running.stop()


@pytest.fixture
def course(server: Postgres, tmp_path: Path) -> Course:
    """A course with three submissions whose config names an empty database."""
    made = Course.make(tmp_path / "course", languages=["en"])
    url = server.make_database(f"book_{next(_numbers)}")
    made.configure(f"c.CourseDirectory.db_url = {url!r}")
    (made.folder / "gradebook.db").unlink()
    made.hand_in("ann", SOLVED)
    made.hand_in("bo", {**SOLVED, FIRST.name: WRONG})
    made.hand_in("carl", {})
    return made


def scores(course: Course) -> dict[str, float]:
    api = NbGraderAPI(CourseDirectory(config=open_course(course.folder).config))
    return {each["student"]: each["score"] for each in api.get_submissions(NAME)}


def test_every_command_works_on_an_empty_database(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {"ann": TOTAL, "bo": TOTAL - FIRST.points, "carl": 0}
    assert main(["course", str(course.folder)]) == 0
    course.grade()
    assert scores(course) == expected
    course.nbgrader("autograde", NAME, "--force")
    assert scores(course) == expected
    course.nbgrader("generate_feedback", NAME)
    course.nbgrader("export")
    assert (course.folder / "grades.csv").read_text().count("\n") == 4
    for command in ("report", "feedback", "return", "requests"):
        assert main([command, str(course.folder)]) == 0, command
    assert main(["course", str(course.folder), "--check"]) == 0
    assert main(["grade", str(course.folder), NAME, "--again", FIRST.name]) == 0
    assert not (course.folder / "gradebook.db").exists(), "nothing went into SQLite beside it"


@pytest.mark.nightly(twin="tests/grading/test_postgres.py::test_every_command_works_on_an_empty_database")
def test_formgrader_shows_and_keeps_points_by_hand(course: Course) -> None:
    course.grade()
    settings = open_course(course.folder)
    with Gradebook(settings.db_url) as gradebook:
        grade = gradebook.find_grade(CHECK, NAME, NAME, "bo")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        gradebook.find_submission_notebook(NAME, NAME, "bo").comments[0].manual_comment = "see me"
        gradebook.db.commit()
    course.grade("--force")
    api = NbGraderAPI(CourseDirectory(config=settings.config))
    assert scores(course)["bo"] == TOTAL - FIRST.points + 1.5
    assert {each["name"]: each["num_submissions"] for each in api.get_assignments()}[NAME] == 3
    assert api.get_notebooks(NAME)[0]["max_score"] == TOTAL
    assert {each["student"] for each in api.get_notebook_submissions(NAME, NAME)} == {"ann", "bo", "carl"}
    assert {each["id"]: each["score"] for each in api.get_students()} == scores(course)
    assert api.get_student_submissions("bo")[0]["score"] == scores(course)["bo"]
    assert api.get_student_notebook_submissions("bo", NAME)[0]["score"] == scores(course)["bo"]


def test_two_machines_do_not_write_one_assignment(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lock is the server's: the other grader has a copy of the course, and no file in common."""
    other = course.copy(tmp_path / "other machine")
    url = open_course(course.folder).db_url
    course.grade()
    with open_course(course.folder).locked_book(NAME):
        assert main(["grade", str(other.folder)]) == 1
        said = capsys.readouterr().err
        assert "a grader on another machine is at work on" in said
        assert "unused" not in said, "no password in a message"
    assert main(["grade", str(other.folder)]) == 0
    assert "unused" not in open_course(course.folder).shown_db_url
    assert create_engine(url).url.password == "unused"


@pytest.mark.nightly(twin="tests/grading/test_postgres.py::test_every_command_works_on_an_empty_database")
def test_lost_connections_lose_nothing(server: Postgres, tmp_path: Path) -> None:
    """The server cuts all connections again and again during grading."""
    place = make_place().copy(tmp_path / "course")
    url = server.make_database("cut")
    with (place.folder / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.CourseDirectory.db_url = {url!r}\n")
    ended = threading.Event()

    def cut() -> None:
        while not ended.wait(0.3):
            server.ask("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cut'")

    process = place.start()
    _wait_for_submission(server, process)
    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        status, results, said = place.finish(process)
    finally:
        ended.set()
        cutter.join()
    assert status == 0, (said, results)
    assert {each["state"] for each in results.values()} == {"graded"}
    found = server.ask("cut", "SELECT count(*) FROM submitted_assignment")
    assert int(found) == len(place.students)
    assert _scores(server) == _sqlite_scores(place)


def _scores(server: Postgres) -> dict[str, float]:
    rows = server.ask(
        "cut",
        "SELECT s.student_id, sum(g.auto_score) FROM grade g JOIN submitted_notebook n ON n.id = g.notebook_id "
        "JOIN submitted_assignment s ON s.id = n.assignment_id GROUP BY 1",
    )
    return {student: float(score) for student, score in (line.split("|") for line in rows.splitlines())}


def _sqlite_scores(place: Place) -> dict[str, float]:
    """Return the scores that an undisturbed run writes into SQLite."""
    found: dict[str, float] = {}
    for row in place.expected:
        if len(row) == 6:
            found[row[0]] = found.get(row[0], 0.0) + (row[2] or 0.0)
    return found


def _wait_for_submission(server: Postgres, process: subprocess.Popen[str]) -> None:
    """Wait until the first result is written."""
    tables = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'submitted_assignment'"
    while process.poll() is None:
        if server.ask("cut", tables) == "1" and server.ask("cut", "SELECT count(*) FROM submitted_assignment") != "0":
            return
        time.sleep(0.02)
