"""Comparisons of the course folder with the model: attempts, grades, returned files."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.lms import write_worksheet
from support.september.archives import FORMS
from support.september.classroom import Classroom
from support.september.lessons import ASSIGNMENTS, NORM
from support.september.model import MAXIMUM, Expected, Grades, Model
from support.september.paths import canvas_path
from support.september.people import Person
from support.september.schedule import is_blind, participant

_POSSIBLE = dict(zip(ASSIGNMENTS, (100.0, 4.0, 10.0, 4.0)))  # Canvas' points possible
_EXCUSED = 7  # the index of a student of Canvas


def check_account(room: Classroom) -> None:
    """Check that every file is an attempt of its owner, or has no place for the expected reason."""
    unplaced: dict[tuple[str, str], str] = {}
    for table in (room.folder / "unplaced").glob("*/reasons.csv"):
        for row in _rows(table):
            unplaced[table.parent.name, row["path in the archive"]] = row["reason"]
            if row["file"]:
                assert (table.parent / row["file"]).is_file()
    stored: dict[tuple[str, str], set[str]] = {}
    for path in (room.folder / "attempts").rglob("*"):
        if path.is_file():
            student, assignment, folder = path.relative_to(room.folder / "attempts").parts[:3]
            assert not folder.startswith("."), f"left behind: {path}"
            stored.setdefault((student, assignment), set()).add(_hash(path.read_bytes()))
    for each in room.archives.put_in:
        if each.owner:
            assert _hash(each.data) in stored[each.owner, each.assignment], each
        else:
            assert unplaced.pop((each.source, each.path)).startswith(each.reason), each
    assert unplaced == {}
    owners = {(each.owner, each.assignment) for each in room.archives.put_in if each.owner}
    assert stored.keys() == owners


def check_grades(room: Classroom, model: Model, turn: int = 2) -> Grades:
    """Compare the gradebook with the model of all attempts, or of the first turn. Returns the grades."""
    expected = model.grades([each for each in room.handed_in if turn == 2 or each.number == 0])
    for assignment, found in room.gradebook().items():
        wanted = {id: (each.score, pytest.approx(each.penalty)) for id, each in expected[assignment].items()}
        assert found == wanted, assignment
    return expected


def canvas_gradebook(people: list[Person], points: Mapping[str, tuple[str, float]]) -> bytes:
    """Return Canvas' gradebook as exported. `points` maps ids to the assignment and the points in it."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    titles = [f"{name} ({at})" for at, name in enumerate(ASSIGNMENTS, 501)]
    writer.writerow(["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles, "Final Score"])
    possible = [f"{_POSSIBLE[name]:.2f}" for name in ASSIGNMENTS]
    writer.writerow(["    Points Possible", "", "", "", "", *possible, "(read only)"])
    for each in people:
        if each.home == "Canvas":
            surname, _, given = each.name.partition(" ")
            cells = dict.fromkeys(ASSIGNMENTS, "EX" if each.index == _EXCUSED else "")
            if each.id in points and each.index != _EXCUSED:
                name, got = points[each.id]
                cells[name] = f"{got * _POSSIBLE[name] / MAXIMUM[name]:.2f}"
            login = f"login{each.index}"
            writer.writerow([f"{surname}, {given}", each.number, f"sis{each.index}", login, "A", *cells.values(), "-"])
    return file.getvalue().encode("utf-8-sig")


def check_returned(room: Classroom, expected: Grades) -> None:
    """Compare the returned files of each assignment with the model."""
    assert sorted(path.name for path in (room.folder / "returned").iterdir()) == sorted([*ASSIGNMENTS, "total.csv"])
    for assignment, grades in expected.items():
        place = room.folder / "returned" / assignment
        _check_worksheet(room, assignment, grades, place / "worksheet.csv")
        points = {} if assignment == NORM else {each: (assignment, grade.points) for each, grade in grades.items()}
        assert (place / "canvas_gradebook.csv").read_bytes() == canvas_gradebook(room.people, points)
        rows = {row["id"]: (row["points"], row["late penalty"]) for row in _rows(place / "grades.csv")}
        assert rows == {id: (f"{grade.points:g}", f"{grade.penalty:g}") for id, grade in grades.items()}
        _check_pages(place, assignment, grades)
    _check_total(room, expected)


def _check_worksheet(room: Classroom, assignment: str, grades: Mapping[str, Expected], found: Path) -> None:
    """Nothing differs from the downloaded worksheet but the two cells of those who have a grade."""
    graded = {}
    for person in room.people:
        number = participant(person, assignment)
        id = f"participant-{number}" if is_blind(person, assignment) else person.id
        if person.home == "Moodle" and id in grades:
            grade, most = grades[id], MAXIMUM[assignment]
            number_text = f"{grade.points * 100 / most:.2f}"
            noun = "point" if grade.penalty == 1 else "points"
            late = f"; {round(grade.penalty, 2):g} {noun} taken off for lateness" if grade.penalty else ""
            points = "1 point" if grade.points == 1 else f"{round(grade.points, 2):g} points"
            number_text = number_text.replace(".", ",") if FORMS[assignment]["russian"] else number_text
            graded[int(number)] = (number_text, f"{points} out of {most:g}{late}")
    wanted = write_worksheet(
        room.archives.folder / "wanted.csv", room.archives.worksheets[assignment], graded=graded, **FORMS[assignment]
    )
    assert found.read_bytes() == wanted.read_bytes()
    assert graded


def _check_pages(place: Path, assignment: str, grades: Mapping[str, Expected]) -> None:
    """There is one page of each person, where the LMS expects it, with that person's notebook in it."""
    wanted: dict[str, dict[str, str]] = {"moodle": {}, "canvas": {}, "feedback": {}}
    teams: dict[str, dict[str, str]] = defaultdict(dict)
    for id, grade in grades.items():
        person, page = grade.counted.person, f"{assignment}.html"
        if grade.counted.by_group:
            teams[f"{person.group}_9001_assignsubmission_file_/{page}"][f"{id}/{page}"] = grade.counted.mark
        elif person.home not in ("Moodle", "Canvas"):
            wanted["feedback"][f"{id}/{page}"] = grade.counted.mark
        elif person.home == "Canvas":
            wanted["canvas"][canvas_path(grade.latest)] = grade.counted.mark
        else:
            name = grade.latest.moodle_name
            number = participant(person, assignment)
            wanted["moodle"][f"{name}_{number}_assignsubmission_file_/{page}"] = grade.counted.mark
    found = {name: _marks(place / f"{name}_feedback.zip") for name in ("moodle", "canvas")}
    feedback = place / "feedback"
    found["feedback"] = {
        path.relative_to(feedback).as_posix(): _mark(path.read_text(encoding="utf-8")) for path in feedback.rglob("*.*")
    }
    for path, members in teams.items():  # one page, or a page for each if their lateness differs
        if path in found["moodle"]:
            (wanted["moodle"][path],) = set(members.values())
        else:
            wanted["feedback"] |= members
    assert found == wanted


def _check_total(room: Classroom, expected: Grades) -> None:
    """Each student's total leaves out the worst assignment. Who handed in nothing has nothing."""
    rows = {row["id"]: row for row in _rows(room.folder / "returned" / "total.csv")}
    ids = {each.id for each in room.people} | {id for grades in expected.values() for id in grades}
    assert rows.keys() == ids
    for id, row in rows.items():
        got = {name: expected[name][id].points if id in expected[name] else 0.0 for name in ASSIGNMENTS}
        worst = min(ASSIGNMENTS, key=lambda name: (round(got[name] / MAXIMUM[name], 9), name))
        total = sum(points for name, points in got.items() if name != worst)
        assert (row["total"], row["dropped"]) == (f"{total:g}", worst), id
        for name in ASSIGNMENTS:
            assert (row[name] != "") == (id in expected[name])


def _marks(archive: Path) -> dict[str, str]:
    with zipfile.ZipFile(archive) as opened:
        assert len(set(opened.namelist())) == len(opened.namelist())
        texts = {name: opened.read(name).decode() for name in opened.namelist()}
    return {
        name: _mark(json.dumps(json.loads(text)) if name.endswith(".ipynb") else text) for name, text in texts.items()
    }


def _mark(text: str) -> str:
    """Return the one mark of a page, or all if there is not exactly one."""
    return " ".join(sorted(set(re.findall(r"[\w-]+-mark", text))))


def _rows(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
