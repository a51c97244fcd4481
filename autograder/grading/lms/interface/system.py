"""The interface of a learning management system (LMS)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ...tables import names
from ...tables.csv_text import CsvText
from .grade_table import GradeTable
from .origin import Origin, Sender


class Lms:
    """An LMS: how it names senders, and what it takes back.

    `keeps_times` tells whether modification times in its archives are those of submissions. `stable` tells whether a
    person has the same number in all assignments. `trusted` are names of files that the LMS writes beside a submission.
    `own_files` matches paths of its other files, which are no submission.
    `feedback_archive` is the name of the archive with feedback, or "" if the LMS imports none. `returns_notebooks`
    tells whether feedback is a notebook under the name of the submitted file, and not pages. `table_form` says what a
    table of grades looks like, or "" if there is none. `tell_apart` says how to tell namesakes apart, `tell_rivals` how
    to tell apart the people of whom a path may be. `default_teams` are names, in lower case, of the team of those who
    are in no team.
    `lacks_in_paths` says what a list of students from an archive alone lacks.
    """

    title: str
    keeps_times = True
    stable = True
    default_teams: frozenset[str] = frozenset()
    trusted: frozenset[str] = frozenset()
    own_files = re.compile(r"(?!)")
    feedback_archive = ""
    returns_notebooks = False
    table_form = ""
    lacks_in_paths = ""
    tell_apart = "write the number of each into the column lms of the right line of students.csv"
    tell_rivals = (
        "write the right name into the column lms of the right line of students.csv, or that of a team into the column "
        "group, and collect again"
    )

    def origin(self, path: str) -> Origin | None:
        """Return who handed in the file at `path`, such as `Ann Lee_7_assignsubmission_file/x.ipynb` in Moodle.

        Returns None if the path has another form.
        """
        raise NotImplementedError

    def other_origins(self, path: str) -> list[Origin]:
        """Return less likely readings of a path, such as that of a name that ends with a number."""
        return []

    def name_in_path(self, text: str) -> str:
        """Return a name from a path in a form for comparisons."""
        return names.file_name(text)

    def team_spellings(self, team: str) -> frozenset[str]:
        """Return the names that paths may have for a team, as `name_in_path` returns them."""
        return frozenset({self.name_in_path(team.replace("_", " "))})

    def team_names(self, origin: Origin) -> tuple[str, ...]:
        """Return the names that the team may have that sent a file, by its path."""
        return (origin.name,)

    def told(self, files: Mapping[str, Path]) -> dict[str, Origin]:
        """Return what the LMS's own files in an archive tell of senders: a dict from attempt to origin.

        `files` maps paths, below the enclosing folders, to files on disk. A later time or another name in a path does
        not count for these attempts.
        """
        return {}

    def identity(self, origin: Origin) -> str:
        """Return the id for a new student."""
        return origin.name or origin.numbers[-1]

    def vouch(self, origin: Origin, folder: Path, known: Collection[str]) -> Origin:
        """Return an origin with a time that the student cannot have forged.

        `folder` is the submission's folder on a disk that the LMS writes. `known` are all ids, in lower case.
        Raises Unplaced if the folder belongs to somebody else.
        """
        return origin

    def table(self, text: CsvText, heads: Sequence[str], path: Path) -> GradeTable | None:
        """Return the table of grades in a CSV file, or None if the file is no such table of this LMS.

        `heads` are the titles of the columns.
        """
        return None

    def feedback_path(self, sender: Sender, page: str) -> str:
        """Return the path of a page of feedback in the archive that the LMS imports, or "" if it takes none."""
        raise NotImplementedError

    def file_number(self, sender: Sender) -> str:
        """Return the number of a submitted file, which stays when a hidden name is shown, or "" if it has none."""
        return ""

    def advice(self, tables: Mapping[str, GradeTable], written: Collection[str], again: bool) -> list[str]:
        """Return sentences that an instructor needs to import the files `written`.

        `tables` maps names of files to the filled tables of this LMS. `again` tells whether grades of this
        assignment were returned before.
        """
        return []
