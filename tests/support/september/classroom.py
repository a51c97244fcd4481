"""A course folder with four released assignments, for the class of September."""

from __future__ import annotations

import contextlib
import csv
import io
import random
from pathlib import Path

from nbformat.notebooknode import NotebookNode

from autograder.cli import main
from autograder.lessons.collection import COURSE, private
from autograder.lessons.notebooks import source_notebook, student_notebook
from support.course import Course
from support.september.archives import Archives
from support.september.lessons import ASSIGNMENTS, FIRST, FORMULAS, SLOPE, TOTAL, Copies, write_lesson
from support.september.model import rules
from support.september.people import Person
from support.september.schedule import HandedIn

_COLUMNS = ["id", "name", "email", "lms", "group", "extensions"]


class Classroom:
    """The course, the people in it and what they hand in."""

    def __init__(self, above: Path, people: list[Person], handed_in: list[HandedIn], first_step: int) -> None:
        self.course = Course.make(above / "september", languages=["en"])
        self.folder, self.people, self.handed_in = self.course.folder, people, handed_in
        self.write_rules(first_step)
        for assignment in FORMULAS:
            write_lesson(self.folder, assignment, mended=False)
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["build", "--accept", *FORMULAS, "--course", str(self.folder)]) == 0
        for assignment in (TOTAL, SLOPE):
            self.release(assignment)
        (above / "lms").mkdir()
        self.archives = Archives(above / "lms", people, handed_in, Copies(self._blank()))
        # Who is in Moodle comes with its worksheet.
        self.write_students([each for each in people if each.home != "Moodle"], extended=False)

    def release(self, assignment: str) -> None:
        self.course.nbgrader("generate_assignment", assignment)

    def _blank(self) -> dict[str, NotebookNode]:
        """Return what students get."""
        lessons = {lesson.file_name: lesson for lesson in [*COURSE.read([FIRST]), *private(self.folder).read()]}
        known = {FIRST: COURSE, **{name: private(self.folder) for name in FORMULAS}}
        return {
            name: student_notebook(source_notebook(lesson, known[name].exercises(lesson)), "en")
            for name, lesson in lessons.items()
        }

    def extend(self, chance: random.Random) -> None:
        """Give extensions to a tenth of the students."""
        for each in self.people:
            if chance.random() < 0.1:
                each.extensions[chance.choice((FIRST, TOTAL, SLOPE))] = chance.choice((1, 2, 7))
        self.write_students(self.people, extended=True)

    def write_rules(self, first_step: int) -> None:
        (self.folder / "course.toml").write_text(rules(first_step), encoding="utf-8")

    def write_students(self, people: list[Person], *, extended: bool) -> None:
        with (self.folder / "students.csv").open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows([_COLUMNS, *(each.row() if extended else each.row()[:-1] for each in people)])

    def students(self) -> list[str]:
        """The ids in `students.csv`."""
        with (self.folder / "students.csv").open(encoding="utf-8-sig", newline="") as file:
            return [row["id"] for row in csv.DictReader(file)]

    def collect(self, *sources: Path, worksheet: Path | None = None, add: bool = False, status: int = 0) -> str:
        """Run `autograder collect`. Returns what it said."""
        said = io.StringIO()
        more = [*(["--worksheet", str(worksheet)] if worksheet else []), *(["--add"] if add else [])]
        with contextlib.redirect_stdout(said):
            assert main(["collect", *map(str, sources), *more, "--course", str(self.folder)]) == status, said.getvalue()
        return said.getvalue()

    def run(self, *arguments: object, status: int = 0) -> None:
        """Run `autograder ...` in this process."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert main([*map(str, arguments)]) == status, said.getvalue()

    def submitted(self) -> dict[Path, bytes]:
        """Every file that is to be graded."""
        return {path: path.read_bytes() for path in (self.folder / "submitted").rglob("*") if path.is_file()}

    def gradebook(self) -> dict[str, dict[str, tuple[float, float]]]:
        """Scores and late penalties by assignment and student."""
        with self.course.gradebook() as book:
            return {
                name: {
                    each.student_id: (each.score, each.late_submission_penalty or 0.0)
                    for each in book.find_assignment(name).submissions
                }
                for name in ASSIGNMENTS
            }
