"""What grading left of an assignment, read for the report: scores from the gradebook, verdicts from the notebooks.

Nothing of a submission is run, imported or believed: of a notebook only the verdicts on the lesson's own exercises
count, and what is quoted of an answer is text.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.api import BaseCell, Grade, Gradebook, MissingEntry, SubmittedAssignment, SubmittedNotebook
from sqlalchemy.exc import SQLAlchemyError

from ..authoring.build import COURSE, private
from ..authoring.source import Broken, Lesson
from ..exercise import Exercise
from ..exercises import Unknown
from ..language import Text
from ..verdict import MIME, STATES, Verdict
from .sanitize import Unreadable, read
from .settings import CourseSettings

NO_VERDICT = "no verdict"  # beside the states of a verdict: the check is gone or never came to one
FLAGS = ("tampered", "fault", "deleted")  # reasons to look at a submission that grading itself found
_NOT_GRADED = Text("handed in, but not graded yet", "работа сдана, но ещё не проверена")
_NOT_IN_BOOK = Text(
    "autograded, but the gradebook has no scores: grade it again",
    "проверена, но в журнале нет оценок: запустите проверку ещё раз",
)


@dataclass
class Wrong:
    """Wrong answers that are alike: the same recognised mistake (its name), or (None) the same behaviour."""

    exercise: Exercise
    mistake: str | None
    verdict: Verdict
    observed: bool  # did the answer run?
    students: list[str] = field(default_factory=list)
    code: str = ""  # the shortest of these answers

    def add(self, student: str, code: str) -> None:
        self.students.append(student)
        if code.strip() and (not self.code or len(code) < len(self.code)):
            self.code = code


@dataclass
class Answered:
    """One exercise: how many submissions have each state of `STATES` or `NO_VERDICT`, and the wrong answers."""

    exercise: Exercise
    states: Counter[str] = field(default_factory=Counter)
    alike: dict[str, Wrong] = field(default_factory=dict)

    @property
    def answers(self) -> int:
        return self.states["passed"] + self.states["not yet"]

    def wrong(self, *, recognised: bool) -> list[Wrong]:
        """The recognised mistakes, or the other wrong answers, the most frequent first."""
        found = [each for each in self.alike.values() if (each.mistake is not None) == recognised]
        return sorted(found, key=lambda each: -len(each.students))


@dataclass(frozen=True)
class Waiting:
    """Why a person has to look: a word of `FLAGS`, "again" (graded by hand before it was graded anew) or "read"."""

    reason: str
    cell: str
    detail: str = ""


@dataclass
class Graded:
    """One assignment: scores by student, its exercises in order, who waits for what, and what could not be read."""

    assignment: str
    maximum: float
    lessons: list[Lesson] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)
    exercises: dict[str, Answered] = field(default_factory=dict)
    waiting: dict[Waiting, list[str]] = field(default_factory=lambda: defaultdict(list))
    unread: dict[str, Text] = field(default_factory=dict)

    def misunderstood(self) -> list[Wrong]:
        """The wrong answers to graded exercises that more than one student gave, the most frequent first."""
        alike = [each for answered in self.exercises.values() for each in answered.alike.values()]
        shared = [each for each in alike if each.exercise.core and each.observed and len(each.students) > 1]
        return sorted(shared, key=lambda each: (-len(each.students), each.mistake is None))


def graded_assignments(course: CourseSettings) -> list[str]:
    """The assignments of which there is something graded."""
    above = course.autograded("x", "STUDENT").parents[1]
    return sorted({folder.name for student in _folders(above) for folder in _folders(student)})


def collect(course: CourseSettings, assignment: str) -> Graded:
    """Read what there is of an assignment. Raises Broken, with the remedy, when nothing of it has been graded."""
    above = course.autograded(assignment, "STUDENT").parents[1]
    folders = {each.name: each / assignment for each in _folders(above) if (each / assignment).is_dir()}
    if not folders:
        raise Broken(
            f"nothing of {assignment} has been graded in {course.root}: run `autograder grade {course.root} "
            f"{assignment}` first (graded are: {', '.join(graded_assignments(course)) or 'none'})"
        )
    graded, names, scores, waiting = _from_gradebook(course, assignment)
    for name in names:
        lesson = _lesson(course.root, name)
        if lesson:
            graded.lessons.append(lesson[0])
            ordered = {n: lesson[1][n] for n, _ in lesson[0].with_role("check")}
            graded.exercises |= {n: Answered(exercise) for n, exercise in ordered.items()}
    for student, folder in folders.items():
        if student not in scores:
            graded.unread[student] = _NOT_IN_BOOK
            continue
        try:
            cells = {grade_id: cell for name in names for grade_id, cell in _cells(folder / f"{name}.ipynb")}
        except Unreadable as error:
            graded.unread[student] = Text(str(error), str(error))
            continue
        graded.scores[student] = scores[student]
        _add(graded, student, cells, waiting[student])
    for folder in course.submissions(assignment):
        if folder.parent.name not in folders:
            graded.unread[folder.parent.name] = _why_not(folder, names)
    return graded


def _folders(above: Path) -> list[Path]:
    found = sorted(above.iterdir()) if above.is_dir() else []
    return [folder for folder in found if folder.is_dir() and not folder.name.startswith(".")]


def _from_gradebook(
    course: CourseSettings, assignment: str
) -> tuple[Graded, list[str], dict[str, float], dict[str, dict[str, bool]]]:
    """An empty record, the names of the notebooks, scores by student (less what being late cost, as nbgrader's export
    has them), and by student the cells that wait for a person: has one graded the cell before?"""
    try:
        with Gradebook(course.db_url, course.course_id) as book:
            wanted = book.find_assignment(assignment)
            scores = {
                student: max(0.0, score - (late or 0.0))
                for student, score, late in book.db.query(
                    SubmittedAssignment.student_id,
                    SubmittedAssignment.score,
                    SubmittedAssignment.late_submission_penalty,
                ).filter(SubmittedAssignment.assignment_id == wanted.id)
            }
            waiting: dict[str, dict[str, bool]] = defaultdict(dict)
            for student, cell, manual in (
                book.db.query(SubmittedAssignment.student_id, BaseCell.name, Grade.manual_score)
                .select_from(Grade)
                .join(BaseCell, Grade.cell_id == BaseCell.id)
                .join(SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id)
                .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
                .filter(SubmittedAssignment.assignment_id == wanted.id, Grade.needs_manual_grade)
            ):
                waiting[student][cell] = manual is not None
            names = sorted(notebook.name for notebook in wanted.notebooks)
            return Graded(assignment, float(wanted.max_score)), names, scores, waiting
    except MissingEntry as missing:
        raise Broken(f"the gradebook of {course.root} has no assignment {assignment}") from missing
    except SQLAlchemyError as error:
        raise Broken(f"{course.db_url} cannot be read: {error}") from error


def _lesson(root: Path, name: str) -> tuple[Lesson, dict[str, Exercise]] | None:
    """The lesson that a notebook is made from; None for a notebook of another origin."""
    for collection in [COURSE, private(root)] if (root / "lessons").is_dir() else [COURSE]:
        try:
            (lesson,) = collection.read([name])
        except Unknown:
            continue
        if lesson.file_name == name:
            return lesson, collection.exercises(lesson)
    return None


def _cells(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The cells with a grade id. Raises Unreadable."""
    for cell in read(path)["cells"]:
        match cell:
            case {"metadata": {"nbgrader": {"grade_id": str(grade_id)}}}:
                yield grade_id, cell


