"""Who handed in a file, where names alone do not tell."""

from __future__ import annotations

import errno
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from support.course import Course
from support.first_gradient import NAME
from support.lms import Participant, collect, moodle_folder, write_archive, write_worksheet

Work = Callable[..., str]  # see the fixture `work`
ANNA = Participant(4711, "Анна Петрова", email="petrova@uni.example")
HEAD = "id,name,email,lms,group\n"


def roster(course: Course, lines: str) -> None:
    (course.folder / "students.csv").write_text(HEAD + lines, encoding="utf-8")


def handed_in(course: Course) -> list[str]:
    return sorted(path.name for path in (course.folder / "submitted").glob("*"))


def test_a_namesake_with_another_address_is_somebody_else(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster(course, "other,Петрова Анна,anna@uni.example,,\n")
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})
    sheet = write_worksheet(tmp_path / "w.csv", [ANNA])
    assert collect(course, archive, "--worksheet", sheet) == 1
    said = capsys.readouterr().out
    assert "other in students.csv has this name, but another e-mail address than petrova@" in said
    assert "collect with --add; or correct the column email of the right line" in said
    assert handed_in(course) == []
    assert collect(course, archive, "--worksheet", sheet, "--add") == 0
    assert handed_in(course) == ["petrova"]


def test_namesakes_without_a_place_are_not_said_to_have_sent_nothing(
    course: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster(course, "ann1,Анна Петрова,,,\nann2,Анна Петрова,,,\nbo,Bo Li,,,\n")
    came = datetime(2026, 9, 17)
    people = [ANNA._replace(came=came), ANNA._replace(number=4712, email="p2@uni.example", came=came)]
    people += [Participant(number, "Bo Li", came=came) for number in (1, 2)]
    files = {f"{moodle_folder(who)}/{NAME}.ipynb": work(str(who.number)) for who in people[:3]}
    sheet = write_worksheet(tmp_path / "w.csv", people)
    assert collect(course, write_archive(tmp_path / "a.zip", files), "--worksheet", sheet) == 1
    said = capsys.readouterr().out
    assert "write petrova@uni.example into the column email of the right line" in said
    missing = [line for line in said.splitlines() if "the worksheet says" in line]
    assert [line.partition(":")[0] for line in missing] == ["Bo Li (participant 2)"]
    assert f"no submission of {NAME}, or it has no place yet (2 files in unplaced/): ann1 (Анна Петрова), ann2" in said


def test_a_number_of_another_assignment_takes_nobodys_work(course: Course, work: Work, tmp_path: Path) -> None:
    """Moodle's numbers belong to one assignment: an old one in the column lms contradicts the name."""
    roster(course, "kuz2,Кузнецова Анна,,4711,\npetrova,Анна Петрова,,,\n")
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})
    for arguments in ([], ["--add"]):
        assert collect(course, archive, *arguments) == 1
        assert handed_in(course) == []
    said = (course.folder / "unplaced" / "a.zip" / "reasons.csv").read_text(encoding="utf-8")
    assert "4711 is kuz2 (Кузнецова Анна) in students.csv, but the LMS says Анна Петрова: correct the column" in said


def test_a_name_in_another_script_is_no_doubt_of_an_id_number(course: Course, work: Work, tmp_path: Path) -> None:
    """An ID number stays; Moodle's number of another assignment does not."""
    roster(course, "ann,Anna Petrova,,s1,\nbo,Bo Li,,4711,\n")
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})
    assert collect(course, archive) == 1
    assert handed_in(course) == [], "4711 is no longer that of Bo"
    sheet = write_worksheet(tmp_path / "w.csv", [ANNA._replace(id_number="s1")])
    assert collect(course, archive, "--worksheet", sheet) == 0
    assert handed_in(course) == ["ann"]


def test_a_number_and_a_name_in_a_path_that_contradict_each_other_take_nobodys_work(
    course: Course, work: Work, tmp_path: Path
) -> None:
    """The archive is of no LMS's form."""
    roster(course, "kuz2,Кузнецова Анна,,4711,\npetrova,Анна Петрова,,,\n")
    files = {f"{folder}/{NAME}.ipynb": work(folder) for folder in ("4711 Петрова Анна", "Кузнецова Анна 4711")}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 1
    assert handed_in(course) == ["kuz2"]
    said = (course.folder / "unplaced" / "a.zip" / "reasons.csv").read_text(encoding="utf-8")
    assert "an id or number of kuz2 (Кузнецова Анна), but the name of petrova (Анна Петрова): correct students" in said


@pytest.mark.parametrize("known", ["petrova@mail.uni.example,", ",", "anna@uni.example,petrova@uni.example"])
def test_a_missing_address_or_another_domain_is_no_reason_for_doubt(
    course: Course, work: Work, tmp_path: Path, known: str
) -> None:
    roster(course, f"ann,Петрова Анна,{known},\n")
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})
    assert collect(course, archive, "--worksheet", write_worksheet(tmp_path / "w.csv", [ANNA])) == 0
    assert handed_in(course) == ["ann"]


def test_a_worksheet_may_hide_the_names_as_well(course: Course, work: Work, tmp_path: Path) -> None:
    roster(course, "ann,Анна Петрова,,,\n")
    hidden = [Participant(31, ""), Participant(32, "")]
    files = {
        f"Участник_31_assignsubmission_file/{NAME}.ipynb": work("31"),
        f"Команда 1-Участник_32_assignsubmission_file/{NAME}.ipynb": work("32"),
    }
    sheet = write_worksheet(tmp_path / "w.csv", hidden)
    assert collect(course, write_archive(tmp_path / "a.zip", files), "--worksheet", sheet) == 0
    assert handed_in(course) == ["participant-31", "participant-32"]


def test_moodle_names_the_team_before_each_member(course: Course, work: Work, tmp_path: Path) -> None:
    roster(course, "ann,Анна Петрова,,,Team-7\nbo,Bo Li,,,Team-7\ncarl,Jean-Luc Weiß,,,\n")
    names = ("Team-7-Анна Петрова", "Team-7-Li Bo", "Jean-Luc Weiß")
    files = {f"{name}_{at}_assignsubmission_file/{NAME}.ipynb": work(name) for at, name in enumerate(names)}
    assert collect(course, write_archive(tmp_path / "a.zip", files)) == 0
    assert handed_in(course) == ["ann", "bo", "carl"]


def test_a_full_disk_leaves_the_list_of_students_whole(
    course: Course, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roster(course, "bo,Bo Li,,,\n")
    before = (course.folder / "students.csv").read_bytes()
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})

    def write_half(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", write_half)
        assert collect(course, archive, "--add") == 1
    assert (course.folder / "students.csv").read_bytes() == before
    assert collect(course, archive, "--add") == 0
    assert handed_in(course) == ["Анна Петрова"]


def test_what_a_killed_collection_unpacked_is_removed(course: Course, work: Work, tmp_path: Path) -> None:
    left = course.folder / ".autograder" / "collect-killed"
    (left / "0").mkdir(parents=True)
    archive = write_archive(tmp_path / "a.zip", {f"{moodle_folder(ANNA)}/{NAME}.ipynb": work()})
    assert collect(course, archive) == 0
    assert not left.exists()
