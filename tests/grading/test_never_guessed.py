"""What cannot be read, or is not there, is named and never guessed: times, documents, requests, hand-ins."""

from __future__ import annotations

import csv
import importlib
import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from autograder.cli import main
from support import public_reports
from support.course import Course
from support.first_gradient import NAME, SOLVED, TOTAL
from support.lms import collect, write_archive
from support.solved import solved_notebook

FOLDER = Path(public_reports.__file__).parent
DUE = f"[assignments.{NAME}]\ndue = 2026-10-24T20:00:00\nlate = [{{until = '1d', credit = 50}}]\n"
NO_TIME = "no time of submission, so nobody knows whether it was late"
FUTURE = "the time of the submission is in the future, so nobody knows whether it was late"

Work = Callable[..., str]  # see the fixture `work`


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with a due date and late credit."""
    made = Course.make(tmp_path / "course", languages=["en"])
    (made.folder / "course.toml").write_text(DUE, encoding="utf-8")
    assert main(["course", str(made.folder), "--apply"]) == 0
    return made


def report(name: str) -> Any:
    return importlib.import_module(f"support.public_reports.{name}")


def test_a_time_in_an_unknown_form_is_named_and_flagged(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = report("a_worksheet_time_that_cannot_be_read")
    archive, sheet = tmp_path / "all.zip", tmp_path / "w.csv"
    case.archive(str(archive), work().encode())
    case.worksheet(str(sheet))
    assert collect(course, archive, "--worksheet", sheet) == 1
    said = capsys.readouterr().out
    for name, time in zip(case.NAMES, case.TIMES):
        student = name.split()[0].lower()
        assert f"{student} ({name}): {NAME} taken, no time known\n" in said
        why = f"{student} ({name}): {time!r} cannot be read, so nobody knows whether it was late: write the line "
        assert f"{why}{student},{NAME},YYYY-MM-DD HH:MM into times.csv" in said
    results = course.grade()
    assert {id: (each["score"], each["reasons"]) for id, each in results.items()} == {
        id: (TOTAL, [NO_TIME]) for id in ("ann", "bo", "cy")
    }
    assert set(course.owed().values()) == {0}

    rows = [f"{id},{NAME},2026-10-24 19:00" for id in ("ann", "bo")] + [f"cy,{NAME},2026-10-25 19:00"]
    (course.folder / "times.csv").write_text("\n".join(["id,assignment,time", *rows]), encoding="utf-8")
    assert collect(course, archive, "--worksheet", sheet) == 0
    assert {id: each["reasons"] for id, each in course.grade().items()} == {"ann": [], "bo": [], "cy": []}
    assert course.owed() == {"ann": 0, "bo": 0, "cy": TOTAL / 2}


def test_an_extension_in_an_unknown_form_is_named(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "Identifier,Full name,Email address,Status,Grade,Maximum grade,Last modified (submission)\n"
    status = "Submitted for grading. Extension granted until: 26. 10. 2026 um 20 Uhr"
    (sheet := tmp_path / "w.csv").write_text(
        f'{head}Participant 5,Ann Lee,ann@example.org,"{status}",,10,"Sunday, 25 October 2026, 7:00 PM"\n'
    )
    archive = write_archive(tmp_path / "all.zip", {f"Ann Lee_5_assignsubmission_file/{NAME}.ipynb": work()})
    collect(course, archive, "--worksheet", sheet)
    assert "extended in Moodle, until a time that cannot be read: '26. 10. 2026 um 20 Uhr'" in capsys.readouterr().out


@pytest.mark.parametrize(
    "path",
    [
        "HW_ann_attempt_2026-13-24-19-00-00_{}.ipynb",  # Blackboard
        "397063-2557369 - Ann Lee - huhti 24, 2026 926 PM/{}.ipynb",  # Brightspace
        f"ann+{NAME}+2026-10-24 19:00:00 EDT/{{}}.ipynb",  # nbgrader's exchange
    ],
)
def test_a_time_in_a_path_is_not_guessed(
    course: Course, work: Work, tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_archive(tmp_path / "all.zip", {path.format(NAME): work()})
    assert collect(course, archive) == 1
    assert "cannot be read, so nobody knows whether it was late" in capsys.readouterr().out
    assert [each["reasons"] for each in course.grade().values()] == [[NO_TIME]]


def test_a_time_in_the_future_is_flagged(course: Course, tmp_path: Path) -> None:
    """In both graders."""
    later = datetime.now(UTC) + timedelta(days=1)
    lines = (FOLDER / "a_hand_in_from_the_future.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate([lines[0], f"{later:%Y-%m-%d %H:%M:%S} UTC"]):
        course.hand_in(f"student{number}", SOLVED, came=line)
    course.hand_in("ann", SOLVED, came=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
    stock = course.copy(tmp_path / "stock")
    results = course.grade()
    assert [results[name]["reasons"] for name in ("student0", "student1", "ann")] == [[FUTURE], [FUTURE], []]
    stock.nbgrader("autograde", NAME)
    for each in (course, stock):
        assert each.owed() == {"student0": 0, "student1": 0, "ann": TOTAL}
        assert each.shown_flags() == {"student0": True, "student1": True, "ann": False}


@pytest.mark.parametrize(
    "path", ["HW_ann_attempt_2099-01-01-00-00-00_{}.ipynb", f"ann+{NAME}+2099-01-01 00:00:00 UTC/{{}}.ipynb"]
)
def test_a_time_in_the_future_is_not_collected(
    course: Course, work: Work, tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_archive(tmp_path / "all.zip", {path.format(NAME): work()})
    assert collect(course, archive) == 1
    said = capsys.readouterr().out
    assert f"ann: {NAME} taken, no time known\n" in said
    assert "ann: 2099-01-01 00:00 (file name) is in the future, so nobody knows whether it was late: write" in said
    assert [each["reasons"] for each in course.grade().values()] == [[NO_TIME]]


def _zipped(*names: str, first: tuple[str, str] | None = None) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in ([first] if first else []) + [(name, "<x/>") for name in names]:
            archive.writestr(name, text)
    return made.getvalue()


OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
WORD = report("a_word_document_instead_of_a_notebook")
OPEN = "application/vnd.oasis.opendocument."
DOCUMENTS = {  # by file name: the contents, and what it is
    WORD.NAME: (WORD.change({}), "a document of Word"),
    "old.doc": (OLD + "WordDocument".encode("utf-16-le"), "a document of Word"),
    "text.odt": (_zipped("content.xml", first=("mimetype", f"{OPEN}text")), "a document of Word"),
    "text.rtf": (b"{\\rtf1\\ansi x}", "a document of Word"),
    "marks.xlsx": (_zipped("[Content_Types].xml", "xl/workbook.xml"), "a spreadsheet"),
    "marks.xls": (OLD + "Workbook".encode("utf-16-le"), "a spreadsheet"),
    "marks.ods": (_zipped("content.xml", first=("mimetype", f"{OPEN}spreadsheet")), "a spreadsheet"),
    "talk.pptx": (_zipped("[Content_Types].xml", "ppt/presentation.xml"), "a presentation"),
}


def test_documents_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By `grade`, and by `collect`, which does not unpack them."""
    made = Course.make(tmp_path / "course", languages=["en"])
    for name, (data, _) in DOCUMENTS.items():
        path = made.submitted(name.replace(".", "-")).with_name(name)
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    results = made.grade()
    for name, (_, kind) in DOCUMENTS.items():
        (why,) = results[name.replace(".", "-")]["reasons"]
        sentence, _, remedy = why.partition(f"expected {NAME}.ipynb; {name} is {kind}")
        assert sentence.startswith("no notebook in "), why
        assert remedy.endswith(", not the notebook: ask the student for the file that ends in .ipynb")
    files = {f"{name}/{name}": data for name, (data, _) in DOCUMENTS.items()}
    assert collect(made, write_archive(tmp_path / "all.zip", files)) == 1
    said = capsys.readouterr().out
    for name, (_, kind) in DOCUMENTS.items():
        assert f": {name}: {name} is {kind}" in said


