"""Work, worksheets and lessons of another assignment: nobody gets a grade of it."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import nbformat
import pytest

from autograder.cli import main
from support.course import Course
from support.first_gradient import NAME
from support.lms import blackboard, canvas, collect
from support.lms.moodle import Assignment, Member
from support.lms.quick_grades import give_back, give_grades

Marked = Callable[[object], str]
CAME = datetime(2026, 9, 17, 18, 5)
OTHER = "01_leaf_tensors"
PEOPLE = [Member(at, f"Ann{at}", "Lee", f"ann{at}@uni.example", came=CAME) for at in range(1, 7)]


def handed_in(marked: Marked) -> Assignment:
    return Assignment([replace(each, files={f"{NAME}.ipynb": marked(each.number)}) for each in PEOPLE], (5, 1))


def graded_beside_another(course: Course, marked: Marked, folder: Path) -> Path:
    """Collect and grade an assignment, and return the worksheet of another one with the same people."""
    site = handed_in(marked)
    assert collect(course, site.archive(folder / "all.zip"), "--worksheet", site.worksheet(folder / "w.csv")) == 0
    give_grades(course)
    return Assignment([replace(each, number=each.number + 100) for each in PEOPLE]).worksheet(folder / "other.csv")


def test_the_worksheet_of_another_assignment_is_refused(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = graded_beside_another(course, marked, tmp_path)
    assert give_back(course, "--worksheet", sheet) != 0
    said = capsys.readouterr()
    assert f"{sheet} belongs to another assignment than {NAME}" in said.out + said.err
    assert not (course.folder / "returned" / NAME / "worksheet.csv").exists()


@pytest.mark.parametrize("system", ["Canvas", "Blackboard"])
def test_the_gradebook_of_another_course_adds_nobody(
    course: Course, marked: Marked, tmp_path: Path, system: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {f"{NAME}.ipynb": marked(1)}
    site: canvas.Site | blackboard.Site
    if system == "Canvas":
        site = canvas.Site([canvas.User(4711, "Ann", "Lee", "ann", files={5: (f"{NAME}.ipynb", marked(1))})])
        book = canvas.Site([canvas.User(9, "Ida", "Kim", "ida")]).gradebook(tmp_path / "other.csv")
    else:
        site = blackboard.Site([blackboard.Student("ann", "Ann", "Lee", [blackboard.Attempt(CAME, {**files})])])
        book = blackboard.Site([blackboard.Student("ida", "Ida", "Kim")]).grade_center(tmp_path / "other.xls")
    assert collect(course, site.archive(tmp_path / "all.zip"), "--gradebook", book) == 1
    said = capsys.readouterr().out
    assert f"{book} belongs to another course than all.zip: they have no participant in common" in said
    assert not (course.folder / "students.csv").exists()


def test_a_wrong_lesson_gets_no_worksheet(course: Course, marked: Marked, tmp_path: Path) -> None:
    """One of six hands in the notebook of another lesson: the worksheet is not that lesson's."""
    assert main(["course", str(course.folder)]) == 0
    site = handed_in(marked)
    wrong = (course.folder / "source" / OTHER / f"{OTHER}.ipynb").read_text(encoding="utf-8")
    site.members[0].files = {f"{OTHER}.ipynb": wrong}
    collect(course, site.archive(tmp_path / "all.zip"), "--worksheet", site.worksheet(tmp_path / "w.csv"))
    assert (course.folder / "submitted" / "ann1" / OTHER).exists()
    assert [path.name for path in (course.folder / "worksheets").iterdir()] == [f"{NAME}.csv"]


@pytest.fixture
def homework(course: Course) -> dict[str, str]:
    """The notebooks of an assignment of two lessons, whose folders are there from before the edit of course.toml."""
    assert main(["course", str(course.folder)]) == 0
    rules = f'[assignments.homework_1]\nlessons = ["{NAME}", "{OTHER}"]\n'
    (course.folder / "course.toml").write_text(rules, encoding="utf-8")
    assert main(["course", str(course.folder)]) == 0
    source = course.folder / "source" / "homework_1"
    return {f"{name}.ipynb": (source / f"{name}.ipynb").read_text(encoding="utf-8") for name in (NAME, OTHER)}


