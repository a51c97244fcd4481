"""Archives and worksheets that Moodle 3.9, 4.1 and 5.1 wrote: everybody gets what Moodle must get."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from autograder.cli import main
from autograder.grading.files import nbgrader_files
from support.course import Course
from support.first_gradient import NAME
from support.lms import collect

FOLDER = Path(__file__).parent / "recorded_moodle"
CASES = sorted(path.stem for path in FOLDER.glob("*.json"))
GRADED = ("51-russian7",)  # the others, each night
MARK = re.compile(rb"marker-(\w+)-end")
RULES = f"""\
time_zone = "Europe/Berlin"
[defaults]
grace = "10min"
[assignments.{NAME}]
"""
DUE = """\
due = 2026-11-20T20:00:00
late = [{until = "1d", credit = 80}, {until = "7d", credit = 50}]
"""


class Recorded:
    """A recorded case. `expected` maps e-mail addresses to a grade in Moodle's points, or None, and to markers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.archive, self.worksheet = FOLDER / f"{name}.zip", FOLDER / f"{name}.csv"
        said = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        self.expected: dict[str, dict[str, Any]] = said["expected"]
        self.settings: dict[str, Any] = said["settings"]
        self.blind = bool(self.settings.get("blindmarking"))

    def course(self, folder: Path) -> Course:
        course = Course.make(folder, languages=["en"])
        rules = RULES + (DUE if "duedate" in self.settings else "")
        (course.folder / "course.toml").write_text(rules, encoding="utf-8")
        return course


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


@pytest.fixture(params=CASES)
def recorded(request: pytest.FixtureRequest) -> Recorded:
    return Recorded(request.param)


def markers(path: Path) -> set[str]:
    """Return the markers in all files below a folder, also in zip archives."""
    found: set[str] = set()
    for file in path.rglob("*"):
        if file.is_file():
            found |= {each.decode() for each in MARK.findall(file.read_bytes())}
    return found


def collected(course: Course) -> dict[str, set[str]]:
    """Return the markers of each student's submission, by e-mail address or, without one, by id."""
    students = course.folder / "students.csv"
    lines = read(students) if students.exists() else []
    emails = {line["id"]: line["email"] for line in lines}
    folders = course.folder.glob(f"submitted/*/{NAME}")
    return {emails.get(each.parent.name) or each.parent.name: markers(each) for each in folders}


def advised(said: str) -> Iterator[tuple[str, str]]:
    """Yield the students for whom the terminal advises an extension, each with the text for the column."""
    for line in said.splitlines():
        if found := re.search(r"^ *(\S+).*extended in Moodle until [^:]+:\d\d: write `([^`]+)` into", line):
            yield found[1], found[2]


def extend(course: Course, extensions: Mapping[str, str]) -> None:
    path = course.folder / "students.csv"
    lines = read(path)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows({**line, "extensions": extensions.get(line["id"], "")} for line in lines)


def test_each_person_has_the_work_of_who_handed_it_in(recorded: Recorded, tmp_path: Path) -> None:
    course = recorded.course(tmp_path / "course")
    collect(course, recorded.archive, "--worksheet", recorded.worksheet)
    expected = {email: set(each["markers"]) for email, each in recorded.expected.items() if each["markers"]}
    found = collected(course)
    if recorded.blind:
        assert all(re.fullmatch(r"participant-\d+", student) for student in found)
        assert sorted(map(sorted, found.values())) == sorted(map(sorted, expected.values()))
    else:
        assert found.keys() == expected.keys()
        assert all(expected[email] <= found[email] for email in expected)


def graded(name: str) -> Any:
    return pytest.param(name, marks=() if name in GRADED else NIGHTLY)


NIGHTLY = pytest.mark.nightly(twin="tests/grading/lms/test_recorded_moodle.py::test_the_whole_round_trip")


