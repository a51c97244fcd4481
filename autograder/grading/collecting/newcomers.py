"""New students for `students.csv`, from a table of grades or an archive."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..lms.interface.grade_table import GradeTable, Participant
from ..lms.interface.origin import Origin
from ..lms.systems import common_folders, recognise, system_called
from ..tables.roster import Ambiguous, Roster, Student, Unplaced
from .archive import Unpacked


def from_tables(tables: Sequence[GradeTable], roster: Roster) -> list[Student]:
    """Return the participants in tables of grades who are not in the roster, as students.

    The id is the first part of the e-mail address, or the whole address if two people share that part. Without an
    address the id is the ID number or user name. Without that it is the name, with the LMS's number if two have this
    name. Participants without any of these are left out: the LMS hides their names.
    """
    lines = {(table.title, each.number): (table, each) for table in tables for each in table.participants}
    told = [(table, each) for table, each in lines.values() if each.identities or each.name]
    parts = Counter(email.partition("@")[0].casefold() for email in {each.email for _, each in told if each.email})
    ids = Counter(_as_folder(_identity(each, parts)).casefold() for _, each in told)
    found: dict[str, Student] = {}
    for table, each in told:
        identity = _as_folder(_identity(each, parts))
        shared = ids[identity.casefold()] > 1
        identity = f"{identity} {each.number}" if shared else identity
        lms = dict.fromkeys([*each.identities, *([each.number] if table.stable or shared else [])])
        own = tuple(number for number in lms if number not in (identity, each.email))
        found.setdefault(identity, Student(identity, each.name, each.email, own, _team(table, each)))
    return list(_unknown(found.values(), roster, all(table.stable for table in tables)))


def _team(table: GradeTable, each: Participant) -> str:
    """Return the team of a participant, or "" for the LMS's name of those who are in no team."""
    lms = system_called(table.title)
    return "" if lms and each.group.casefold() in lms.default_teams else each.group


def _first(each: Participant) -> str:
    return each.email.partition("@")[0]


def _identity(each: Participant, parts: Counter[str]) -> str:
    if not each.email:
        return each.id or each.name
    return _first(each) if parts[_first(each).casefold()] == 1 else each.email


def from_paths(unpacked: Unpacked, roster: Roster) -> list[Student]:
    """Return the senders of an archive who are not in the roster, as students.

    The id is the sender's name, or the user name in LMSs that tell it. If an LMS gives each person one number, the
    column `lms` gets it, and the ids of namesakes have it. Other namesakes are left out. If the archive has no LMS's
    form, each folder is taken for a student. The only folder in an archive may be that of the assignment: then there
    are no new students.
    """
    entries = unpacked.entries
    reading = recognise(entries, {file.path: file.place for file in unpacked.files})
    if reading is None:
        depth = common_folders(entries)
        if len({entry.split("/")[depth] for entry in entries}) < 2:
            if unpacked.folder is None or depth > 1:  # the folder may be that of the assignment
                return []
            depth = 0
        folders = filter(None, (_by_folder(entry, depth) for entry in sorted(entries)))
        return list(_unknown({each.id: each for each in folders}.values(), roster))
    people: dict[tuple[str, ...], Student] = {}
    for entry in sorted(entries):
        origin = reading.origin(entry)
        if origin is None or origin.hidden or not (origin.name or origin.numbers or origin.members):
            continue
        for each in _people(origin):
            identity = _as_folder(reading.lms.identity(each))
            numbers = [number for number in each.numbers if "@" not in number]
            lms = tuple(numbers[:1]) if reading.lms.stable and each.name else ()
            people[each.numbers or (each.name,)] = Student(identity, each.name, _email(each), lms)
    ids = Counter(each.id.casefold() for each in people.values())
    found = []
    for student in people.values():
        if ids[student.id.casefold()] == 1:
            found.append(replace(student, lms=tuple(number for number in student.lms if number != student.id)))
        elif student.lms:
            found.append(replace(student, id=f"{student.id} {student.lms[0]}"))
    return list(_unknown(found, roster))


def _people(origin: Origin) -> Iterable[Origin]:
    """Yield the people who sent a file, each as an origin."""
    if not origin.members:
        return [origin]
    return [replace(origin, name=each.name, numbers=each.identities, members=()) for each in origin.members]


def _email(origin: Origin) -> str:
    return next((number for number in origin.numbers if "@" in number), "")


def _by_folder(path: str, depth: int) -> Student | None:
    """Return the student whose name a file's folder has, or None if the file lies above.

    `depth` is the number of folders around the student's folder.
    """
    *folders, _ = path.split("/")
    return Student(_as_folder(folders[depth]), folders[depth]) if depth < len(folders) else None


def _unknown(students: Iterable[Student], roster: Roster, stable: bool = True) -> Iterable[Student]:
    """Yield the students who are not in the roster, with ids that nobody in the roster has.

    `stable` tells whether a person has one number in the LMS. Then somebody with the name of a student, but with
    another number, is new.
    """
    taken = {each.id.casefold() for each in roster.students}
    for student in students:
        numbers = [*filter(None, (*student.lms, student.email))] or [student.id]
        try:
            roster.find(numbers, student.name, passing=None if stable else ())
            continue
        except Ambiguous:
            others = roster.called(student.name)
            if not (stable and len(others) == 1 and _have_other_numbers(student, others[0])):
                continue
        except Unplaced:
            pass
        if student.id.casefold() not in taken:
            yield student
        elif student.email or student.lms:
            yield replace(student, id=student.email or f"{student.id} {student.lms[0]}")


def _have_other_numbers(one: Student, other: Student) -> bool:
    numbers = [{number for number in each.lms if number.isdecimal()} for each in (one, other)]
    return all(numbers) and not numbers[0] & numbers[1]


def _as_folder(identity: str) -> str:
    """Return an id in a form that can be the name of a folder: without slashes, without a dot or spaces around."""
    return re.sub(r"[/\\\0]", "-", identity).strip().lstrip(".").strip() or "student"
