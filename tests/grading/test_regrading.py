"""Regrading after an exercise was mended; points that a person gave stay."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.cli import main
from autograder.grading.course.attempts import AttemptStore
from autograder.grading.course.course import open_course
from support.course import Course
from support.first_gradient import CHECK, EXERCISES, FIRST, LESSON, SOLVED, TOTAL, WRONG
from support.submissions import Submission

pytestmark = pytest.mark.long(10)


@pytest.fixture
def course(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Course:
    """Three graded submissions, with the scores of an earlier, faulty exercise put into the gradebook."""
    submissions = [
        Submission("ann", "en", SOLVED),
        Submission("boris", "ru", SOLVED),
        Submission("carl", "en", {**SOLVED, FIRST.name: WRONG}),
    ]
    made = Course.make(tmp_path / "course", submissions=submissions)
    made.hand_in_all()
    assert main(["grade", str(made.folder)]) == 0
    for student, column, value in (("ann", "auto_score", 0), ("carl", "auto_score", 1), ("boris", "manual_score", 0.5)):
        _set(made, student, column, value)
    _set(made, "boris", "auto_score", 0)
    capsys.readouterr()
    return made


@contextlib.contextmanager
def _book(course: Course) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(course.folder / "gradebook.db")) as book, book:
        yield book


_ONE = """from grade join base_cell on base_cell.id = grade.cell_id
    join submitted_notebook on submitted_notebook.id = grade.notebook_id
    join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id
    where base_cell.name = ? and submitted_assignment.student_id = ?"""


def _set(course: Course, student: str, column: str, value: float) -> None:
    with _book(course) as book:
        book.execute(f"update grade set {column} = ? where id in (select grade.id {_ONE})", (value, CHECK, student))


def scores(course: Course) -> dict[str, tuple[float, float | None]]:
    select = f"select auto_score, manual_score {_ONE}"
    with _book(course) as book:
        return {student: book.execute(select, (CHECK, student)).fetchone() for student in ("ann", "boris", "carl")}


def test_scores_are_listed_then_raised_then_lowered(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    again = ["grade", str(course.folder), LESSON.file_name, "--again", FIRST.name]
    full = FIRST.points
    before = scores(course)
    assert before == {"ann": (0, None), "boris": (0, 0.5), "carl": (1, None)}

    assert main(again) == 0
    listed = [f"ann: 0 -> {full:g}", f"boris: 0 -> {full:g}", "carl: 1 -> 0"]
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[1:]] == listed
    assert scores(course) == before

    assert main([*again, "--apply"]) == 0
    assert "carl: 1 -> 0, kept" in capsys.readouterr().out
    assert scores(course) == {"ann": (full, None), "boris": (full, 0.5), "carl": (1, None)}

    assert main([*again, "--apply", "--lower"]) == 0
    assert "carl: 1 -> 0, lowered" in capsys.readouterr().out
    assert scores(course)["carl"] == (0, None)
    assert main(again) == 0
    assert "no scores would change" in capsys.readouterr().out

    assert main([*again[:-1], "nobody_has_this"]) == 1
    assert "is that its name" in capsys.readouterr().err


def test_attempts_that_were_not_graded_again_are_graded_by_the_next_run(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    """The faulty exercise gave nothing to the better one of two attempts."""
    (course.folder / "course.toml").write_text(f'[assignments.{course.name}]\ncounts = "best"')
    assert main(["course", str(course.folder), "--apply"]) == 0
    store = AttemptStore(open_course(course.folder), course.name)
    store.keep_submitted("carl")
    (worse,) = store.of("carl")
    course.hand_in("carl", SOLVED)
    store.keep_submitted("carl")
    store.record_score("carl", 0)
    store.submit("carl", worse)
    again = ["grade", str(course.folder), course.name, "--again", FIRST.name]
    assert main(again) == 0
    assert "some students have other attempts (carl): after --apply, `autograder grade" in capsys.readouterr().err
    assert main([*again, "--apply"]) == 0
    assert "have other attempts (carl): `autograder grade" in capsys.readouterr().err
    assert course.grade()["carl"]["score"] == TOTAL


def test_who_was_late_owes_the_score_that_was_raised(course: Course) -> None:
    course.configure('c.LateSubmissionPlugin.penalty_method = "zero"')
    with _book(course) as book:
        book.execute("update assignment set duedate = '2026-01-01 00:00'")
        book.execute("update submitted_assignment set timestamp = '2026-01-01 02:00' where student_id != 'carl'")
    assert main(["grade", str(course.folder), LESSON.file_name, "--again", FIRST.name, "--apply"]) == 0
    with _book(course) as book:
        owed = dict(
            book.execute(
                "select student_id, late_submission_penalty from submitted_notebook"
                " join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
            )
        )
    points = sum(exercise.points for exercise in EXERCISES.values())
    assert owed == {"ann": points, "boris": points - FIRST.points + 0.5, "carl": None}
