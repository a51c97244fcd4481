"""Moodle: the assignment's archive, its worksheet, and its archive of feedback.

Sources, in `mod/assign/` of Moodle: `locallib.php` (up to 4.0) and `classes/downloader.php` (from 4.1) for archives,
`feedback/file/importziplib.php` for feedback, `feedback/offline/locallib.php` for the import of worksheets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ..tables.csv_text import CsvText
from .interface.grade_table import GradeTable
from .interface.origin import Origin, Sender
from .interface.system import Lms
from .moodle_names import name_in_path, spellings
from .moodle_worksheet import MoodleWorksheet

# The default group of Moodle 4.1 has no number. Moodle leaves no underscore in a name, but the zip library does.
_PATH = re.compile(r"(?P<name>[^/]*?)(?:_(?P<number>\d+))?_assign(?:submission|feedback)_[a-z]+_?(?:/|_)(?P<rest>.+)$")
# Blind marking: the word for "participant" in the course's language, with the name of a team in front.
_PARTICIPANT = re.compile(r"(?i)(.*-)?(participante?|участник|учасник|teilnehmer(/in)?|deelnemer)")
_ALLOW = {
    False: "Allow updating records that have been modified more recently in Moodle than in the spreadsheet",
    True: "Разрешить обновление записей, которые были изменены в Moodle раньше, чем в ведомости",
}


class Moodle(Lms):
    """Moodle 3.1 and newer."""

    title = "Moodle"
    stable = False
    default_teams = frozenset({"default group", "группа по умолчанию"})
    feedback_archive = "moodle_feedback.zip"
    tell_apart = (
        "collect with --worksheet, in which each has an e-mail address or ID number (Moodle's numbers belong to one "
        "assignment)"
    )
    lacks_in_paths = (
        "Moodle's archive alone tells neither addresses nor who is in a team: correct students.csv, or begin with "
        "--worksheet"
    )
    table_form = "the grading worksheet, in English or Russian, with the columns Identifier and Grade"

    def origin(self, path: str) -> Origin | None:
        found = _PATH.match(path)
        if not found:
            return None
        name, number = found["name"].strip(), found["number"] or ""
        numbers = (number,) if number else ()
        return Origin(name, numbers, number or name, found["rest"], hidden=bool(_PARTICIPANT.fullmatch(name)))

    def team_spellings(self, team: str) -> frozenset[str]:
        return spellings(team)

    def name_in_path(self, text: str) -> str:
        return name_in_path(text)

    def table(self, text: CsvText, heads: Sequence[str], path: Path) -> GradeTable | None:
        return MoodleWorksheet(text, path) if MoodleWorksheet.fits(heads) else None

    def feedback_path(self, sender: Sender, page: str) -> str:
        """Return a path with the final underscore that Moodle up to 4.0 needs and 4.1 accepts.

        The default group has no number, by which Moodle would find it.
        """
        above = f"{sender.name.replace('_', ' ')}_{sender.number}_assignsubmission_file_"
        return f"{above}/{page}" if sender.number else ""

    def advice(self, tables: Mapping[str, GradeTable], written: Collection[str], again: bool) -> list[str]:
        said: list[str] = []
        sheets = [table for table in tables.values() if isinstance(table, MoodleWorksheet)]
        if not sheets:
            return said
        names, after = " and ".join(tables), "it" if len(tables) == 1 else "them"
        if self.feedback_archive in written:
            said.append(
                f"upload {names} first and {self.feedback_archive} after {after}: in the other order Moodle takes the "
                f"grades for stale and changes none. If the pages went first, tick “{_ALLOW[sheets[0].russian]}”"
            )
        if again or any(sheet.has_grades for sheet in sheets):
            said.append(
                f"grades of this assignment were given before: when you upload {names}, tick "
                f"“{_ALLOW[sheets[0].russian]}”, or Moodle skips them"
            )
        if any(sheet.has_workflow for sheet in sheets):
            said.append("the assignment has a marking workflow: students see a grade in the state Released")
        return said