@pytest.mark.parametrize("name", list(map(graded, CASES)))
@pytest.mark.long(60)
def test_the_whole_round_trip(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nbgrader_files, "_CLOCKS", timedelta(days=7))  # one work of `51-late` came after the recording
    recorded = Recorded(name)
    course = recorded.course(tmp_path / "course")
    collect(course, recorded.archive, "--worksheet", recorded.worksheet)
    extensions = dict(advised(capsys.readouterr().out))
    if extensions:
        extend(course, extensions)
    assert main(["grade", str(course.folder), NAME]) == 0
    main(["return", str(course.folder), NAME])
    place = course.folder / "returned" / NAME

    grades = grades_in_moodle(read(place / "worksheet.csv"))
    pages = pages_in_moodle((place / "moodle_feedback.zip").read_bytes())
    if recorded.blind:
        whose = {number: markers(course.folder / f"submitted/participant-{number}") for number in grades}
        expected = {(*each["markers"], each["grade"]) for each in recorded.expected.values()}
        assert {(*whose[number], grade) for number, grade in grades.items()} == expected
        assert {number: found for number, found in whose.items() if found} == pages
        return
    emails = {number_of(line): line[column(line, "Email address", "Адрес")] for line in read(recorded.worksheet)}
    assert {emails[number]: grade for number, grade in grades.items()} == {
        email: each["grade"] for email, each in recorded.expected.items()
    }
    sent = {number: found for number, found in markers_in_archive(recorded.archive).items() if number in pages}
    assert {number: pages[number] & found for number, found in sent.items()} == pages, "the pages of whom Moodle names"
    assert set().union(*pages.values()) == {mark for each in recorded.expected.values() for mark in each["markers"]}


def test_extension_and_own_due_date_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = Recorded("51-late")
    collect(recorded.course(tmp_path / "course"), recorded.archive, "--worksheet", recorded.worksheet)
    assert dict(advised(capsys.readouterr().out)) == {
        "s04": f"{NAME} 2026-11-23 20:00",
        "s06": f"{NAME} 2026-11-21 20:00",
    }


def test_namesakes_without_a_worksheet_are_told_the_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = Recorded("51-single")
    assert collect(recorded.course(tmp_path / "course"), recorded.archive) == 1
    said = capsys.readouterr().out
    assert re.search(r"two are called Иван Иванов here, with the numbers \d+ and \d+: collect with --worksheet", said)
    assert "is called Иван Иванов" not in said


# ------------------------------------------------------------------------------------------- what Moodle reads of ours


def column(line: Mapping[str, str], *names: str) -> str:
    return next(head for head in line if head.startswith(names))


def number_of(line: Mapping[str, str]) -> str:
    """Return the number that `assignfeedback_offline_grade_importer::next` takes from the first column."""
    found = re.fullmatch(r"(?:Participant |Участник)(\d+)", line[column(line, "Identifier", "Идентификатор")])
    assert found
    return found[1]


def grades_in_moodle(lines: list[dict[str, str]]) -> dict[str, float | None]:
    """Return the grades that `process_import_grades` (`feedback/offline/locallib.php`) takes, by participant."""
    grades = {number_of(line): line[column(line, "Grade", "Оценка")] for line in lines}
    return {number: float(grade.replace(",", ".")) if grade else None for number, grade in grades.items()}


def pages_in_moodle(data: bytes) -> dict[str, set[str]]:
    """Return the markers on the pages under each number that `is_valid_filename_for_import` takes from a path.

    The number is that of a participant or, from 4.2, of a team (`feedback/file/importziplib.php`).
    """
    found: dict[str, set[str]] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for path in archive.namelist():
            _, number, submission, plugin = path.split("/")[0].split("_")[:4]
            assert (submission, plugin) == ("assignsubmission", "file")
            found.setdefault(number, set()).update(each.decode() for each in MARK.findall(archive.read(path)))
    return found


def markers_in_archive(path: Path) -> dict[str, set[str]]:
    """Return the markers of the files under each number in the archive that Moodle wrote."""
    found: dict[str, set[str]] = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            number = re.match(r".*?_(\d+)_assignsubmission_file", name)
            assert number
            data = archive.read(name)
            if name.endswith(".zip"):
                with zipfile.ZipFile(io.BytesIO(data)) as inner:
                    data = b"".join(map(inner.read, inner.namelist()))
            found.setdefault(number[1], set()).update(each.decode() for each in MARK.findall(data))
    return found
