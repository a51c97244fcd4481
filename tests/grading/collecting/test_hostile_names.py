"""Archives in which one student has named their own files as somebody else's: it changes nothing."""

from __future__ import annotations

import io
import os
import random
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autograder.grading.collecting.archive import Unpacked, unpack
from autograder.grading.collecting.deliveries import Sorted, sort_files
from autograder.grading.collecting.senders import Senders
from autograder.grading.tables.roster import Roster, Student

PEOPLE = ["ann", "bob", "carl", "dina"]
NAMES = {"ann": "Ann Lee", "bob": "Bob Brown", "carl": "Carl Weiß", "dina": "Дина Ким"}
NUMBERS = {"ann": "101", "bob": "102", "carl": "103", "dina": "104"}
ROSTER = Roster([Student(who, NAMES[who], f"{who}@uni.example", (NUMBERS[who],)) for who in PEOPLE])
ATTACKER = "ann"


# Paths in the archives of each LMS, and in plain ones. `flat` is a path with hyphens instead of slashes.
FORMS = {
    "moodle": "{name}_{number}_assignsubmission_file/{path}",
    "old moodle": "{name}_{number}_assignsubmission_file_/{path}",
    "moodle in a folder": "unpacked/{name}_{number}_assignsubmission_file/{path}",
    "canvas": "{letters}_LATE_{number}_55_{flat}",
    "blackboard": "Home work_2_{who}_attempt_2026-11-23-18-05-59_{flat}",
    "exchange": "{who}+03_lesson+2026-11-23 18:05:59.123456 UTC+aGVsbG8/{path}",
    "by folder": "{name}/{path}",
    "two folders deep": "Student Work/Lab 0/{name}/{path}",
    "by id": "{who}/{path}",
}


def path_of(form: str, who: str, path: str) -> str:
    letters, flat = NAMES[who].replace(" ", "").casefold(), path.replace("/", "-")
    return FORMS[form].format(name=NAMES[who], number=NUMBERS[who], who=who, letters=letters, path=path, flat=flat)


def hostile_name(rng: random.Random) -> str:
    """Make a path that a student may give: pieces of every LMS's form, of other people and of odd file systems."""
    pieces = [
        lambda: path_of(rng.choice([*FORMS]), rng.choice(PEOPLE), rng.choice(["x.ipynb", "a/x", "timestamp.txt"])),
        lambda: rng.choice(["Bob Brown", "bob", "bob@uni.example", "102", "Дина Ким", "dina", "LATE", "Team 7"]),
        lambda: rng.choice(["timestamp.txt ", "TIMESTAMP.TXT", "submission_secret.txt", " timestamp.txt\t", ".hidden"]),
        lambda: rng.choice(["a", "a/b", "a/b/c.ipynb", "b/" * 30 + "x", "x" * 300 + ".ipynb", "=1+1", "\x1b[2J.txt"]),
        lambda: rng.choice(["bob_attempt_2026-01-01-00-00-00_x.ipynb", "anon_102_5_x.ipynb"]),
    ]  # fmt: skip
    return "/".join(rng.choice(pieces)() for _ in range(rng.choice([1, 1, 1, 2, 3])))


def sorted_files(folder: Path, files: dict[str, bytes]) -> Sorted:
    folder.mkdir()
    source = folder / "all.zip"
    with zipfile.ZipFile(source, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 23, 18, 5, 58)), data)
    (into := folder / "into").mkdir()
    return sorted_by_sender(unpack(source, into), ROSTER)


def sorted_by_sender(unpacked: Unpacked, roster: Roster) -> Sorted:
    return sort_files(unpacked, Senders(unpacked, roster), {})


def told(found: Sorted, who: str) -> list[tuple[object, ...]]:
    """What is known of a student's deliveries, apart from their files."""
    return sorted(
        (each.origin.numbers, each.origin.time, each.origin.late, each.time)
        for each in found.deliveries
        if [student.id for student in each.senders] == [who]
    )


