"""The page on the whole course: assignments, and students who are stuck."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from datetime import UTC, tzinfo

from markupsafe import Markup

from ...language import Text
from ..class_counts.counts import Graded
from .themes import LESSONS, Stuck, by_student, stuck_students
from .view import ENVIRONMENT, View, named


class Overview(View):
    """The data and functions that the template of the course's page uses.

    `pages` maps file names to the data of the assignments' pages.
    """

    def __init__(self, pages: Mapping[str, Graded], language: str, zone: tzinfo = UTC) -> None:
        super().__init__(language, zone)
        self.pages = pages

    def html(self) -> str:
        return ENVIRONMENT.get_template("overview.html.j2").render(page=self, words=self.words)

    def mean(self, graded: Graded) -> str:
        return self.number(statistics.mean(graded.scores.values())) if graded.scores else "—"

    def stuck(self) -> Mapping[str, list[Stuck]]:
        return by_student(stuck_students(list(self.pages.values())))

    @property
    def nobody_stuck(self) -> str:
        """The sentence that nobody is stuck, or that there are too few lessons yet to tell."""
        lessons = {lesson.name for graded in self.pages.values() for lesson in graded.lessons}
        return self.words["nobody_stuck" if len(lessons) >= LESSONS else "stuck_later"]

    @property
    def has_unplaced(self) -> bool:
        """True if some files have no known student: they may be submissions that seem to be missing."""
        return any(graded.unplaced for graded in self.pages.values())

    def student(self, id: str) -> str:
        return named({key: name for graded in self.pages.values() for key, name in graded.names.items()}, id)

    def theme(self, stuck: Stuck) -> Markup:
        return self.inline(stuck.theme.heading or Text.same(stuck.theme))

    def page_of(self, assignment: str) -> str:
        """Return the file name of an assignment's page."""
        return next(name for name, graded in self.pages.items() if graded.assignment == assignment)
