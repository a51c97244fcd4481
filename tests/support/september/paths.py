"""Paths in the archives of each LMS, and archives with a time for each file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from support.lms import Participant, moodle_folder
from support.september.lessons import SLOPE, TOTAL
from support.september.people import Person
from support.september.schedule import HandedIn, is_blind, participant


def moodle_path(each: HandedIn, rest: str) -> str:
    """Return the path of a file in Moodle's archive. The third assignment is downloaded without folders."""
    who = Participant(int(participant(each.person, each.assignment)), each.moodle_name)
    plugin = "onlinetext" if rest.startswith("onlinetext") else "file"
    folder = moodle_folder(who, old=each.assignment == TOTAL, plugin=plugin)
    return f"{folder}_{rest}" if each.assignment == SLOPE else f"{folder}/{rest}"


def canvas_path(each: HandedIn) -> str:
    """Return the path of an attempt in Canvas' archive. Canvas numbers a file that was handed in again."""
    rest = f"{each.assignment}{f'-{each.number}' if each.number else ''}.ipynb"
    attachment = 1000 + each.person.index * 10 + each.number
    if is_blind(each.person, each.assignment):
        late = "LATE_" if each.late else ""
        return f"{late}anon_{participant(each.person, each.assignment)}_{attachment}_{rest}"
    late = "_LATE" if each.late else ""
    return f"{each.person.canvas_name}{late}_{each.person.number}_{attachment}_{rest}"


def paths_by_name(person: Person, assignment: str, data: bytes) -> dict[str, bytes]:
    """Return paths that name a student, as people write them, and the files there."""
    inner = {f"ответы/{assignment}.ipynb": (data, datetime(1999, 1, 1))}
    forms = [
        {f"{person.id}/{assignment}.ipynb": data},
        {f"{person.email}.zip": zip_bytes(inner)},
        {f"{person.name}/{assignment} (1).ipynb": data},
        {f"{person.name}/работа.zip": zip_bytes(inner)},
    ]
    if person.by_surname:
        return {f"{person.surname} ДЗ.ipynb": data}
    return forms[person.index // 10 % (4 if person.alone else 2)]


def zip_bytes(entries: Mapping[str, tuple[bytes, datetime]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path, (data, time) in entries.items():
            archive.writestr(zipfile.ZipInfo(path, time.timetuple()[:6]), data, zipfile.ZIP_DEFLATED, 1)
    return file.getvalue()


def write_zip(path: Path, entries: Mapping[str, tuple[bytes, datetime]]) -> Path:
    path.write_bytes(zip_bytes(entries))
    return path
