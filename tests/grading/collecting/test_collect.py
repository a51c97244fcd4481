"""`autograder collect`: from what an LMS gives to submissions; nobody disappears."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from support.course import BIN, Course
from support.first_gradient import NAME
from support.lms import Participant, collect, moodle_folder, write_archive, write_worksheet
from support.submissions import read

ANNA = Participant(4711, "Анна Петрова", "s1", "petrova@uni.example", datetime(2026, 9, 17, 23, 50))
BO = Participant(4712, "Jean-Luc O’Neil", "s2", "oneil@uni.example", datetime(2026, 9, 18, 0, 5))
NAMESAKE = Participant(4713, "Анна Петрова", "s3", "petrova2@uni.example", datetime(2026, 9, 17, 9, 0))
IDLE = Participant(4714, "Пётр Ёлкин", "s4", "elkin@uni.example")


Work = Callable[..., str]  # see the fixture `work`


def handed_in(course: Course) -> dict[str, list[str]]:
    """Files by student."""
    found: dict[str, list[str]] = {}
    for path in sorted((course.folder / "submitted").glob(f"*/{NAME}/*")):
        found.setdefault(path.parents[1].name, []).append(path.name)
    return found


def time(course: Course, student: str) -> str:
    return (course.folder / "submitted" / student / NAME / "timestamp.txt").read_text()


def reasons(course: Course) -> dict[str, str]:
    """Reasons by path, of files without a place."""
    found = {}
    for path in (course.folder / "unplaced").rglob("reasons.csv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            found |= {row["path in the archive"]: row["reason"] for row in csv.DictReader(file)}
    return found


def roster(course: Course, *lines: str) -> None:
    (course.folder / "students.csv").write_text("\n".join(["id,name,email,lms,group", *lines]), encoding="utf-8")


@pytest.mark.parametrize(("old", "russian"), [(False, False), (True, True)])
def test_moodle_with_its_worksheet(
    course: Course, work: Work, tmp_path: Path, old: bool, russian: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    (course.folder / "course.toml").write_text('time_zone = "Europe/Moscow"')
    files = {f"{moodle_folder(who, old=old)}/{NAME}.ipynb": work(who.id_number) for who in (ANNA, BO, NAMESAKE)}
    archive = write_archive(tmp_path / "all.zip", files)
    sheet = write_worksheet(tmp_path / "w.csv", [ANNA, BO, NAMESAKE, IDLE], russian=russian)
    assert collect(course, archive, "--worksheet", sheet) == 0
    said = capsys.readouterr().out
    assert "4 students added" in said
    assert "all.zip: Moodle" in said
    assert f"oneil (Jean-Luc O’Neil): {NAME} taken, 2026-09-18 00:05 (worksheet)" in said
    assert handed_in(course) == {name: [f"{NAME}.ipynb", "timestamp.txt"] for name in ("petrova", "oneil", "petrova2")}
    assert time(course, "oneil") == "2026-09-17 21:05:00.000000 UTC"

    before = {path: path.stat().st_mtime_ns for path in course.folder.glob("submitted/**/*")}
    assert collect(course, archive, "--worksheet", sheet) == 0
    assert "3 already collected" in capsys.readouterr().out
    assert before == {path: path.stat().st_mtime_ns for path in course.folder.glob("submitted/**/*")}


def test_flat_names_online_text_and_people_that_nobody_knows(course: Course, work: Work, tmp_path: Path) -> None:
    roster(course, "ann,Петрова Анна,,,", "bo,Jean Luc O'Neil,,,", "twin1,Ли Ян,,,", "twin2,Ян Ли,,4800,")
    files = {
        f"Анна Петрова_1_assignsubmission_file_{NAME}.ipynb": work("a"),
        "Анна Петрова_1_assignsubmission_onlinetext_onlinetext.html": "<p>see the file</p>",
        "Jean-Luc O’Neil_2_assignsubmission_onlinetext_onlinetext.html": "<p>colab.example/x</p>",
        f"Ян Ли_4700_assignsubmission_file_{NAME}.ipynb": work("b"),
        f"Ян Ли_4800_assignsubmission_file_{NAME}.ipynb": work("c"),
        f"Чужой Человек_4_assignsubmission_file_{NAME}.ipynb": work("d"),
    }
    assert collect(course, write_archive(tmp_path / "flat.zip", files)) == 1
    assert handed_in(course) == {
        "ann": [f"{NAME}.ipynb", "onlinetext.html", "timestamp.txt"],
        "twin2": [f"{NAME}.ipynb", "timestamp.txt"],
    }
    assert reasons(course) == {
        "bo: onlinetext.html": "no notebook inside: ask for the file that ends in .ipynb",
        f"Ян Ли_4700_assignsubmission_file_{NAME}.ipynb": (
            "Ян Ли may be twin1 (Ли Ян) or twin2 (Ян Ли): write 4700 into the column lms of the right line of "
            "students.csv (the number belongs to one assignment: better write e-mail addresses into the column email, "
            "and collect with --worksheet)"
        ),
        f"Чужой Человек_4_assignsubmission_file_{NAME}.ipynb": (
            "nobody in students.csv is called Чужой Человек: add a line or collect with --add; or write Чужой Человек "
            "into the column lms of the right line"
        ),
    }
    roster(course, "ann,Петрова Анна,,,", "bo,Jean Luc O'Neil,,,", "twin1,Ли Ян,,4700,", "twin2,Ян Ли,,4800,")
    assert collect(course, tmp_path / "flat.zip") == 1
    assert "twin1" in handed_in(course)
    assert len(reasons(course)) == 2, "what has a place now is no longer without one"


def test_names_of_files_do_not_matter(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = "ann,Анна Петрова,,,", "bo,Пётр Иванов,,,", "carl,Carl Weiß,c.weiss@uni.example,,", "dina,Дина Ким,,,"
    roster(course, *people, "idle,Ли Ян,,,", "nameless,,,,")
    folder = tmp_path / "files"
    (folder / "Петрова Анна" / "sub").mkdir(parents=True)
    (folder / "Петрова Анна" / "sub" / f"{NAME} (1).ipynb").write_text(work("a"))
    (folder / "Петрова Анна" / "data.csv").write_text("1")
    (folder / "Иванов ДЗ3.ipynb").write_text(work("b"))
    write_archive(folder / "c.weiss@uni.example.zip", {"deep/Untitled.ipynb": work("c")})
    (folder / "Homework - Дина Ким.json").write_text(work("d"))
    (folder / "Петрова Анна" / "other.ipynb").write_text('{"nbformat": 4, "cells": [], "metadata": {}}')
    assert collect(course, folder) == 1
    assert handed_in(course) == {
        "ann": ["data.csv", "other.ipynb", "sub"],
        "bo": ["Иванов ДЗ3.ipynb"],
        "carl": ["deep"],
        "dina": ["Homework - Дина Ким.json.ipynb"],
    }
    assert reasons(course) == {"ann: other.ipynb": "it has none of this course's cells"}
    doubt = "or it has no place yet (1 file in unplaced/)"
    assert f"no submission of {NAME}, {doubt}: idle (Ли Ян), nameless\n" in capsys.readouterr().out
    states = {student: each["state"] for student, each in course.grade().items()}
    assert set(states.values()) == {"graded"}, "a file beside the notebook is no reason for a review"


def test_canvas_tells_only_whether_it_is_late(course: Course, work: Work, tmp_path: Path) -> None:
    roster(course, "ann,Анна Петрова,,,", "bo,Bo Li,,7,")
    course.set_due(datetime(2026, 9, 17, 21))
    files = {f"петроваанна_4711_1_{NAME}-1.ipynb": work("a"), f"somebody_LATE_7_2_{NAME}.ipynb": work("b")}
    assert collect(course, write_archive(tmp_path / "canvas submissions.zip", files)) == 0
    assert time(course, "ann") == "2026-09-17 21:00:00.000000 UTC"
    assert time(course, "bo") == "2026-09-20 12:00:00.000000 UTC", "the time of the download"


def test_the_latest_of_several_attempts_is_submitted_and_the_others_are_kept(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster(course, "anna_petrova,Анна Петрова,,,")

    def blackboard(time: str, mark: str) -> dict[str, str]:
        return {
            f"HW_1_anna_petrova_attempt_{time}_{NAME}.ipynb": work(mark),
            f"HW_1_anna_petrova_attempt_{time}.txt": "x",
        }

    newer = write_archive(
        tmp_path / "newer.zip", {**blackboard("2026-09-17-20-00-00", "2"), **blackboard("2026-09-17-19-00-00", "1")}
    )
    older = write_archive(tmp_path / "older.zip", blackboard("2026-09-16-10-00-00", "0"))
    assert collect(course, newer) == 0
    assert time(course, "anna_petrova").startswith("2026-09-17 20:00:00")
    assert collect(course, older) == 0
    assert "kept as an earlier attempt, 2026-09-16 10:00 (file name)" in capsys.readouterr().out
    assert time(course, "anna_petrova").startswith("2026-09-17 20:00:00")
    submitted = course.submitted("anna_petrova").parent / f"{NAME}.ipynb"
    assert read(submitted).cells[0].source.endswith("\n2")
    kept = sorted((course.folder / "attempts" / "anna_petrova" / NAME).glob("*/.autograder-attempt.json"))
    assert sorted(json.loads(path.read_text())["time"][:10] for path in kept) == [
        "2026-09-16",
        "2026-09-17",
        "2026-09-17",
    ]


def test_what_came_by_another_way_is_kept_as_an_attempt(course: Course, work: Work, tmp_path: Path) -> None:
    roster(course, "ann,Анна Петрова,,,")
    course.hand_in("ann", work("by mail"), came="2026-09-01 00:00:00 UTC")
    files = {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work("new")}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 0
    texts = [path.read_text() for path in (course.folder / "attempts" / "ann" / NAME).glob("*/*.ipynb")]
    assert sorted("by mail" in text for text in texts) == [False, True]


def test_a_team_hands_in_for_all_its_members(course: Course, work: Work, tmp_path: Path) -> None:
    roster(course, "ann,Анна Петрова,,,Team 7", "bo,Bo Li,,,Team 7", "carl,Carl Weiß,,,Team 8")
    assert (
        collect(course, write_archive(tmp_path / "a.zip", {f"Team 7_7_assignsubmission_file/{NAME}.ipynb": work()}))
        == 0
    )
    assert sorted(handed_in(course)) == ["ann", "bo"]


def test_blind_marking_makes_students_of_numbers(course: Course, work: Work, tmp_path: Path) -> None:
    roster(course, "ann,Анна Петрова,,,")
    files = {f"Участник_{number}_assignsubmission_file/{NAME}.ipynb": work(str(number)) for number in (31, 32)}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 0
    assert sorted(handed_in(course)) == ["participant-31", "participant-32"]


def test_a_worksheet_of_another_assignment_is_refused(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})
    sheet = write_worksheet(tmp_path / "w.csv", [ANNA._replace(number=9)])
    assert collect(course, archive, "--worksheet", sheet) == 1
    assert "belongs to another assignment" in capsys.readouterr().out
    assert handed_in(course) == {}


@pytest.mark.parametrize(
    ("students", "message"),
    [
        ("name,email\nAnn,a", "id,name,email,lms,group,extensions,dropped; for example: petrova,Анна Петрова,"),
        ("id,name\nann,A\nann,B", "line 3: the id ann is there twice"),
        ("id,name\n../x,A", "line 2: the id '../x' cannot be the name of a folder"),
        ("id,name\n,A", "line 2: the id '' cannot be the name of a folder"),
    ],
)
def test_a_wrong_list_of_students_is_told(
    course: Course, tmp_path: Path, students: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (course.folder / "students.csv").write_text(students)
    assert collect(course, write_archive(tmp_path / "a.zip", {"x": "1"})) == 1
    assert message in capsys.readouterr().err


def test_who_was_dropped_is_not_missed(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["id,name,dropped", "anna,Анна Петрова,", "bo,Bo Neil,", "ida,Ida Kim,left in October"]
    (course.folder / "students.csv").write_text("\n".join(lines), encoding="utf-8")
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})
    assert collect(course, archive) == 0
    assert f"no submission of {NAME}: bo (Bo Neil)\n" in capsys.readouterr().out


def test_a_draft_beside_the_notebook_is_not_called_renamed(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {f"{moodle_folder(ANNA)}/{name}.ipynb": work(name) for name in (NAME, "draft")}
    files[f"{moodle_folder(BO)}/final.ipynb"] = work("final")
    collect(course, write_archive(tmp_path / "a.zip", files))
    said = capsys.readouterr().out
    assert "; also: draft.ipynb\n" in said
    assert "; renamed: final.ipynb\n" in said


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_list_of_students_keeps_its_line_ends(course: Course, work: Work, tmp_path: Path, end: str) -> None:
    """A new list has plain ones: `sed` and `echo` would write behind a carriage return."""
    (course.folder / "students.csv").unlink(missing_ok=True)
    collect(course, write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work("a")}))
    path = course.folder / "students.csv"
    assert b"\r" not in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(b"\n", end.encode()))
    added = write_archive(tmp_path / "b.zip", {f"{moodle_folder(BO)}/{NAME}.ipynb": work("b")})
    assert collect(course, added, "--add") == 0
    lines = path.read_bytes().decode("utf-8-sig").split(end)
    assert (len(lines), lines[-1]) == (4, "")
    assert not any("\r" in line or "\n" in line for line in lines)


def test_added_people_keep_their_names_in_a_list_of_ids(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (course.folder / "students.csv").write_text("id,note\nann,x\n", encoding="utf-8")
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(BO)}/{NAME}.ipynb": work()})
    sheet = write_worksheet(tmp_path / "w.csv", [BO])
    assert collect(course, archive, "--worksheet", sheet, "--add") == 0, capsys.readouterr().out
    students = (course.folder / "students.csv").read_text(encoding="utf-8")
    assert students == f"id,note,name,email,lms\nann,x\noneil,,{BO.name},{BO.email},{BO.id_number}\n"


NIGHTLY = pytest.mark.nightly(twin="tests/grading/collecting/test_collect.py::test_a_closed_pipe_is_no_failing_disk")


@pytest.mark.parametrize("command", ["collect", pytest.param("course", marks=NIGHTLY)])
def test_a_closed_pipe_is_no_failing_disk(course: Course, work: Work, tmp_path: Path, command: str) -> None:
    """As in `autograder collect ZIP | head`, when head has ended."""
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as nobody:
        arguments = [archive, "--course", course.folder] if command == "collect" else [tmp_path / "new"]
        run = [BIN / "autograder", command, *arguments]
        done = subprocess.run(
            run, stdout=nobody, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_one_bad_archive_does_not_stop_the_others(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster(course, "ann,Анна Петрова,,,")
    bad = write_archive(tmp_path / "bad.zip", {"../../evil": "1"})
    (tmp_path / "cut.zip").write_bytes(bad.read_bytes()[:40])
    good = write_archive(tmp_path / "good.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})
    assert collect(course, bad, tmp_path / "cut.zip", tmp_path / "none.zip", good) == 1
    said = capsys.readouterr().out
    assert "bad.zip: not collected: bad.zip has a file that would be written outside its folder" in said
    assert "cut.zip is a broken zip archive" in said
    assert "none.zip: not collected" in said
    assert sorted(handed_in(course)) == ["ann"]
    assert not (tmp_path / "evil").exists()
