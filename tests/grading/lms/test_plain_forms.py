"""Systems that only name folders and files: everybody has a place, and nobody is merged with anybody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.course import Course
from support.first_gradient import NAME
from support.lms import collect, write_archive
from support.lms.plain import FORMS, TELL_PEOPLE, TELL_TIMES, Person
from support.lms.quick_grades import folder_mark

Marked = Callable[[object], str]
CLASS = [
    Person("Анна", "Петрова", "anna-petrova", 4711),
    Person("Anna Maria", "Petrova", "petrova", 4712),
    Person("Jean-Luc", "O'Neil", "jl_oneil", 4713),
    Person("Bo", "Li", "li", 4714),
]


EVERY_COMMIT = ("brightspace", "github_classroom", "gradescope", "sakai")
NIGHTLY = pytest.mark.nightly(twin="tests/grading/lms/test_plain_forms.py::test_everybody_has_a_place")


@pytest.mark.parametrize("with_roster", [True, False], ids=["students.csv", "no students.csv"])
@pytest.mark.parametrize("form", [pytest.param(form, marks=() if form in EVERY_COMMIT else NIGHTLY) for form in FORMS])
def test_everybody_has_a_place(
    course: Course, marked: Marked, tmp_path: Path, form: str, with_roster: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    if with_roster:
        lines = ["id,name,lms", *(f"s{each.number},{each.name},{each.user}" for each in CLASS)]
        (course.folder / "students.csv").write_text("\n".join(lines), encoding="utf-8")
    files = FORMS[form](CLASS, {each.user: marked(each.user) for each in CLASS})
    status = collect(course, write_archive(tmp_path / "all.zip", files))
    placed = {path.name for path in (course.folder / "submitted").glob("*")}
    if not with_roster and form not in TELL_PEOPLE:
        assert len(placed) in (0, len(CLASS)), "one folder is never one student with everybody's notebooks"
        return
    assert status == 0, capsys.readouterr().out
    assert len(placed) == len(CLASS)
    if with_roster:
        assert {student: folder_mark(course, student) for student in placed} == {
            f"s{each.number}": each.user for each in CLASS
        }
    stamps = {path.read_text()[:16] for path in course.folder.glob("submitted/*/*/timestamp.txt")}
    assert stamps == {"2026-09-17 18:05" if form in TELL_TIMES else "2026-09-20 12:00"}


@pytest.mark.parametrize("above", ["Student Work/Lab 0/Ann Lee", "Lab 0"])
def test_the_only_folder_of_an_archive_is_no_student(
    course: Course, marked: Marked, tmp_path: Path, above: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {f"{above}/{name}.ipynb": marked(name) for name in ("ann", "bo")[: 1 + (above == "Lab 0")]}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 1
    assert "no place" in capsys.readouterr().out
    assert not (course.folder / "submitted").exists() or not list((course.folder / "submitted").iterdir())


def test_two_folders_deep_without_a_list_of_students(course: Course, marked: Marked, tmp_path: Path) -> None:
    """A public report's archive, as Teams, Google Drive and Sakai give it."""
    files = {f"Student Work/Lab 0/{name}/{NAME}.ipynb": marked(name) for name in ("Ann Lee", "Bo Neil")}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 0
    assert sorted(path.name for path in (course.folder / "submitted").iterdir()) == ["Ann Lee", "Bo Neil"]


def test_a_group_in_gradescope(course: Course, marked: Marked, tmp_path: Path) -> None:
    metadata = "submission_7:\n  :submitters:\n" + "".join(
        f"  - :name: {each.name}\n    :email: {each.user}@uni.example\n" for each in CLASS[:2]
    )
    files = {f"e/submission_7/{NAME}.ipynb": marked("both"), "e/submission_metadata.yml": metadata}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 0
    assert sorted(path.name for path in (course.folder / "submitted").iterdir()) == ["anna-petrova", "petrova"]


@pytest.mark.parametrize("form", ["{}/x.ipynb", "all/{}/x.ipynb", "{}.ipynb"])
def test_a_folder_with_the_name_of_a_team(course: Course, marked: Marked, tmp_path: Path, form: str) -> None:
    """Ann Lee is not in the team "Team Lee", although nobody else is called Lee."""
    lines = ["id,name,group", "ann,Ann Lee,R & D", "bo,Bo Neil,Team Lee", "ida,Ida Kim,Team Lee", "li,Li Kim,R & D"]
    (course.folder / "students.csv").write_text("\n".join(lines), encoding="utf-8")
    files = {form.format(team): marked(team) for team in ("Team Lee", "R & D")}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 0
    assert {student: folder_mark(course, student) for student in ("ann", "bo", "ida", "li")} == {
        "ann": "R & D",
        "bo": "Team Lee",
        "ida": "Team Lee",
        "li": "R & D",
    }


def test_a_folder_without_letters_is_of_no_team(course: Course, marked: Marked, tmp_path: Path) -> None:
    lines = ["id,name,group", "ann,Ann Lee,🦊", "bo,Bo Neil,🦊", "ida,Ida Kim,"]
    (course.folder / "students.csv").write_text("\n".join(lines), encoding="utf-8")
    files = {f"{name}/x.ipynb": marked(name) for name in ("!!!", "ida")}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 1
    assert [path.name for path in (course.folder / "submitted").iterdir()] == ["ida"]


def test_a_team_in_brightspace(course: Course, marked: Marked, tmp_path: Path) -> None:
    lines = ["id,name,group", "ann,Ann Lee,R & D", "bo,Bo Neil,R & D", "ida,Ida Kim,"]
    (course.folder / "students.csv").write_text("\n".join(lines), encoding="utf-8")
    files = {f"397063-2557369 - {name} - Sep 17, 2026 605 PM/x.ipynb": marked(name) for name in ("R & D", "Ida Kim")}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 0
    assert sorted(path.name for path in (course.folder / "submitted").iterdir()) == ["ann", "bo", "ida"]