def _add(graded: Graded, student: str, cells: dict[str, dict[str, Any]], waiting: dict[str, bool]) -> None:
    """Add what one submission shows."""
    faults: dict[str, Waiting] = {}
    for name, answered in graded.exercises.items():
        verdict, observed = _verdict(cells.get(f"check-{name}", {}), name)
        answered.states[verdict.state if verdict else NO_VERDICT] += 1
        if verdict and verdict.state == "not yet":
            key = f"mistake {verdict.mistake}" if verdict.mistake else f"observed {observed or verdict.finding}"
            alike = answered.alike.setdefault(
                key, Wrong(answered.exercise, verdict.mistake, verdict, observed is not None)
            )
            alike.add(student, _source(cells.get(f"answer-{name}", {})))
        if verdict and verdict.state == "our error":
            faults[f"check-{name}"] = _fault(f"check-{name}", verdict)
            if not answered.exercise.core:  # the gradebook does not know it
                graded.waiting[faults[f"check-{name}"]].append(student)
    for cell, again in waiting.items():
        reason = "again" if again else "read" if cell in cells else "deleted"
        graded.waiting[faults.get(cell) or Waiting(reason, cell)].append(student)


def _verdict(cell: dict[str, Any], exercise: str) -> tuple[Verdict | None, str | None]:
    """The verdict that a check came to, and the hash of what was observed, if anything was."""
    found: list[tuple[Any, Any]] = []
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        match output:
            case {"output_type": "execute_result", "data": {**data}, "metadata": {**metadata}} if MIME in data:
                found.append((data[MIME], metadata.get("observed")))
    if len(found) != 1:
        return None, None
    ((record, observed),) = found
    try:
        verdict = Verdict.from_json(record)
    except (LookupError, TypeError, AttributeError):  # written by another version, or by nobody of ours
        return None, None
    named = verdict.mistake is None or isinstance(verdict.mistake, str)
    whole = verdict.exercise == exercise and verdict.state in STATES and named
    return (verdict, observed if isinstance(observed, str) else None) if whole else (None, None)


def _fault(cell: str, verdict: Verdict) -> Waiting:
    """What is wrong with a check that failed: of whose making, and the little that is known."""
    (note, *_) = verdict.finding.got if verdict.finding and verdict.finding.got else [None]
    if note is None:
        return Waiting("fault", cell)
    reason = "tampered" if note.id == "fault.tampered" else "fault"
    said = note.parameters if isinstance(note.parameters, dict) else {}
    return Waiting(reason, cell, str(said.get("what" if reason == "tampered" else "error", ""))[:200])


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _why_not(folder: Path, names: list[str]) -> Text:
    """Why a submission has no graded notebook."""
    try:
        for name in names:
            read(folder / f"{name}.ipynb")
    except Unreadable as error:
        return Text(str(error), str(error))
    return _NOT_GRADED