def contents(found: Sorted, who: str) -> dict[str, bytes]:
    mine = [each for each in found.deliveries if [student.id for student in each.senders] == [who]]
    return {path: file.place.read_bytes() for each in mine for path, file in each.files.items()}


@pytest.mark.parametrize("zipped", [False, True], ids=["files", "a zip"])
@pytest.mark.parametrize("form", FORMS)
def test_what_a_student_names_changes_nothing_for_anybody(form: str, zipped: bool, tmp_path: Path) -> None:
    rng = random.Random(f"{form} {zipped}")
    honest = {path_of(form, who, "x.ipynb"): who.encode() for who in PEOPLE}
    before = sorted_files(tmp_path / "honest", honest)
    assert [told(before, who) == [] for who in PEOPLE] == [False] * len(PEOPLE)
    own_secret = {"submission_secret.txt"} if form == "exchange" else set()  # by which nbgrader finds the feedback
    for number in range(40):
        names = [hostile_name(rng) for _ in range(rng.choice([1, 3, 20]))]
        evil = {path_of(form, ATTACKER, name): b"evil" for name in names}
        if zipped:
            data = io.BytesIO()
            with zipfile.ZipFile(data, "w") as archive:
                for name in dict.fromkeys(names):
                    archive.writestr(name, b"evil")
            evil = {path_of(form, ATTACKER, "work.zip"): data.getvalue()}
        found = sorted_files(tmp_path / str(number), {**honest, **evil})
        for who in PEOPLE:
            assert set(told(found, who)) == set(told(before, who)), (who, names)
        for who in PEOPLE[1:]:
            assert contents(found, who) == contents(before, who), (who, names)
        for each in found.deliveries:
            told_by_nbgrader = {path.casefold() for path in each.files.keys() - own_secret}
            assert not told_by_nbgrader & {"timestamp.txt", "submission_secret.txt"}, names
            assert all(path.isprintable() for path in each.files)
            write_all(each.files_for(""), tmp_path / f"{number} on disk" / each.senders[0].id)


def write_all(files: dict[str, Path], folder: Path) -> None:
    """Write files as an attempt is stored. Raises OSError if a path is a file and a folder."""
    for path, place in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        assert not (folder / path).exists()
        (folder / path).write_bytes(place.read_bytes())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to somebody else")
def test_in_the_exchange_the_owner_and_the_servers_clock_count(tmp_path: Path) -> None:
    """The account `nobody` and that of the tests are there on every Linux."""
    roster = Roster([Student("root", "Ann Lee"), Student("nobody", "Bob Brown")])
    long_ago, now = "2026-01-01 00:00:00.000000 UTC", datetime.now(UTC)
    for owner, user in ((65534, "root"), (65534, "nobody"), (1, "nobody")):
        folder = tmp_path / str(owner) / f"{user}+03_lesson+{long_ago}+aGVsbG8"
        folder.mkdir(parents=True)
        (folder / "x.ipynb").write_text(user)
        os.chown(folder, owner, owner)
        (into := tmp_path / f"{owner} {user}").mkdir()
        found = sorted_by_sender(unpack(folder.parent, into, [folder.name]), roster)
        if (owner, user) == (65534, "root"):
            ((_, _, why),) = found.unplaced
            assert why == "the folder has the name of root, but belongs to nobody: ask both"
            continue
        (delivery,) = found.deliveries
        assert [student.id for student in delivery.senders] == [user]
        if owner == 1:  # an instructor's copy, or a hub whose servers run as one account
            assert (delivery.origin.time_from, delivery.origin.time) == ("file name", datetime(2026, 1, 1, tzinfo=UTC))
        else:
            assert delivery.origin.time_from == "server's clock"
            assert delivery.origin.time
            assert abs(delivery.origin.time - now) < timedelta(hours=1)
