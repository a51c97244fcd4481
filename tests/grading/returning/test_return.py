"""`autograder return`: what an LMS imports, and who gets nothing."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import datetime
from pathlib import Path

import nbformat
import pytest

from autograder.cli import main
from autograder.grading.returning.grades import worst
from support.course import Course
from support.first_gradient import CHECK, FIRST, NAME, SOLVED, TOTAL, WRONG
from support.lms import Participant, collect, moodle_folder, write_archive, write_worksheet
from support.submissions import Submission, read

CAME = datetime(2026, 9, 17, 12)
PEOPLE = [
    Participant(4711, "Анна Петрова", "s1", "petrova@uni.example", CAME),
    Participant(4712, 'Jean "JJ" O’Neil, jr.', "s2", "oneil@uni.example", CAME),
    Participant(4713, "Пётр Ёлкин", "s3", "elkin@uni.example"),
]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Two students with submissions from Moodle, one right and one partly wrong, and one without; graded."""
    folder = tmp_path_factory.mktemp("return")
    course = Course.make(folder / "course", languages=["en"])
    blank = read(course.released("en"))
    answers = [SOLVED, {**SOLVED, FIRST.name: WRONG}]
    files = {
        f"{moodle_folder(who)}/{NAME}.ipynb": nbformat.writes(Submission("x", "en", each).notebook(blank))
        for who, each in zip(PEOPLE, answers)
    }
    sheet = write_worksheet(folder / "w.csv", PEOPLE)
    assert collect(course, write_archive(folder / "all.zip", files), "--worksheet", sheet) == 0
    course.grade()
    return course


def give_back(course: Course, *arguments: object) -> int:
    return main(["return", str(course.folder), NAME, *map(str, arguments)])


def returned(course: Course) -> Path:
    return course.folder / "returned" / NAME


@pytest.mark.parametrize(
    ("russian", "separator", "encoding", "end"),
    [(False, ",", "utf-8-sig", "\r\n"), (True, ",", "utf-8", "\n"), (True, ";", "cp1251", "\r\n")],
)
def test_the_worksheet_differs_in_two_cells_of_a_line(
    graded: Course, tmp_path: Path, russian: bool, separator: str, encoding: str, end: str
) -> None:
    sheet = write_worksheet(
        tmp_path / "again.csv", PEOPLE, russian=russian, separator=separator, encoding=encoding, end=end
    )
    assert give_back(graded, "--worksheet", sheet) == 0
    before, after = (
        sheet.read_bytes().decode(encoding),
        (returned(graded) / "worksheet.csv").read_bytes().decode(encoding),
    )
    old, new = (list(csv.reader(io.StringIO(text, newline=""), delimiter=separator)) for text in (before, after))
    scores = graded.scores()
    comma = "," if russian else "."
    for line, mine, who in zip(old[1:], new[1:], PEOPLE):
        score = scores.get(who.email.partition("@")[0])
        expected = list(line)
        if score is not None:
            expected[5] = f"{score * 100 / TOTAL:.2f}".replace(".", comma)
            expected[-1] = f"{score:g} points out of {TOTAL:g}"
        assert mine == expected
    assert [len(line) for line in old] == [len(line) for line in new]
    unchanged = [mine for mine, line in zip(after.split(end), before.split(end)) if mine == line]
    assert unchanged == [before.split(end)[0], before.split(end)[3], ""], "the head and who handed in nothing"


def test_moodle_accepts_the_feedback_archive(graded: Course) -> None:
    """The importer takes a path part with at least four pieces between underscores, the second a number."""
    assert give_back(graded) == 0
    with zipfile.ZipFile(returned(graded) / "moodle_feedback.zip") as archive:
        names = archive.namelist()
        page = archive.read(names[0]).decode()
    assert [name.split("/")[0].split("_", 4)[1:4] for name in names] == [
        ["4712", "assignsubmission", "file"],
        ["4711", "assignsubmission", "file"],
    ]
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "<math" in page


def test_the_table_names_everybody(graded: Course) -> None:
    give_back(graded)
    with (returned(graded) / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["id"]: float(row["points"]) for row in rows} == graded.scores()