def test_a_document_in_a_stored_archive_does_not_make_it_one(tmp_path: Path) -> None:
    made = Course.make(tmp_path / "course", languages=["en"])
    notebook = json.dumps(solved_notebook(made.lesson, "en")).encode()
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:  # without compression
        archive.writestr(f"bo/{NAME}.ipynb", notebook)
        archive.writestr(f"ann/{NAME}.ipynb", notebook)
        archive.writestr("bo/notes.docx", WORD.change({}))
    assert collect(made, tmp_path / "all.zip") == 0
    (document,) = (made.folder / "submitted" / "bo").rglob("notes.docx")
    assert document.is_file()


def test_requests_in_other_encodings_are_read(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    case = report("a_request_in_utf16")
    for student, (name, data) in case.FILES.items():
        course.hand_in(student, SOLVED).with_name(name).write_bytes(data)
    course.grade()
    capsys.readouterr()
    assert main(["requests", str(course.folder)]) == 0
    said = capsys.readouterr().out
    assert said.count(case.TEXT) == 2


def said_by(capsys: pytest.CaptureFixture[str], status: int, *command: object) -> str:
    capsys.readouterr()
    assert main([*map(str, command)]) == status
    return capsys.readouterr().out


def points(course: Course) -> dict[str, str]:
    with (course.folder / "returned" / NAME / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["id"]: row["points"] for row in csv.DictReader(file)}


def test_a_hand_in_that_has_gone_is_not_returned(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    for student in ("ann", "bo"):
        course.hand_in(student, SOLVED, came="2026-10-24 10:00:00 UTC")
    course.grade()
    shutil.rmtree(course.folder / "submitted" / "ann")
    gone = "graded before, but nothing of theirs lies in submitted/ any more"
    assert f"  {gone}: ann\n" in said_by(capsys, 0, "grade", course.folder)
    assert f"  {gone}, so not returned: ann\n" in said_by(capsys, 0, "return", course.folder, NAME)
    assert points(course) == {"bo": f"{TOTAL:g}"}
    assert [path.parent.name for path in (course.folder / "returned" / NAME).rglob("*.html")] == ["bo"]


@pytest.mark.parametrize("collected", [False, True])
def test_the_rest_of_a_team_is_named(
    course: Course, work: Work, tmp_path: Path, collected: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    (course.folder / "students.csv").write_text("id,name,group\nann,Ann Lee,A\nbo,Bo Neil,A\ncy,Cy Roe,\n")
    left = (
        f"  bo (Bo Neil): ann (Ann Lee) of the team A handed in, and the system does not say for whom. If it is the "
        f"work of all: `mkdir -p submitted/bo && cp -r submitted/ann/{NAME} submitted/bo`, then grade\n"
    )
    if collected:
        archive = write_archive(tmp_path / "all.zip", {f"Ann Lee/{NAME}.ipynb": work()})
        assert left in said_by(capsys, 0, "collect", archive, "--course", course.folder)
    else:
        course.hand_in("ann", SOLVED, came="2026-10-24 10:00:00 UTC")
    course.grade()
    assert left in said_by(capsys, 0, "return", course.folder, NAME)
    subprocess.run(left.split("`")[1], shell=True, check=True, cwd=course.folder)
    course.grade()
    assert "of the team" not in said_by(capsys, 0, "return", course.folder, NAME)
    assert points(course).keys() == {"ann", "bo"}


def test_grades_of_other_exercises_are_called_stale(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    course.hand_in("ann", SOLVED, came="2026-10-24 10:00:00 UTC")
    course.grade()
    rules = course.folder / "course.toml"
    rules.write_text(f'{DUE}exercises = ["descend", "added"]\n')
    commands = [("grade", course.folder), ("course", course.folder, "--check"), ("return", course.folder, NAME)]
    for command in commands:
        (line,) = (line for line in said_by(capsys, 0, *command).splitlines() if "stale grades" in line)
        assert line.startswith("  stale grades, for course.toml states other exercises or points: ann. In them ")
        assert "numerical_slope counts, predict_chain counts, added does not count." in line
        assert f"`autograder release DIR {NAME}`" in line

    rules.write_text(f"{DUE}points = {{numerical_slope = 0, predict_chain = 0}}\n")
    assert main(["course", str(course.folder), "--apply"]) == 0
    assert main(["course", str(course.folder)]) == 0
    assert main(["release", str(course.folder), NAME]) == 0
    for command in commands:
        assert "stale grades" not in said_by(capsys, 0, *command)
    assert course.scores() == {"ann": 5}


def test_a_number_that_python_cannot_write_is_a_wrong_answer(course: Course) -> None:
    """It is no failure of the checker, with which a student could cry wolf."""
    for student, line in (("ann", 'predict_chain["x.grad"] = 10**5000'), ("bo", "predict_chain[10**5000] = 1")):
        answer = f"{SOLVED['predict_chain']}\n{line}"
        course.hand_in(student, {**SOLVED, "predict_chain": answer}, came="2026-10-24 10:00:00 UTC")
    for result in course.grade().values():
        assert (result["state"], result["reasons"]) == ("graded", [])
        assert result["score"] < TOTAL
