"""Canvas: what it exports, and a judge of what it imports.

The rules are those of Canvas' sources, with file and function named at each.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from support.lms.files import write_zip

_WORD = re.compile(r"[^\w\u0300-\u036f]")  # Ruby's [[:word:]] has combining marks, Python's \w has not
_NO_FILE_NAME = re.compile(r'[\x00/\\:*?"<>|]+')  # `sanitize_attachment_filename`


@dataclass
class User:
    """A student. `files` maps attachment numbers to names and contents. `score` stands in the gradebook."""

    number: int
    given: str
    surname: str
    login: str = ""
    sis: str = ""
    files: dict[int, tuple[str, str | bytes]] = field(default_factory=dict, repr=False)
    late: bool = False
    text: str = ""
    anonymous: str = ""
    group: str = ""
    score: str = ""

    @property
    def sortable(self) -> str:
        return f"{self.surname}, {self.given}" if self.given else self.surname


@dataclass
class Site:
    """An assignment in Canvas.

    `separator` and `comma` are those of the teacher's language. `split_names` is the option of first and last names.
    `manual` is manual posting. `anonymous` hides names. In a `group` assignment one member has handed in for all.
    """

    users: list[User]
    title: str = ""
    points: float = 10.0
    separator: str = ","
    comma: bool = False
    bom: bool = False
    split_names: bool = False
    manual: bool = False
    anonymous: bool = False
    group: bool = False

    def archive(self, path: Path, time: datetime = datetime(2026, 9, 20, 12)) -> Path:
        """Write the archive: `add_submission` and the functions below it in `lib/content_zipper.rb`."""
        files: dict[str, str | bytes] = {}
        for user in self.users:
            above = self._file_name(user)
            for number, (name, data) in user.files.items():
                files[f"{above}_{number}_{_NO_FILE_NAME.sub('_', name)}"] = data
            if user.text:
                files[f"{above}_text.html"] = user.text
        return write_zip(path, files, time)

    def _file_name(self, user: User) -> str:
        """`get_filename`: name, LATE and number. A group has the number of its representative (`representatives`)."""
        name = user.group if self.group and user.group else user.sortable
        name = re.sub(r"_(\d+)_", r"\1", name).lower()
        number = f"anon_{user.anonymous}" if self.anonymous else str(user.number)
        parts = [] if self.anonymous else [name]
        return _WORD.sub("", "_".join([*parts, *(["LATE"] if user.late else []), number]))

    # --------------------------------------------------------------------------------------------------- the gradebook

    def gradebook(self, path: Path) -> Path:
        """Write the gradebook: `csv_data` in `lib/gradebook_exporter.rb`."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator="\n")
        people = ["LastName", "FirstName"] if self.split_names else ["Student"]
        head = [*people, "ID", "SIS User ID", "SIS Login ID", "Section", f"{self.title} (12)", "Other (13)"]
        writer.writerow([*head, "Current Score", "Final Score"])
        none = [""] * (len(people) - 1)
        if self.manual:
            writer.writerow(["", *none, "", "", "", "", "Manual Posting", "", "", ""])
        possible = ["    Points Possible", *none, "", "", "", "", self._number(self.points), self._number(5)]
        writer.writerow([*possible, "(read only)", "(read only)"])
        for user in self.users:
            names = [user.surname, user.given] if self.split_names else [user.sortable]
            score = "N/A" if self.anonymous else user.score
            writer.writerow([*names, user.number, user.sis, user.login, "A", score, self._number(3), "1", "1"])
        test = ["Student", "Test"] if self.split_names else ["Student, Test"]
        writer.writerow([*test, 999, "", "5f" * 20, "A", "", "", "", ""])
        path.write_bytes(text.getvalue().encode("utf-8-sig" if self.bom else "utf-8"))
        return path

    def _number(self, value: float) -> str:
        return f"{value:.2f}".replace(".", "," if self.comma else ".")

    def import_gradebook(self, data: bytes) -> dict[str, list[str]]:
        """Take scores from a gradebook, and return what changed in other columns: nothing may.

        `GradebookImporter` in `lib/gradebook_importer.rb`: `csv_stream`, `process_student`, `process_submissions`.
        """
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=self.separator))
        at = next(at for at, head in enumerate(rows[0]) if re.fullmatch(r".*\s\(12\)", head))
        id_column = 2 if rows[0][:2] == ["LastName", "FirstName"] else 1
        changed: dict[str, list[str]] = {}
        by_number = {str(user.number): user for user in self.users}
        for row in rows[1:]:
            user = by_number.get(row[id_column])
            if "Points Possible" in row[0] or user is None:
                continue
            if row[at] != "N/A":
                user.score = self._to_period(row[at].strip())
            if self._to_period(row[at + 1]) != "3.00":
                changed[row[id_column]] = row
        return changed

    @staticmethod
    def _to_period(text: str) -> str:
        """`decimal_comma_to_period`."""
        if not re.fullmatch(r"-?[0-9.,]+%?", text):
            return text
        *before, last = re.split(r"[,.]", text)
        return f"{''.join(before)}.{last}" if before else last

    # ---------------------------------------------------------------------------------------------------- the feedback

    def import_feedback(self, data: bytes) -> dict[int, dict[str, bytes]]:
        """Return the files that each user gets: a dict from number to a dict from display name to contents.

        `infer_comment_context_from_filename` and `generate_comments_from_files` in `app/models/assignment.rb`: the
        first two numbers between underscores are user and attachment; all members of a group get the comment.
        """
        found: dict[int, dict[str, bytes]] = {}
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for path in archive.namelist():
                numbers = [part for part in PurePosixPath(path).name.split("_") if part.isdecimal()][:2]
                if len(numbers) < 2:
                    continue
                number, attachment = map(int, numbers)
                user = next((each for each in self.users if each.number == number), None)
                if user is None or attachment not in user.files:
                    continue
                for each in self._members(user):
                    found.setdefault(each.number, {})[user.files[attachment][0]] = archive.read(path)
        return found

    def _members(self, user: User) -> Sequence[User]:
        if not (self.group and user.group):
            return [user]
        return [each for each in self.users if each.group == user.group]
