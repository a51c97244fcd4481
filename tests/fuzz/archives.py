"""Fuzzing of archives: unpacked, sorted by sender, written into a course."""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from functools import cache
from pathlib import Path
from random import Random

from autograder.errors import UserError
from autograder.grading.collecting.archive import Unpacked, unpack
from autograder.grading.collecting.deliveries import Delivery, sort_files
from autograder.grading.collecting.newcomers import from_paths
from autograder.grading.collecting.senders import Senders
from autograder.grading.collecting.unplaced import UnplacedFile, keep_unplaced
from autograder.grading.lms.interface.grade_table import GradeTable
from autograder.grading.lms.systems import read_grade_table
from autograder.grading.tables.roster import Roster, Student
from fuzz.mutations import CHARACTERS, ZONES, change_bytes
from fuzz.notebooks import NAME, RELEASED_FILE, released
from fuzz.zip_files import Entry, parse, write

_PEOPLE = [
    Student("ann", "Ann Lee", "ann@uni.example", ("101",)),
    Student("bob", "Bob Brown", "bob@uni.example", ("102",), "Team 7"),
    Student("dina", "Дина Ким", "", ("103",), "Team 7"),
]
_ROSTER, _RELEASED = Roster(_PEOPLE), {NAME: {NAME: released()}}
_WORKSHEET = "Identifier,Full name,Email address,Grade\nParticipant 7,Ann Lee,ann@uni.example,\nParticipant 8,,,\n"
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # ten times as fast as a disk, for thousands of files
_FOLDER = tempfile.TemporaryDirectory(dir=_MEMORY)
_PLACE = Path(_FOLDER.name)
_FORMS = (
    "Ann Lee_7_assignsubmission_file/{}", "Team 7-Bob Brown_8_assignsubmission_file_/{}",
    "all/Participant_9_assignsubmission_file/{}", "annlee_LATE_101_55_{}", "anon_101_5_{}", "bobbrown_102_text.html",
    "Home work_2_ann_attempt_2026-11-23-18-05-59_{}", "work_bob_attempt_2026-99-99-99-99-99.txt",
    "ann+00_first_gradient+2026-11-23 18:05:59.123456 UTC+aGVsbG8/{}", "Ann Lee/{}",
    "ann+x+0001-01-01 00:00:00 +2359/{}", "ann+x+2026-11-23 18:05:59 99999999999999999999/{}",
    "bob+x+9999-12-31 23:59:59 -2359/{}", "Student Work/Lab 0/Дина Ким/{}", "dina/{}", "{}",
)  # fmt: skip
_NAMES = (
    "x.ipynb", "timestamp.txt", "submission_secret.txt", "TIMESTAMP.TXT", "x", "x.json", "a/b/c.ipynb", "../x", "/x",
    "C:\\x", "a\\b", "a/" * 30 + "x", "a/" * 3000 + "x", "x" * 300 + ".ipynb", "." * 300, "_" * 30_000,
    "a_" * 9000 + "attempt_2026-11-23-18-05-59_x", "", ".", "..", ".hidden", "~", "x/", "__MACOSX/x", "a b", "İ.ipynb",
    "ß/x", "x\udcff".encode("utf-8", "replace").decode(),
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    """Yield an archive of each LMS, with a notebook and an archive in it."""
    notebook = RELEASED_FILE.read_bytes()
    inner = write([Entry.of(b"a/x.ipynb", notebook), Entry.of(b"y.txt", b"1")])
    for form in _FORMS:
        names = (form.format("x.ipynb"), form.format("in.zip"), form.format("timestamp.txt"))
        yield write([Entry.of(name.encode(), data) for name, data in zip(names, (notebook, inner, b"now"))])


def read(data: bytes) -> None:
    """Collect from an archive, and from a folder with this archive, into an empty course."""
    shutil.rmtree(_PLACE)
    (folder := _PLACE / "in" / "Ann Lee").mkdir(parents=True)
    (folder / "work.zip").write_bytes(data)
    for number, source in enumerate((folder / "work.zip", folder.parent)):
        (into := _PLACE / f"into{number}").mkdir()
        try:
            unpacked = unpack(source, into)
        except UserError:
            continue
        _sort(unpacked, _PLACE / f"course{number}")
    assert {path.name for path in _PLACE.iterdir()} <= {"in", "into0", "into1", "course0", "course1"}
    assert [path.name for path in folder.iterdir()] == ["work.zip"]


@cache
def _worksheet() -> GradeTable:
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(_WORKSHEET.encode())
        file.flush()
        return read_grade_table(Path(file.name))


def _sort(unpacked: Unpacked, course: Path) -> None:
    """Sort the files of an archive, and write them as `autograder collect` does."""
    found = sort_files(unpacked, Senders(unpacked, _ROSTER, [_worksheet()]), _RELEASED)
    for student in from_paths(unpacked, _ROSTER):
        assert student.id
        assert not set("/\\\0") & set(student.id)
    for number, delivery in enumerate(found.deliveries):
        _write(delivery, course / str(number))
    course.mkdir(exist_ok=True)
    lost = [UnplacedFile(path, why, file.place if file else None) for file, path, why in found.unplaced]
    keep_unplaced(course, "work.zip", lost)


def _write(delivery: Delivery, folder: Path) -> None:
    """Write a delivery as an attempt is stored. Raises OSError if a path is a file and a folder."""
    for time in filter(None, (delivery.time, delivery.origin.time)):
        assert all((time if time.tzinfo else time.replace(tzinfo=zone)).astimezone(UTC) for zone in ZONES)
        assert all(time.astimezone(zone) for zone in ZONES)
    for path, place in delivery.files_for(NAME).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        assert not (folder / path).exists()
        (folder / path).symlink_to(place)


def mutate(data: bytes, chance: Random) -> bytes:
    """Return another archive: with other names, sizes, flags, archives inside, or other bytes."""
    try:
        entries = parse(data)
    except (ValueError, struct.error):
        entries = []
    if not entries or chance.random() < 0.1:
        return change_bytes(data, chance, (b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6", b"PK\6\7"))
    for _ in range(chance.choice([1, 1, 2, 5])):
        _change(entries, chance)
    end = (chance.choice([0, 1, 0xFFFF]), chance.choice([0, 46, 0xFFFFFFFF]), chance.choice([0, 1, 0xFFFFFFFF]))
    return write(entries, chance.choice([b"", b"", b"x", b"PK\5\6"]), end if chance.random() < 0.03 else None)


def _change(entries: list[Entry], chance: Random) -> None:
    """Change one entry, or add some."""
    at = chance.randrange(len(entries))
    entry = entries[at]
    match chance.randrange(7):
        case 0 | 1:
            name = chance.choice(_FORMS).format(chance.choice([*_NAMES, *CHARACTERS]))
            entry.name = name.encode(chance.choice(["utf-8", "utf-8", "cp866", "cp1251"]), "replace")[:0xFFFF]
        case 2:
            entry.break_one_field(chance)
        case 3:
            entry.packed = change_bytes(entry.packed, chance)
        case 4:
            name = entry.name.rpartition(b"/")[0] + b"/in.zip"
            entries[at] = Entry.of(
                name, mutate(entry.contents if entry.contents[:2] == b"PK" else write([entry]), chance)
            )
        case 5:
            room = (1 << 20) // (100 + 2 * len(entry.name) + len(entry.packed)) - len(entries)
            copies = min(chance.choice([1, 1, 1, 1, 30, 30, 3000]), max(room, 1))
            entries += [replace(entry, wrong=dict(entry.wrong)) for _ in range(copies)]
        case 6:
            inner = parse_or_none(entry.contents)
            if inner:
                _change(inner, chance)
                entries[at] = Entry.of(entry.name, write(inner), chance.choice([0, 8]))


def parse_or_none(data: bytes) -> list[Entry]:
    """Return the entries of an archive, or none if it is broken."""
    try:
        return parse(data)
    except (ValueError, struct.error):
        return []