def test_the_total_drops_each_student_s_worst_assignment(graded: Course, tmp_path: Path) -> None:
    course = graded.copy(tmp_path)
    assert main(["return", str(course.folder)]) == 0
    with (course.folder / "returned" / "total.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert {name: float(row["total"]) for name, row in rows.items()} == {**course.scores(), "elkin": 0}
    points = {"a": (3.0, 10.0), "b": (4.0, 20.0), "c": (9.0, 10.0)}
    assert [worst(points, number) for number in range(5)] == [[], ["b"], ["a", "b"], ["a", "b"], ["a", "b"]]


def test_who_gets_nothing_is_told(graded: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = graded.copy(tmp_path)
    course.hand_in("late", SOLVED)
    with course.gradebook() as gradebook:
        gradebook.find_grade(CHECK, NAME, NAME, "petrova").needs_manual_grade = True
    sheet = write_worksheet(tmp_path / "one.csv", PEOPLE[2:])
    assert give_back(course, "--worksheet", sheet) == 1
    said = capsys.readouterr().out
    assert "petrova: no grade: some answers wait for points from a person (formgrader)" in said
    assert "late: no grade: not graded yet" in said
    assert "oneil: not in one.csv" in said


def test_who_handed_in_and_belongs_to_nobody_is_told(
    graded: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = Participant(104, "Пётр Сидоров", "", "sidorov@uni.example", CAME)
    people = [*PEOPLE[:2], PEOPLE[2]._replace(came=CAME), stranger]
    assert give_back(graded, "--worksheet", write_worksheet(tmp_path / "new.csv", people)) == 1
    said = [line.strip() for line in capsys.readouterr().out.splitlines() if "handed in" in line]
    assert said == [
        "Пётр Ёлкин (participant 4713): row left empty: handed in, but no submission of elkin (Пётр Ёлкин) was "
        "collected: see unplaced/; what is not there was another lesson's notebook, or withdrawn",
        "Пётр Сидоров (participant 104): row left empty: handed in, but belongs to nobody in students.csv: "
        "collect with --add",
    ]


def test_canvas_gets_its_gradebook_and_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = Course.make(tmp_path / "course", languages=["en"])
    (course.folder / "students.csv").write_text("id,name,lms\nann,Анна Петрова,\nbo,Bo Li,7\n", encoding="utf-8")
    text = nbformat.writes(Submission("x", "en", SOLVED).notebook(read(course.released("en"))))
    files = {f"петроваанна_4711_1_{NAME}-1.ipynb": text, f"boli_7_2_{NAME}.ipynb": text}
    assert collect(course, write_archive(tmp_path / "s.zip", files)) == 0
    course.grade()
    course.give_by_hand("ann", CHECK, 0.5)
    book = tmp_path / "book.csv"
    book.write_bytes(
        (
            f"Student,ID,SIS User ID,SIS Login ID,Section,{NAME} (12),Other (13),Final Score\r\n"
            "    Points Possible,,,,,100.00,5.00,(read only)\r\n"
            '"Петрова, Анна",4711,s1,ann@x,S,,3.00,1\r\n'
            '"Li, Bo",7,s2,bo@x,S,EX,,\r\n'
        ).encode("utf-8-sig")
    )
    assert give_back(course, "--gradebook", book) == 1
    assert "bo: no grade: excused in Canvas (EX)" in capsys.readouterr().out
    mine = course.scores()["ann"] * 100 / TOTAL
    filled = (returned(course) / "canvas_gradebook.csv").read_bytes()
    assert filled == book.read_bytes().replace(b"ann@x,S,,", f"ann@x,S,{mine:.2f},".encode())
    with zipfile.ZipFile(returned(course) / "canvas_feedback.zip") as archive:
        assert sorted(archive.namelist()) == sorted(files)
        notebook = nbformat.reads(archive.read(f"петроваанна_4711_1_{NAME}-1.ipynb").decode(), as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.startswith("# Feedback")
    assert any("see me" in cell.source for cell in notebook.cells)
