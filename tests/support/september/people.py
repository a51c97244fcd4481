"""Students with the names that make trouble, each at home in one learning management system (LMS)."""

from __future__ import annotations

import itertools
import random
import unicodedata
from dataclasses import dataclass, field

HOMES = ("Moodle", "Moodle", "Canvas", "Moodle", "Blackboard", "Moodle", "files", "Canvas", "Moodle", "exchange")
_TEAM = 3  # students in a team
_SURNAMES = (
    "Ёлкин", "Иванов-Петров", "Д’Артаньян", "Фёдоров", "Щербаков", "Королёва", "Ким", "Мамин-Сибиряк", "Соловьёв",
    "Йылмаз", "O’Neil", "García López", "Müller", "D'Angelo", "Saint-Exupéry", "Li", "Nguyễn", "van der Berg",
    "Weiß", "Smith",
)  # fmt: skip
_GIVEN = (
    "Пётр", "Анна-Мария", "Семён", "Алёна", "Ян", "Игорь", "Юлия Сергеевна", "Лев", "Zoë", "Jean-Luc", "Bo", "Ana",
    "José", "Renée", "Tim", "Ida",
)  # fmt: skip


@dataclass
class Person:
    """A student. `number` is that of the LMS. `extensions` maps assignments to days.

    `alone` tells whether nobody else has this name, `by_surname` whether nobody else has this surname.
    """

    index: int
    name: str
    home: str
    alone: bool = True
    by_surname: bool = False
    group: str = ""
    extensions: dict[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """An id as the LMS would make it. In Blackboard a user name may have underscores."""
        return f"user_{self.index}_x" if self.home == "Blackboard" else f"s{self.index:03}"

    @property
    def email(self) -> str:
        return f"{self.id}@uni.example"

    @property
    def number(self) -> int:
        return 70_000 + self.index

    @property
    def lms(self) -> str:
        """What the instructor wrote into the column `lms`: the number, where the name says too little."""
        return str(self.number) if self.home == "Canvas" and not self.alone else ""

    @property
    def surname(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def canvas_name(self) -> str:
        """The name in Canvas' file names: letters and digits only, without spaces."""
        return "".join(c for c in unicodedata.normalize("NFC", self.name).lower() if c.isalnum())

    def row(self) -> list[str]:
        """A line of `students.csv`."""
        extra = "; ".join(f"{name} +{days}d" for name, days in self.extensions.items())
        return [self.id, self.name, self.email, self.lms, self.group, extra]


def make_people(count: int, chance: random.Random) -> list[Person]:
    """Return `count` students. Every 27th has the name of the one before; every 20th has an emoji in it."""
    pairs = [(surname, given) for surname in _SURNAMES for given in _GIVEN]
    chance.shuffle(pairs)
    people: list[Person] = []
    for index in range(count):
        surname, given = pairs[index % len(pairs)]
        home = HOMES[index % len(HOMES)]
        # A surname that nobody else has: files may then be named by it alone.
        own = home == "files" and index % 20 == 6
        name = f"{'Редкий' if own else ''}{_letters(index) if own else surname} {given}"
        if index % 27 == 26:
            name = " ".join(reversed(people[-1].name.split(" ", 1))) if index % 2 else people[-1].name
        elif index >= len(pairs):
            name = f"{name} {_letters(index)}"
        if index % 20 == 13:
            name += " 🎓"
        people.append(Person(index, name, home, by_surname=own))
    for one, other in itertools.pairwise(people):
        if other.index % 27 == 26:
            one.alone = other.alone = False
            one.by_surname = other.by_surname = False
    return people


def make_teams(people: list[Person], count: int) -> list[list[Person]]:
    """Put students of Moodle into teams, and return the teams."""
    ours = [each for each in people if each.home == "Moodle" and each.alone]
    teams = [ours[at * 5 : at * 5 + _TEAM] for at in range(min(count, len(ours) // 5))]
    for number, team in enumerate(teams, 1):
        for each in team:
            each.group = f"Команда {number}"
    return teams


def _letters(number: int) -> str:
    """Return a number as letters, because digits in a name would be a number of the LMS."""
    return "".join("абвгдежзик"[int(digit)] for digit in str(number))
