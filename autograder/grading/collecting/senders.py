"""Senders of files, by names that an LMS or instructor gave.

Students choose the names inside their own folder or archive. Such names are not used to tell sender or time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..lms.interface.grade_table import GradeTable, Participant
from ..lms.interface.origin import Origin, hidden_id
from ..lms.interface.system import Lms
from ..lms.systems import recognise
from ..tables import names
from ..tables.roster import Ambiguous, Roster, Student, Unplaced
from .archive import Unpacked
from .named_folders import depth_of_names, name_at, team_called
from .teams import Teams


@dataclass(frozen=True)
class Found:
    """The student, or the members of a team, behind a file.

    `origin` is what the path tells, with a time that the student cannot have forged. `participants` maps students to
    their lines in the LMS's table. `team` tells whether a team handed in. `lost` are reasons why members of the team
    were not found. `revealed` tells whether the LMS hid the name before.
    """

    origin: Origin
    students: list[Student]
    participants: dict[str, Participant] = field(default_factory=dict)
    team: bool = False
    lost: list[str] = field(default_factory=list)
    revealed: bool = False


class Senders:
    """The senders of the files of one archive or folder.

    `tables` are tables of grades of any LMS; those of the archive's LMS tell who has which number. `collected` are ids
    of students with attempts: whom the LMS has named since then keeps the id.
    """

    def __init__(
        self, unpacked: Unpacked, roster: Roster, tables: Sequence[GradeTable] = (), collected: Collection[str] = ()
    ) -> None:
        self._unpacked, self._roster, self._collected = unpacked, roster, collected
        entries = unpacked.entries
        self._reading = recognise(entries, {file.path: file.place for file in unpacked.files})
        self._depth = self._reading.depth if self._reading else depth_of_names(entries, roster)
        self._refused: dict[str, Unplaced] = {}  # by entry: many files may lie in one archive that names nobody
        told = [table for table in tables if self.lms and table.title == self.lms.title]
        self._participants = {each.number: each for table in told for each in table.participants}
        self._known = self._names_by_number()
        origins = list(filter(None, map(self._origin_of, entries)))
        self._namesakes = _shared(origins)
        self._teams = Teams(self.lms, self._participants.values(), origins) if self.lms else None

    def _names_by_number(self) -> dict[str, set[str]]:
        """Return a dict from each number that a person has to the names that the LMS may write beside it."""
        known = defaultdict[str, set[str]](set)
        for number, each in self._participants.items():
            known[number.casefold()] |= names.joined(each.name)
        for number, students in self._roster.by_number.items():
            for student in students:
                known[number].update(*map(names.joined, (student.name, *student.lms)))
                if student.group and self.lms:
                    known[number] |= self.lms.team_spellings(student.group)
        return known

    @property
    def lms(self) -> Lms | None:
        """The LMS by the archive's paths, or None if they have no known form."""
        return self._reading.lms if self._reading else None

    def origin(self, path: str) -> Origin:
        """Return who handed in the file at `path`, as far as the part of the path that the LMS made tells.

        If this part has no form of an LMS, the result has neither a name nor a number.
        """
        entry = self._unpacked.entry_of(path)
        if origin := self._origin_of(entry):
            return replace(origin, rest=origin.rest + path.removeprefix(entry))
        return Origin("", (), "", path.split("/", min(self._depth + 1, path.count("/")))[-1])

    def _origin_of(self, entry: str) -> Origin | None:
        return self._reading.origin(entry, self._known) if self._reading else None

    def is_of_lms(self, path: str) -> bool:
        """Return whether the LMS has written a file itself, so that it is no submission."""
        return bool(self._reading and self._reading.is_own_file(path))

    def refuse_other_table(self, adds: bool) -> None:
        """Raise Unplaced if the archive and the LMS's table have no participant and no team in common.

        If a person has one number in all assignments, this matters only if the table `adds` its people as students. Who
        has a hidden name is in no such table.
        """
        if not self.lms or not self._participants or not (adds or not self.lms.stable):
            return
        origins = list(filter(None, map(self._origin_of, self._unpacked.entries)))
        told = [each for each in origins if not (each.hidden and self.lms.stable)]
        known = [self._participants.keys() & set(each.numbers) or self._is_team(each) for each in told]
        if told and not any(known):
            raise Unplaced("they have no participant in common")

    def find(self, origin: Origin, path: str) -> Found:
        """Return the student, or all members of the group, who handed in the file at `path`.

        `origin` is what the path tells.
        Raises Unplaced if the roster has nobody who fits, or if the file belongs to somebody else.
        """
        entry = self._unpacked.entry_of(path)
        self._refuse_rivals(origin)
        if not (origin.numbers or origin.name or origin.members):
            members = team_called(name_at(entry, self._depth), self._roster)
            return Found(origin, members or [self._find_in_name(entry)], team=bool(members))
        if self._unpacked.folder and self.lms:
            above = self._unpacked.folder.joinpath(*entry.split("/")[: self._depth + 1])
            origin = self.lms.vouch(origin, above, self._roster.by_number)
        if team := self._team(origin):
            return self._members(origin, team)
        return self._find_sender(origin)

    def _find_in_name(self, entry: str) -> Student:
        if entry in self._refused:
            raise self._refused[entry]
        try:
            return self._roster.find_in_path(name_at(entry, self._depth))
        except Unplaced as why:
            self._refused[entry] = self._explained(entry) or why
            raise self._refused[entry] from None

    def _explained(self, entry: str) -> Unplaced | None:
        """Return an error with the remedy if `entry` is an archive of an LMS, which lies in the folder to collect."""
        if entry not in self._unpacked.archives:
            return None
        inside = {path.removeprefix(f"{entry}/") for path in self._unpacked.paths if path.startswith(f"{entry}/")}
        reading = recognise(inside) if inside else None
        return Unplaced(f"{entry} is an archive of {reading.lms.title}: collect it by itself") if reading else None

    def _is_team(self, origin: Origin) -> bool:
        """Return whether the archive or the LMS's table names the members of the team that sent a file."""
        return bool(origin.members or (self._teams and self._teams.called(origin)))

    def _team(self, origin: Origin) -> list[Participant]:
        """Return the members of the team that sent a file, as the archive or the LMS's table names them.

        Raises Ambiguous if two teams have the name.
        """
        if origin.members:
            return [Participant(0, "", each.name, each.identities) for each in origin.members]
        return self._teams.members(origin) if self._teams else []

    def has_person(self, origin: Origin) -> bool:
        """Return whether the number in a path is a person's, and not a team's."""
        return not self._is_team(origin) and (self._teams is None or self._teams.names_person(origin))

    def _members(self, origin: Origin, team: Sequence[Participant]) -> Found:
        """Return the members of a team. Raises Unplaced if none of them is found."""
        found = Found(origin, [], team=len(team) > 1 or not origin.members)
        for each in team:
            passing = None if origin.members else [each.number]
            try:
                if not each.hidden and hidden_id(each.number) not in self._collected:
                    student = self._roster.find([*each.identities, *(passing or ())], each.name, passing=passing)
                else:
                    student = _hidden(each.number)
            except Unplaced as why:
                found.lost.append(str(why))
                continue
            found.students.append(student)
            found.participants[student.id] = each
        if not found.students:
            raise Unplaced("; ".join(found.lost))
        return found

    def _find_sender(self, origin: Origin) -> Found:
        assert self.lms
        if not self.has_person(origin):
            team = self._in_roster(origin)
            if not team:
                raise Unplaced(
                    f"the LMS's table has no team {origin.name}: download the archive and the table together, in one "
                    "language"
                )
            return Found(origin, team, team=True)
        number = origin.numbers[0] if origin.numbers else ""
        participant = self._participants.get(number)
        told = participant and not participant.hidden
        if number and not self.lms.stable and hidden_id(number) in self._collected:
            return replace(self._found(origin, _hidden(number), participant), revealed=not origin.hidden)
        if origin.hidden and not told:  # a worksheet may hide names as well
            return self._found(origin, _hidden(number), participant)
        if participant and told:
            name, numbers = participant.name or origin.name, [*participant.identities, *origin.numbers]
        else:
            name, numbers = self._roster.without_group(origin.name), list(origin.numbers)
        try:
            student = self._roster.find(numbers, name, passing=None if self.lms.stable else origin.numbers)
        except Unplaced as why:
            team = self._in_roster(origin)
            if not team:
                if not told and not isinstance(why, Ambiguous):  # a new line for the name would not help
                    self._refuse_namesake(origin)
                raise
            return Found(origin, team, team=True)
        if not student.is_called_by(numbers):
            self._refuse_namesake(origin)
        team = self._in_roster(origin, student)  # Canvas adds the number of one member
        return Found(origin, team, team=True) if student in team else self._found(origin, student, participant)

    def _refuse_rivals(self, origin: Origin) -> None:
        """Raise Ambiguous if the path may be of several people."""
        whose = {
            str(student): f"{name} of {student}" if name else str(student)
            for name, number in origin.rivals
            for student in self._roster.by_number.get(number.casefold(), ())
        }
        if len(whose) > 1:
            assert self.lms
            raise Ambiguous(f"it may be {' or '.join(whose.values())}: {self.lms.tell_rivals}")

    def _refuse_namesake(self, origin: Origin) -> None:
        """Raise Ambiguous if others in the archive have the name of a sender."""
        assert self.lms
        if others := self._namesakes.get(origin.name, set()) - set(origin.numbers[:1]):
            raise Ambiguous(
                f"two are called {origin.name} here, with the numbers {origin.numbers[0]} and "
                f"{' and '.join(sorted(others))}: {self.lms.tell_apart}"
            )

    def _in_roster(self, origin: Origin, member: Student | None = None) -> list[Student]:
        """Return the students of `students.csv` whose column `group` has the name in a path.

        Of several teams with this name, that of `member` is meant.
        """
        assert self.lms
        called = {self.lms.name_in_path(name) for name in self.lms.team_names(origin)}
        groups = {student.group for student in self._roster.students if student.group}
        spelled = [group for group in groups if called & self.lms.team_spellings(group)]
        if member and member.group in spelled:
            return [student for student in self._roster.students if student.group == member.group]
        if not any(called):
            return []
        return self._roster.group(spelled[0] if len(spelled) == 1 else origin.name)

    @staticmethod
    def _found(origin: Origin, student: Student, participant: Participant | None) -> Found:
        return Found(origin, [student], {student.id: participant} if participant else {})


def _hidden(number: str) -> Student:
    """Return a student whose name the LMS hides."""
    return Student(hidden_id(number), "", lms=(number,))


def _shared(origins: Iterable[Origin]) -> dict[str, set[str]]:
    """Return a dict from each name that several people in an archive have to their numbers."""
    numbers = defaultdict[str, set[str]](set)
    for each in origins:
        if each.name and each.numbers and not each.hidden:
            numbers[each.name].add(each.numbers[0])
    return {name: found for name, found in numbers.items() if len(found) > 1}
