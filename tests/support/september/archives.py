"""What the LMSs give the instructor: archives, folders and worksheets, in all their forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from support.lms import Participant, write_worksheet
from support.september.lessons import FIRST, NORM, SLOPE, TOTAL, Copies
from support.september.paths import canvas_path, moodle_path, paths_by_name, write_zip, zip_bytes
from support.september.people import Person
from support.september.schedule import HandedIn, comes_in_folder, is_blind, participant

_ODD = datetime(2024, 9, 9, 12)  # of files that are no submission
FORMS: dict[str, dict[str, Any]] = {
    FIRST: {"russian": False, "separator": ",", "encoding": "utf-8-sig", "end": "\r\n"},
    TOTAL: {"russian": True, "separator": ",", "encoding": "utf-8", "end": "\n"},
    SLOPE: {"russian": True, "separator": ";", "encoding": "cp1251", "end": "\r\n"},
    NORM: {"russian": False, "separator": ";", "encoding": "utf-8-sig", "end": "\r\n"},
}


@dataclass(frozen=True)
class PutIn:
    """A file that is put in. A file without an `owner` has no place, for a `reason` that begins like this.

    `path` is that of the table of reasons.
    """

    source: str
    data: bytes
    owner: str = ""
    assignment: str = ""
    path: str = ""
    reason: str = ""


@dataclass
class Archives:
    """A writer of archives into `folder`. `put_in` are all files so far, `told` who will be told of a missing notebook.

    `worksheets` maps assignments to the participants of the latest worksheet.
    """

    folder: Path
    people: list[Person]
    handed_in: list[HandedIn]
    copies: Copies
    put_in: list[PutIn] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    worksheets: dict[str, list[Participant]] = field(default_factory=dict)

    def moodle(self, assignment: str, turn: int) -> tuple[Path, Path]:
        """Write Moodle's archive and its worksheet. Returns both."""
        source = f"{assignment}-moodle-{turn}.zip"
        came: dict[str, datetime] = {}
        entries = {}
        for each in self._latest(assignment, "Moodle", turn):
            if each.in_team:
                continue
            came[each.person.id] = each.came or _ODD
            for rest, data in self._files(each, f"{assignment}.ipynb"):
                entries[moodle_path(each, rest)] = (data, _ODD)
                self.put_in.append(PutIn(source, data, each.student, assignment))
        if assignment == FIRST and turn == 1:
            for person, path, data, reason in self._odd(entries):
                entries[path] = (data, _ODD)
                who = f"{person.id}: {path if path.endswith('.zip') else path.rpartition('/')[2]}" if person else path
                self.put_in.append(PutIn(source, data, path=who, reason=reason))
                if person:
                    came[person.id] = _ODD
                    self.told.add(person.name)
        sheet = self.folder / f"{assignment}-{turn}.csv"
        self.worksheets[assignment] = [
            self._participant(each, assignment, came.get(each.id)) for each in self.people if each.home == "Moodle"
        ]
        write_worksheet(sheet, self.worksheets[assignment], **FORMS[assignment])
        return write_zip(self.folder / source, entries), sheet

    def teams(self) -> Path:
        """Write an archive of the teams, without a worksheet. One team is one folder, of the others each member is."""
        source, entries = f"{TOTAL}-teams.zip", {}
        for each in self.handed_in:
            if each.in_team:
                data = self.copies.write(TOTAL, each.kind, each.mark)
                assert each.came
                path = f"{each.person.group}_9001_assignsubmission_file/{TOTAL}.ipynb"
                entries[path if each.by_group else moodle_path(each, f"{TOTAL}.ipynb")] = (data, each.came)
                self.put_in.append(PutIn(source, data, each.student, TOTAL))
        return write_zip(self.folder / source, entries)

    def old(self) -> Path:
        """Write an archive with attempts that are older than those collected, without a worksheet."""
        source, entries = f"{FIRST}-old.zip", {}
        for each in self.handed_in:
            if each.number == -1:
                assert each.came
                for rest, data in self._files(each, f"{FIRST}.ipynb"):
                    entries[moodle_path(each, rest)] = (data, each.came)
                    self.put_in.append(PutIn(source, data, each.student, FIRST))
        return write_zip(self.folder / source, entries)

    def canvas(self, assignment: str, turn: int) -> Path:
        source, entries = f"{assignment}-canvas-{turn}.zip", {}
        for each in self._latest(assignment, "Canvas", turn):
            path = canvas_path(each)
            time = each.came if each.late and each.came else _ODD
            entries[path] = (self.copies.write(assignment, each.kind, each.mark), time)
            self.put_in.append(PutIn(source, entries[path][0], each.student, assignment))
        return write_zip(self.folder / source, entries)

    def blackboard(self, assignment: str, turn: int) -> Path:
        """Write Blackboard's archive, with all attempts."""
        source, entries = f"{assignment}-blackboard-{turn}.zip", {}
        for each in self._all(assignment, "Blackboard", turn):
            assert each.came
            above = f"Home work_1_{each.student}_attempt_{each.came:%Y-%m-%d-%H-%M-%S}"
            for path, data in (
                (f"{above}_{assignment}.ipynb", self.copies.write(assignment, each.kind, each.mark)),
                (f"{above}.txt", f"Name: {each.person.name}\nAttempt {each.mark}".encode()),
            ):
                entries[path] = (data, _ODD)
                self.put_in.append(PutIn(source, data, each.student, assignment))
        return write_zip(self.folder / source, entries)

    def exchange(self, assignment: str, turn: int) -> Path:
        """Write the folder of nbgrader's exchange into which students submit."""
        source = f"{assignment}-inbound-{turn}"
        for each in self._all(assignment, "exchange", turn):
            assert each.came
            time = f"{each.came - timedelta(hours=3):%Y-%m-%d %H:%M:%S.%f} UTC"
            place = self.folder / source / f"{each.student}+{assignment}+{time}+c2VjcmV0{each.number}"
            place.mkdir(parents=True)
            data = self.copies.write(assignment, each.kind, each.mark)
            (place / f"{assignment}.ipynb").write_bytes(data)
            (place / "timestamp.txt").write_text(time, encoding="utf-8")
            self.put_in.append(PutIn(source, data, each.student, assignment))
        return self.folder / source

    def files(self, assignment: str, turn: int, *, as_folder: bool) -> Path:
        """Write a plain folder of files, or an archive of such, with the students' names in it."""
        source = f"{assignment}-files-{turn}" + ("" if as_folder else ".zip")
        entries = {}
        for each in self._latest(assignment, "files", turn):
            if comes_in_folder(each.person) == as_folder:
                data = self.copies.write(assignment, each.kind, each.mark)
                for path, packed in paths_by_name(each.person, assignment, data).items():
                    entries[path] = (packed, each.came or _ODD)
                self.put_in.append(PutIn(source, data, each.student, assignment))
        if turn == 1:
            data = self.copies.write(assignment, "solved", "nobody-mark")
            entries["кто-то.ipynb"] = (data, _ODD)
            reason = "nobody in students.csv is named in this path"
            self.put_in.append(PutIn(source, data, path="кто-то.ipynb", reason=reason))
        if not as_folder:
            return write_zip(self.folder / source, entries)
        for path, (data, _) in entries.items():
            (self.folder / source / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / source / path).write_bytes(data)
        return self.folder / source

    def _all(self, assignment: str, home: str, turn: int) -> list[HandedIn]:
        """Return the attempts that an LMS has: first those with the number 0, later all."""
        ours = [each for each in self.handed_in if (each.assignment, each.person.home) == (assignment, home)]
        return [each for each in ours if each.number == 0 or (turn == 2 and each.number > 0)]

    def _latest(self, assignment: str, home: str, turn: int) -> list[HandedIn]:
        return list({each.student: each for each in self._all(assignment, home, turn)}.values())

    def _files(self, each: HandedIn, notebook: str) -> Iterator[tuple[str, bytes]]:
        """Yield the files of one attempt in Moodle. Some bring a table or a text along."""
        yield notebook, self.copies.write(each.assignment, each.kind, each.mark)
        if each.person.index % 7 == 0:
            yield "data.csv", f"x\n{each.mark}\n".encode()
        if each.person.index % 11 == 0:
            yield "onlinetext.html", f"<p>{each.mark}: смотрите файл</p>".encode()

    def _odd(self, entries: Mapping[str, object]) -> Iterator[tuple[Person | None, str, bytes, str]]:
        """Yield what is no submission, of students who hand in nothing else: person, path, contents and reason."""
        busy = {each.person.id for each in self.handed_in if each.assignment == FIRST}
        idle = [each for each in self.people if each.home == "Moodle" and each.id not in busy]
        cut = self.copies.write(FIRST, "solved", "cut-mark")
        inner = zip_bytes({"lesson.ipynb": (cut, _ODD)})[: len(cut) // 8]
        other = b'{"nbformat": 4, "nbformat_minor": 5, "cells": [], "metadata": {}}'
        whats = (
            ("onlinetext.html", b"<p>colab.example/x</p>", "no notebook inside: ask for the file"),
            ("work.zip", inner, "it is an archive that cannot be unpacked"),
            ("other.ipynb", other, "it has none of this course's cells"),
        )
        for person, (rest, data, reason) in zip(idle, whats):
            each = HandedIn(person, person.id, FIRST, 0, "", _ODD, "")
            yield person, moodle_path(each, rest), data, reason
        stranger = f"Никто Чужой_99999_assignsubmission_file/{FIRST}.ipynb"
        yield None, stranger, self.copies.write(FIRST, "solved", "stranger-mark"), "nobody in students.csv is called"

    @staticmethod
    def _participant(person: Person, assignment: str, came: datetime | None) -> Participant:
        number = int(participant(person, assignment))
        if is_blind(person, assignment):
            return Participant(number, "", came=came)
        encoding = FORMS[assignment]["encoding"]
        name = person.name.encode(encoding, "replace").decode(encoding)  # Excel writes "?" for what it cannot write
        return Participant(number, name, f"id{person.index}", person.email, came)
