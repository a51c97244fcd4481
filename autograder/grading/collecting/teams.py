"""Teams of an assignment, by the LMS's table of grades."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from ..lms.interface.grade_table import Participant
from ..lms.interface.origin import Origin
from ..lms.interface.system import Lms
from ..tables import names
from ..tables.roster import Ambiguous


class Teams:
    """The teams in the LMS's table, found by names in paths.

    `participants` are the lines of the table, `origins` what all paths of the archive tell.
    """

    def __init__(self, lms: Lms, participants: Collection[Participant], origins: Iterable[Origin]) -> None:
        self._lms = lms
        self._by_number = {each.number: each for each in participants}
        self._by_name = defaultdict[str, list[Participant]](list)
        for each in participants:
            for spelling in lms.team_spellings(each.group) if each.group else ():
                self._by_name[spelling].append(each)
        paths = {(lms.name_in_path(each.name), bool(each.numbers)) for each in origins}
        self._twice = {name for name, numbered in paths if numbered and (name, False) in paths}

    def called(self, origin: Origin) -> list[Participant]:
        """Return the lines of all teams with the name in a path."""
        return self._by_name.get(self._lms.name_in_path(origin.name), [])

    def members(self, origin: Origin) -> list[Participant]:
        """Return the lines of the team that sent a file, or an empty list if the table has no such team.

        An LMS says that all members of a team have handed in. Others of the name are then not of this team.
        Raises Ambiguous if several teams have the name, as paths spell it.
        """
        called = self.called(origin)
        came = [each for each in called if each.handed_in]
        teams = sorted({each.group for each in came or called})
        if len(teams) > 1:
            raise Ambiguous(
                f"the names of the teams {' and '.join(teams)} are the same in paths: rename one in {self._lms.title}, "
                "and download the archive and the table again"
            )
        default = bool(teams) and teams[0].casefold() in self._lms.default_teams
        if default and (self._lms.name_in_path(origin.name) in self._twice or (origin.numbers and not came)):
            raise Ambiguous(
                f"those who are in no team have the name {teams[0]}, too: rename the team in {self._lms.title}, and "
                "download the archive and the table again"
            )
        return came or called

    def names_person(self, origin: Origin) -> bool:
        """Return whether the number in a path may be a person's.

        If the table has teams, it is a person's only beside the names of the person's team and of the person. Moodle up
        to 4.0 writes both. From 4.1 it writes the team's name and the team's number.
        """
        if not self._by_name:
            return True
        line = self._by_number.get(origin.numbers[0]) if origin.numbers else None
        if line is None:
            return False
        name = self._lms.name_in_path(origin.name)
        for team in self._lms.team_spellings(line.group):
            person = name.removeprefix(f"{team}-")
            if person != name and (origin.hidden or names.parts(person) == names.parts(line.name)):
                return True
        return False
