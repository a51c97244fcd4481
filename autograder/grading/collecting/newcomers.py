"""New students for `students.csv`, from a worksheet or an archive."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from ..tables.roster import Ambiguous, Roster, Student, Unplaced
from ..tables.worksheet import Worksheet
from .archive import Unpacked
from .origins import Origin, common_folders, recognise


def from_worksheet(sheet: Worksheet, roster: Roster) -> list[Student]:
    """Return the participants of a worksheet who are not in the roster, as students.

    The id is the first part of the e-mail address, or the whole address if two people share that part. Without an
    address the id is the ID number. Without that number it is the name. Participants without any of the three are left
    out: Moodle hides their names. An id that two participants would have is left out, too.
    """
    told = [each for each in sheet.participants.values() if each.email or each.id_number or each.name]
    parts = Counter(each.email.partition("@")[0].casefold() for each in told if each.email)
    found = []
    for each in told:
        first = each.email.partition("@")[0]
        identity = (first if parts[first.casefold()] == 1 else each.email) or each.id_number or each.name
        lms = tuple(filter(None, [each.id_number])) if each.id_number != identity else ()
        found.append(Student(_as_folder(identity), each.name, each.email, lms))
    return _unknown(found, roster)


def from_paths(unpacked: Unpacked, roster: Roster) -> list[Student]:
    """Return the senders of an archive who are not in the roster, as students.

    The id is the sender's name. In forms without names, such as nbgrader's exchange, it is the user name. An id that
    two senders would have is left out. If the archive has no LMS's form, each folder is taken for a student.
    """
    entries = unpacked.entries
    reading = recognise(entries)
    form = reading.form if reading else None
    depth = common_folders(entries)
    if len({entry.split("/")[depth] for entry in entries}) < 2:  # the one folder may be that of the only student
        depth = 0
    origins = [reading.origin(entry) if reading else _by_folder(entry, depth) for entry in sorted(entries)]
    found = {}
    for origin in origins:
        if origin and not origin.hidden and (origin.name or origin.numbers):
            identity = origin.name or origin.numbers[-1]
            lms = origin.numbers if origin.name and form and not form.keeps_times else ()
            found[origin.attempt if origin.name else identity] = Student(_as_folder(identity), origin.name, "", lms)
    return _unknown(found.values(), roster)


def _by_folder(path: str, depth: int) -> Origin | None:
    """Return the origin of a file that lies in a folder with the name of a student, or None if it lies above.

    `depth` is the number of folders around the student's folder.
    """
    *folders, name = path.split("/")
    return Origin(folders[depth], (), folders[depth], name) if depth < len(folders) else None


def _unknown(students: Collection[Student], roster: Roster) -> list[Student]:
    """Return the students who are not in the roster. An id that two of them would have is left out."""
    named = Counter(student.id.casefold() for student in students)
    found = []
    for student in students:
        if named[student.id.casefold()] > 1:
            continue
        try:
            roster.find([student.id, student.email, *student.lms], student.name)
        except Ambiguous:
            continue
        except Unplaced:
            found.append(student)
    return found


def _as_folder(identity: str) -> str:
    """Return an id in a form that can be the name of a folder: without slashes, without a dot or spaces around."""
    return re.sub(r"[/\\\0]", "-", identity).strip().lstrip(".").strip() or "student"
