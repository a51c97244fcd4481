"""A course with scores by hand, in which students have handed in again."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

import support
from autograder.grading.course.graded_folder import GRADING_RECORD
from autograder.lessons.collection import COURSE
from support.course import Course, run_autograder
from support.once import once
from support.submissions import Submission, all_of, read

COUNT, EARLIER, AGAIN = 12, 8, 4  # submissions; those graded before the faults; those of them that come again, changed
PATIENCE = 400  # seconds for a grader on a busy machine
NAME = "00_first_gradient"


@dataclass(frozen=True)
class Place:
    """A course with something to grade, and the gradebook as an undisturbed run leaves it."""

    folder: Path
    students: list[str]
    expected: list[tuple[Any, ...]]

    def copy(self, target: Path) -> Place:
        shutil.copytree(self.folder, target, symlinks=True)
        return Place(target, self.students, self.expected)

    def autograded(self, student: str) -> Path:
        return self.folder / "autograded" / student / NAME

    def start(self, *more: str, inside: Sequence[str] = ()) -> subprocess.Popen[str]:
        command = [
            *inside,
            sys.executable,
            "-m",
            "autograder.cli",
            "grade",
            str(self.folder),
            "--json",
            "--jobs=2",
            *more,
        ]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, dict[str, dict[str, Any]], str]:
        """The exit status, the results by student, and what was said on stderr."""
        out, said = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in said, said
        results = json.loads(out)[NAME] if out else []
        return process.returncode, {result["student"]: result for result in results}, said

    def grade(self, *more: str) -> dict[str, dict[str, Any]]:
        """The results of an undisturbed run by student."""
        done = run_autograder("grade", self.folder, "--json", "--jobs=2", *more, timeout=PATIENCE)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0, (done.stderr, done.stdout)
        return {result["student"]: result for result in json.loads(done.stdout)[NAME]}

    def book(self) -> list[tuple[Any, ...]]:
        """Every score and comment: the machine's and the person's."""
        with contextlib.closing(sqlite3.connect(self.folder / "gradebook.db")) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            grades = """SELECT s.student_id, c.name, g.auto_score, g.manual_score, g.extra_credit,
                g.needs_manual_grade OR g.manual_score IS NOT NULL -- which waits for another look if graded again
                FROM grade g JOIN base_cell c ON c.id = g.cell_id JOIN submitted_notebook n ON n.id = g.notebook_id
                JOIN submitted_assignment s ON s.id = n.assignment_id"""
            comments = """SELECT s.student_id, c.name, m.auto_comment, m.manual_comment
                FROM comment m JOIN base_cell c ON c.id = m.cell_id JOIN submitted_notebook n ON n.id = m.notebook_id
                JOIN submitted_assignment s ON s.id = n.assignment_id"""
            rows = [*db.execute(grades), *db.execute(comments)]
        return sorted(rows, key=repr)

    def by_hand(self) -> list[tuple[Any, ...]]:
        """Return what a person gave: in every state of the gradebook the same."""
        marks = [(row[0], row[1], *(row[3:5] if len(row) == 6 else row[3:])) for row in self.book()]
        return [row for row in marks if any(row[2:])]

    def check_whole(self) -> None:
        """Every folder that is there is whole, killed or not."""
        for student in self.students:
            if self.autograded(student).exists():
                read(self.autograded(student) / f"{NAME}.ipynb")

    def check_right(self) -> None:
        """Check that everything is graded once, and right, after a rerun."""
        assert self.book() == self.expected
        assert {each.name for each in (self.folder / "autograded").iterdir()} == set(self.students)
        for student in self.students:
            assert [each.name for each in self.autograded(student).parent.iterdir()] == [NAME]
            assert sorted(each.name for each in self.autograded(student).iterdir()) == [GRADING_RECORD, f"{NAME}.ipynb"]
            checked = read(self.autograded(student) / f"{NAME}.ipynb")
            code = [cell for cell in checked.cells if cell.cell_type == "code"]
            assert all(cell.execution_count or cell.outputs for cell in code)  # what nothing needs says so
        drafts = [each.name for each in (self.folder / ".autograder").iterdir()]
        assert sorted(drafts) == [f"{NAME}.json", f"{NAME}.lock", "rules.json"]


def make_place() -> Place:
    """Make the course once for all workers. No test may change it."""
    (lesson,) = COURSE.read(["first_gradient"])
    quick = [each for each in all_of(lesson) if each.student.startswith(("solved", "blank", "mistakes"))][:COUNT]
    first = Place(support.made_courses / "regrading" / "calculus", [each.student for each in quick], [])
    undisturbed = Place(first.folder.with_name("undisturbed"), first.students, [])

    def make() -> None:
        course = Course.make(first.folder, lesson)
        for submission in quick[:EARLIER]:
            hand_in(course, submission)
        first.grade()
        grade_by_hand(course, [each.student for each in quick[:EARLIER:2]])
        for submission in quick[:AGAIN]:
            hand_in(course, submission, "# another version")
        for submission in quick[EARLIER:]:
            hand_in(course, submission)
        first.copy(undisturbed.folder).grade("--force")

    once(first.folder.parent, make)
    return Place(first.folder, first.students, undisturbed.book())


def hand_in(course: Course, submission: Submission, first: str = "") -> None:
    notebook = submission.notebook(read(course.released("en")))
    notebook.cells.insert(0, nbformat.v4.new_code_cell(first or "# the first version"))
    course.hand_in(submission.student, notebook)


def grade_by_hand(course: Course, students: list[str]) -> None:
    """As formgrader does."""
    with course.gradebook() as book:
        for number, student in enumerate(students):
            notebook = book.find_submission_notebook(NAME, NAME, student)
            for grade_, points in zip(notebook.grades, (1.5, 0.5)):
                grade_.manual_score, grade_.extra_credit = points, number / 4
            for comment in notebook.comments:
                comment.manual_comment = f"seen by a person: {number}"