def test_a_part_of_an_assignment_is_not_collected_as_a_lesson(
    course: Course, homework: dict[str, str], tmp_path: Path
) -> None:
    files = homework
    site = Assignment([replace(PEOPLE[0], files=files)], (5, 1))
    assert collect(course, site.archive(tmp_path / "all.zip"), "--worksheet", site.worksheet(tmp_path / "w.csv")) == 0
    assert [path.name for path in (course.folder / "submitted" / "ann1").iterdir()] == ["homework_1"]
    assert {path.name for path in (course.folder / "submitted" / "ann1" / "homework_1").glob("*.ipynb")} == set(files)


@pytest.mark.nightly(
    twin="tests/grading/lms/test_other_assignment.py::test_a_lesson_handed_in_in_another_assignment_stops_and_misleads_nobody"
)
def test_canvas_gets_feedback_on_both_lessons(
    course: Course, homework: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Canvas shows a file under the name of a submitted one: it has the feedback on all."""
    course.nbgrader("generate_assignment", "homework_1")
    files = {880 + at: item for at, item in enumerate(sorted(homework.items(), reverse=True))}
    site = canvas.Site([canvas.User(4711, "Ann", "Lee", "ann", files=files)], title="Homework 1")
    book = site.gradebook(tmp_path / "book.csv")
    assert collect(course, site.archive(tmp_path / "all.zip"), "--gradebook", book) == 0
    assert main(["grade", str(course.folder), "homework_1"]) == 0
    assert main(["return", str(course.folder), "homework_1", "--gradebook", str(book)]) == 0
    place = course.folder / "returned" / "homework_1"
    (page,) = site.import_feedback((place / "canvas_feedback.zip").read_bytes())[4711].values()
    notebook = nbformat.reads(page.decode(), as_version=4)
    nbformat.validate(notebook)
    texts = [cell.source for cell in notebook.cells]
    assert sum(text.startswith("# Feedback") for text in texts) == 1
    with course.gradebook() as gradebook:
        points = gradebook.find_submission("homework_1", "ann").score
        titles = [each.name for each in gradebook.find_submission("homework_1", "ann").notebooks]
    assert f"| **Total** | **{points:g} / " in texts[0]
    assert len(titles) == 2
    assert texts[0].count("\n| ") > 4, "the exercises of both"


def test_a_lesson_handed_in_in_another_assignment_stops_and_misleads_nobody(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In both orders: the right worksheet is kept, and the page goes back under the number that it has there."""
    site, wrong = handed_in(marked), replace(PEOPLE[0], number=101, files={f"{NAME}.ipynb": marked("wrong")})
    other = Assignment([wrong, *(replace(each, number=each.number + 100) for each in PEOPLE[1:])], (5, 1))
    right = site.archive(tmp_path / "right.zip"), "--worksheet", site.worksheet(tmp_path / "right.csv")
    stray = other.archive(tmp_path / "stray.zip"), "--worksheet", other.worksheet(tmp_path / "stray.csv")
    for archives in ([stray, right], [right, stray]):
        for archive in archives:
            assert collect(course, *archive) == 0
        kept = [path.read_bytes() for path in (course.folder / "worksheets").iterdir()]
        assert kept == [(tmp_path / "right.csv").read_bytes()]
    give_grades(course)
    capsys.readouterr()
    assert main(["return", str(course.folder)]) == 0, capsys.readouterr()
    place = course.folder / "returned" / NAME
    assert sorted(path.name for path in place.iterdir()) == ["grades.csv", "moodle_feedback.zip", "worksheet.csv"]
    site.import_worksheet((place / "worksheet.csv").read_bytes())
    assert all(each.grade for each in site.members)
    with zipfile.ZipFile(place / "moodle_feedback.zip") as pages:
        assert {name.split("_")[1] for name in pages.namelist()} == {str(each.number) for each in PEOPLE}


def test_one_assignment_that_cannot_be_returned_stops_no_other(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = graded_beside_another(course, marked, tmp_path)
    shutil.copy(sheet, course.folder / "worksheets" / f"{NAME}.csv")
    capsys.readouterr()
    assert main(["return", str(course.folder)]) == 1
    said = capsys.readouterr().out
    assert f"worksheets/{NAME}.csv: it belongs to another assignment, so nothing is written into it: delete it" in said
    assert (course.folder / "returned" / "total.csv").is_file()
