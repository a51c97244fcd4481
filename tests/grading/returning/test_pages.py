"""Pages of feedback that are returned: each to its student, and nothing else."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.cli import main
from support.course import Course
from support.first_gradient import NAME
from support.lms import collect, write_archive

Work = Callable[..., str]  # see the fixture `work`
TEAM = "Team 7_7_assignsubmission_file"
BOOK = f"""Student,ID,SIS User ID,SIS Login ID,Section,{NAME} (12)
    Points Possible,,,,,100
"Ли, Ян",72,,,A,
"""


@pytest.fixture
def course(tmp_path: Path, work: Work) -> Course:
    """A team and a student with a page of his own, both from Moodle; graded."""
    course = Course.make(tmp_path / "returned-course", languages=["en"])
    lines = ["id,name,lms,group", "ann,Анна Петрова,,Team 7", "bo,Bo Li,,Team 7", "jan,Ян Ли,,", "twin,Ли Ян,72,"]
    (course.folder / "students.csv").write_text("\n".join(lines), encoding="utf-8")
    files = {
        f"{TEAM}/{NAME}.ipynb": work("team"),
        f"jan_9_assignsubmission_file/{NAME}.ipynb": work("jan"),
        "jan_9_assignsubmission_file/mine.html": "<script>alert(1)</script>",
    }
    (course.folder / "students.csv").write_text("\n".join(lines).replace("jan,Ян Ли,", "jan,Ян Ли,jan"))
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 0
    course.grade()
    return course


def test_a_student_s_own_page_is_no_feedback_and_each_member_of_a_team_has_one(course: Course, tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text(BOOK, encoding="utf-8")
    left = course.folder / "returned" / f".{NAME}.99999"
    left.mkdir(parents=True)
    assert main(["return", str(course.folder), NAME, "--gradebook", str(book)]) == 1
    place = course.folder / "returned" / NAME
    with zipfile.ZipFile(place / "moodle_feedback.zip") as archive:
        assert archive.namelist() == [f"{TEAM}_/{NAME}.html", f"jan_9_assignsubmission_file_/{NAME}.html"]
    assert not (place / "feedback").exists(), "both members have the same page"
    assert (place / "canvas_gradebook.csv").read_text(encoding="utf-8") == BOOK, "a namesake's line is not his"
    assert not left.exists(), "what a killed command has left"
