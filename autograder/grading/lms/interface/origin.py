"""Senders of files, as the paths in an LMS's archive name them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime


def hidden_id(number: str) -> str:
    """Return the id of a person whose name the LMS hides: "participant-7"."""
    return f"participant-{number}"


def is_hidden_id(student: str) -> bool:
    """Return whether a student's id is one of `hidden_id`."""
    return bool(re.fullmatch(r"participant-[0-9A-Za-z]+", student))


@dataclass(frozen=True)
class Origin:
    """The sender of a file, as far as its path tells.

    `name` is a person's or a group's name. `numbers` are numbers or user names of the LMS, the longest first. `attempt`
    is a key that all files of one attempt share. `rest` is the file's path as the student named it. `time` is the time
    of submission, in local time if it has no time zone. `time_from` is its source. `unread` is the text of a time that
    cannot be read. `late` is True if the LMS marks the
    file as late. `hidden` tells whether the LMS hides names. `members` are the people if a group has sent the file and
    the archive names them. `rivals` are pairs of name and number if the path may be read in several ways, and people
    have these numbers.
    """

    name: str
    numbers: tuple[str, ...]
    attempt: str
    rest: str
    time: datetime | None = None
    late: bool = False
    hidden: bool = False
    time_from: str = "file name"
    members: tuple[Member, ...] = ()
    unread: str = ""
    rivals: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Member:
    """A person in a group.

    `identities` are user names, numbers and e-mail addresses.
    """

    name: str
    identities: tuple[str, ...]


@dataclass(frozen=True)
class Sender:
    """The sender of a stored attempt, as the LMS knows it.

    `form` is the LMS's title. `number` and `name` are those in the archive. `path` is that of the submitted file, or of
    the archive in which a student packed it. `team` is "yes" if number and name are a team's. `participant` is then the
    number of the student in the worksheet, or "" if that is unknown.
    """

    form: str = ""
    number: str = ""
    name: str = ""
    path: str = ""
    team: str = ""
    participant: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, str]) -> Sender:
        """Return the sender that is stored with an attempt. An empty mapping gives a sender without an LMS."""
        return cls(**stored)

    @property
    def own_number(self) -> str:
        """The number of the student, or "" if only the team's is known."""
        return self.participant if self.team else self.number

    def stored(self) -> dict[str, str]:
        """Return a dict to be stored with an attempt."""
        return asdict(self)
