"""Who hands in what and when: a schedule of attempts, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

from support.september.lessons import FIRST, NORM, SLOPE, TOTAL
from support.september.people import Person

# In local time, that of Moscow. The third assignment is due before the second.
DUE = {
    FIRST: datetime(2024, 9, 10, 23, 59),
    SLOPE: datetime(2024, 9, 17, 23, 59),
    TOTAL: datetime(2024, 9, 24, 23, 59),
    NORM: datetime(2024, 10, 1, 23, 59),
}
_MINUTES = (-4000, -700, -60, -1, 0, 10, 11, 600, 1450, 1451, 2000, 4330, 5000, 9000)  # after the due date
_ONCE = (0, 1, 1, 1, 1, 1, 1, 1, 2, 2)  # attempts; who hands in nothing is the first of ten
_OFTEN = (0, 1, 2, 2, 3, 3, 4, 5)  # where the best attempt counts
_KINDS = ("solved", "solved", "number", "wrong", "blank")
_KINDS_FIRST = ("solved", "solved", "one wrong", "one only", "blank")


@dataclass(frozen=True)
class HandedIn:
    """One attempt.

    `student` is the id in the course: in blind marking it is made of the participant's number. `came` is in local time,
    or None if nothing tells it. `number` counts the attempts, and `-1` is one that is older than those collected
    before. `mark` is in the text of the notebook.
    """

    person: Person
    student: str
    assignment: str
    number: int
    kind: str
    came: datetime | None
    mark: str

    @property
    def in_team(self) -> bool:
        return self.mark.startswith("team-")

    @property
    def by_group(self) -> bool:
        """True if Moodle names the team alone. Of the other teams it names each member."""
        return self.mark == "team-1-mark"

    @property
    def moodle_name(self) -> str:
        """The name in Moodle's archive."""
        if is_blind(self.person, self.assignment):
            return "Участник"
        return f"{self.person.group}-{self.person.name}" if self.in_team else self.person.name

    @property
    def late(self) -> bool:
        """True if Canvas calls it late."""
        return self.came is not None and self.came > DUE[self.assignment]


def plan(people: list[Person], teams: list[list[Person]], chance: random.Random) -> list[HandedIn]:
    """Return all attempts of all students. A team hands in together, in the second assignment."""
    found: list[HandedIn] = []
    for assignment in DUE:
        in_teams = {each.id for team in teams for each in team} if assignment == TOTAL else set()
        for person in people:
            if person.id not in in_teams:
                found += _attempts(person, assignment, chance)
        for number, team in enumerate(teams if assignment == TOTAL else (), 1):
            kind, came = chance.choice(_KINDS), DUE[TOTAL] + timedelta(minutes=chance.choice(_MINUTES))
            found += [HandedIn(one, one.id, TOTAL, 0, kind, came, f"team-{number}-mark") for one in team]
    return found


def is_blind(person: Person, assignment: str) -> bool:
    """Return whether the LMS hides the student's name. Moodle and Canvas do, in the fourth assignment."""
    return assignment == NORM and person.home in ("Moodle", "Canvas")


def participant(person: Person, assignment: str) -> str:
    """Return the number of a student in one assignment."""
    if is_blind(person, assignment) and person.home == "Canvas":
        return f"aN{person.index}x"
    return str(10_000 * (1 + list(DUE).index(assignment)) + person.index)


def comes_in_folder(person: Person) -> bool:
    """Return whether the student's files lie in a folder, which tells no times, and not in an archive."""
    return person.home == "files" and person.index % 3 == 0


def _attempts(person: Person, assignment: str, chance: random.Random) -> list[HandedIn]:
    several = person.home in ("Blackboard", "exchange")
    count = chance.choice(_OFTEN if assignment == SLOPE and several else _ONCE)
    if comes_in_folder(person):
        count = min(count, 1)
    minutes = sorted(chance.sample(_MINUTES, count))
    first = 0
    if assignment == FIRST and person.home == "Moodle" and person.alone and count == 2 and chance.random() < 0.5:
        first = -1  # the earlier one arrives last, in an old archive
    found = []
    for number, after in enumerate(minutes, first):
        came: datetime | None = DUE[assignment] + timedelta(minutes=after)
        if comes_in_folder(person):
            came = None
        elif person.home == "Canvas":
            came = max(came, DUE[assignment])  # of a late file the time of the download is known
        blind = is_blind(person, assignment)
        student = f"participant-{participant(person, assignment)}" if blind else person.id
        kind = chance.choice(_KINDS_FIRST if assignment == FIRST else _KINDS)
        mark = f"{person.id}-{assignment}-{number % 10}-mark"
        found.append(HandedIn(person, student, assignment, number, kind, came, mark))
    return found
