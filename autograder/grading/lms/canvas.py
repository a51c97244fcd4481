"""Canvas: archive of submissions, gradebook, upload of graded submissions.

Source: `lib/content_zipper.rb` of Canvas for names in the archive, `Assignment#infer_comment_context_from_filename` in
`app/models/assignment.rb` for feedback.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from ..tables import names
from ..tables.csv_text import CsvText
from .canvas_gradebook import CanvasGradebook
from .interface.grade_table import GradeTable
from .interface.gradebook_column import describe_columns
from .interface.origin import Origin, Sender
from .interface.system import Lms

# A name keeps letters of all scripts, their marks, digits and underscores (`sanitize_file_name`).
_PATH = re.compile(
    r"(?:(?P<late_anonymous>LATE_)?anon_(?P<anonymous>[^_/]+)|(?P<name>[^/]*?)(?P<late>_LATE)?_(?P<number>\d+))"
    r"_(?:\d+_(?P<rest>[^/]+)|(?P<page>text|link)\.html)$"
)
_OTHER = re.compile(r"[\s.,;()+-]")  # `sanitize_file_name` removes it


class Canvas(Lms):
    """Instructure's Canvas."""

    title = "Canvas"
    keeps_times = False  # modification times are those of the download
    feedback_archive = "canvas_feedback.zip"
    returns_notebooks = True
    table_form = "the gradebook, with the columns ID and Section"
    lacks_in_paths = (
        "Canvas' archive alone tells neither proper names nor who handed in nothing: correct students.csv, or begin "
        "with --gradebook"
    )

    def origin(self, path: str) -> Origin | None:
        found = _PATH.match(path)
        if not found or _OTHER.search(found["name"] or ""):
            return None
        rest = found["rest"] or f"{found['page']}.html"
        if found["anonymous"]:
            number, late = found["anonymous"], bool(found["late_anonymous"])
            return Origin("", (number,), number, rest, late=late, hidden=True)
        return Origin(found["name"], (found["number"],), found["number"], rest, late=bool(found["late"]))

    def other_origins(self, path: str) -> list[Origin]:
        """Return readings with a longer name: "agent_7" is user 4711 in `agent_7_4711_880011_x.ipynb`, not 7."""
        first = self.origin(path)
        if first is None or first.hidden:
            return []
        found = []
        for numbers in re.finditer(r"_(?P<number>\d+)(?=_\d+_(?P<rest>.+))", path):
            before, number = path[: numbers.start()], numbers["number"]
            name = before.removesuffix("_LATE")
            if len(name) > len(first.name) and "_LATE_" not in before:  # a name is in lower case
                late = before != name
                found.append(
                    replace(first, name=name, numbers=(number,), attempt=number, rest=numbers["rest"], late=late)
                )
        return found

    def name_in_path(self, text: str) -> str:
        """Return letters and digits alone: Canvas writes "R & D" as "rd"."""
        return "".join(names.parts(text))

    def table(self, text: CsvText, heads: Sequence[str], path: Path) -> GradeTable | None:
        return CanvasGradebook(text, path) if {"ID", "Section"} <= set(heads) else None

    def advice(self, tables: Mapping[str, GradeTable], written: Collection[str], again: bool) -> list[str]:
        if tables or self.feedback_archive not in written:
            return describe_columns(tables)
        return ["Canvas' gradebook was not filled in: export it, and give it to `autograder return` as --gradebook CSV"]

    def file_number(self, sender: Sender) -> str:
        _, found, after = PurePosixPath(sender.path).name.partition(f"_{sender.number}_")
        return after.partition("_")[0] if found else ""

    def feedback_path(self, sender: Sender, page: str) -> str:
        """Return the name of the submitted file: Canvas finds user and attachment by the first two numbers in it.

        A name with a number of its own, such as `agent_7_4711_880011_x.ipynb`, is left out.
        """
        path = PurePosixPath(sender.path).name
        before, found, after = path.partition(f"_{sender.number}_")
        return f"{sender.number}_{after}" if found and any(map(str.isdecimal, before.split("_"))) else path
