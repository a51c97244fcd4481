"""The course's rules: as written now, and as last applied to grades.

They are written in `course.toml` and `students.csv`. Grades follow them only after `apply_rules`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nbgrader.api import Assignment, SubmittedAssignment

from ..files.atomic import replace_json
from ..tables.roster import STUDENTS_FILE, Roster
from .course_file import AFTER_DUE, RULES_FILE, Rules, parse_rules
from .late_credit import HandIn, credits, read_extensions

_RECORD = Path(".autograder", "rules.json")


@dataclass(frozen=True)
class CourseRules:
    """The rules of a course together with its students' extensions.

    `extensions` maps a student to a dict from assignment to additional time. `text` is the text of `course.toml`.
    `said` maps a student to the text in the column `extensions` of `students.csv`.
    """

    rules: Rules
    extensions: Mapping[str, Mapping[str, timedelta]]
    text: str = ""
    said: Mapping[str, str] = field(default_factory=dict)

    def extension(self, student: str, assignment: str) -> timedelta:
        """Return the additional time of a student for an assignment."""
        return self.extensions.get(student, {}).get(assignment, timedelta(0))

    def forgives(self, student: str, assignment: str, late: timedelta) -> bool:
        """Return whether work that came `late` after the due date came in the time of grace, so that it is in time."""
        one = self.rules.of(assignment)
        if one.due is None:
            return False
        due = one.due + self.extension(student, assignment)
        return due + late <= one.grace.after(due, self.rules.zone)

    def feedback_time(self, student: str, assignment: str) -> datetime | None:
        """Return the time from which a student may get feedback on an assignment, or None for at once."""
        one = self.rules.of(assignment)
        if one.due is None or one.feedback != AFTER_DUE:
            return None
        return one.grace.after(one.due + self.extension(student, assignment), self.rules.zone)


@dataclass(frozen=True)
class PenaltyChange:
    """One submission's late penalty before and after a change of rules.

    Both are in points.
    """

    assignment: str
    student: str
    before: float
    after: float


def written_rules(root: Path, roster: Roster) -> CourseRules:
    """Return the rules as `course.toml` in the folder `root` and `roster` state them now.

    Raises BadRule if a rule is wrong.
    """
    path = root / RULES_FILE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    said = {student.id: student.extensions for student in roster.students if student.extensions}
    return _parsed(text, said, str(path), str(root / STUDENTS_FILE))


def applied_rules(root: Path) -> CourseRules | None:
    """Return the rules that grades follow: those of the last `apply_rules`. Returns None if none were applied yet."""
    try:
        record = json.loads((root / _RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _parsed(record["text"], record["extensions"], RULES_FILE, STUDENTS_FILE)


def _parsed(text: str, said: Mapping[str, str], source: str, students: str) -> CourseRules:
    rules = parse_rules(text, source)
    extensions = {
        student: read_extensions(cell, rules, f"{students}, {student}") for student, cell in sorted(said.items())
    }
    return CourseRules(rules, extensions, text, said)


def apply_rules(root: Path, db: Any, applied: CourseRules | None, new: CourseRules) -> None:
    """Write due dates and extensions into the gradebook, and record the rules `new` as applied.

    `db` is the gradebook's session, `applied` are the rules so far. Where neither of the two states a due date or an
    extension, the gradebook's is left alone: an instructor has set it. Penalties are updated by the next run of
    `autograder grade`.
    """
    old = applied or CourseRules(Rules(), {})
    for assignment in db.query(Assignment):
        due, before = new.rules.of(assignment.name).due, old.rules.of(assignment.name).due
        if due or before:
            assignment.duedate = due.replace(tzinfo=None) if due else None
    for submission in db.query(SubmittedAssignment).join(Assignment):
        key = submission.student_id, submission.assignment.name
        if new.extension(*key) or old.extension(*key):
            submission.extension = new.extension(*key) or None
    db.commit()
    replace_json(root / _RECORD, {"text": new.text, "extensions": dict(new.said)})


def compare_rules(db: Any, old: CourseRules, new: CourseRules) -> Iterator[PenaltyChange]:
    """Yield each late penalty of a graded submission that differs between the rules `old` and `new`.

    `db` is the gradebook's session.
    """
    submissions = list(db.query(SubmittedAssignment).join(Assignment))
    before, after = _penalties(submissions, old), _penalties(submissions, new)
    for (assignment, student), points in sorted(after.items()):
        if abs(points - before[assignment, student]) > 1e-9:
            yield PenaltyChange(assignment, student, before[assignment, student], points)


def _penalties(submissions: list[SubmittedAssignment], one: CourseRules) -> dict[tuple[str, str], float]:
    """Return the points that the rules `one` take off for lateness: a dict from assignment and student to points."""
    came: dict[str, dict[str, HandIn]] = {}
    scores: dict[tuple[str, str], float] = {}
    for submission in submissions:
        name, student = submission.assignment.name, submission.student_id
        scores[name, student] = sum(float(notebook.score) for notebook in submission.notebooks)
        came.setdefault(student, {})[name] = hand_in(submission.timestamp, student, name, one)
    found = {}
    for student, times in came.items():
        for name, credit in credits(one.rules, times).items():
            found[name, student] = scores[name, student] * (1 - credit.percent / 100)
    return found


def hand_in(time: datetime | None, student: str, assignment: str, one: CourseRules) -> HandIn:
    """Return when a submission came and when it was due, with the student's extension.

    `time` is the time of submission, in UTC without a time zone, or None. `one` are the rules.
    """
    due = one.rules.of(assignment).due
    extended = due + one.extension(student, assignment) if due else None
    return HandIn(time.replace(tzinfo=UTC) if time else None, extended)
