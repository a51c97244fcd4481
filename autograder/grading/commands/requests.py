"""The command `autograder requests`: open requests with cards, and answers to them."""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry

from ...cards.shown_verdict import ShownVerdict
from ...checking.verdict import VerdictState
from ...errors import UserError
from ...grade_ids import CellKind, GradeId
from ...language import quantity, with_offset
from ..batch.asking_again import describe_requests, put_back
from ..class_counts.counts import verdict_in
from ..course.course import Course, open_course
from ..files.inert_names import one_line
from ..files.locks import locked
from ..files.notebook_file import Unreadable, read_notebook
from ..requests.found import find_requests, time_of
from ..requests.store import Request
from ..terminal import printable


def list_requests(root: Path, assignment: str | None) -> int:
    """Print the open requests of one assignment, or of all, with cards.

    The cards are those of the exercises that a request is about. Returns the exit status 0.
    """
    course = open_course(root)
    zone, roster = course.stated.zone, course.roster
    names = {student.id: str(student) for student in roster.students}
    for name in [assignment] if assignment else course.assignments():
        store = course.requests(name)
        with contextlib.suppress(UserError):  # a grader is at work, and does the same
            put_back(course, name, [folder.parent.name for folder in course.submissions(name)])
        for folder in course.submissions(name):  # also what `nbgrader autograde` has graded
            store.add(folder.parent.name, find_requests(folder), time_of(folder))
        waiting = store.open()
        many = quantity(len(waiting), "open request") if waiting else "no open requests"
        print(f"{name}: {many}, {len(store.all()) - len(waiting)} answered")
        for one in waiting:
            when = with_offset(datetime.fromisoformat(one.submitted or one.came).astimezone(zone))
            came = f"  {names.get(one.student, one.student)}, {'handed in' if one.submitted else 'found'} {when}:"
            print(printable("\n".join([came, *_describe(course, name, one)])))
        for student, said in describe_requests(course, name):
            print(printable(f"  {one_line(student)}: {said}"))
        if waiting:
            print(f"answer with: autograder requests {root} {name} --student NAME --answer TEXT")
    return 0


def answer_request(root: Path, assignment: str, student: str, answer: str) -> int:
    """Answer a student's open requests with a comment on the feedback page. Returns the exit status 0.

    The comment stands at the exercise that the request names. If it names none, the comment stands at the first
    exercise. Existing comments stay.
    Raises UserError if there is no open request, or no grade.
    """
    course = open_course(root)
    store = course.requests(assignment)
    waiting = [one for one in store.open() if one.student == student]
    if not waiting:
        others = ", ".join(sorted({one.student for one in store.open()})) or "nobody"
        raise UserError(f"{student} has no open request about {assignment}; waiting: {others}")
    with locked(course.root, assignment), course.gradebook() as gradebook:
        try:
            notebooks = gradebook.find_submission(assignment, student).notebooks
        except MissingEntry as missing:
            raise UserError(f"{assignment} of {student} has no grade yet: grade it before you answer") from missing
        comments = [comment for notebook in notebooks for comment in notebook.comments]
        names = [name for name, _ in _checks(course, assignment, student)]
        wanted = [GradeId.of(CellKind.ANSWER, name) for one in waiting for name in _named(one, names)]
        chosen = next((each for each in comments if each.name in wanted), comments[0] if comments else None)
        if chosen is None:
            raise UserError(f"{assignment} has no cell that takes a comment: answer {student} by mail")
        chosen.manual_comment = "\n\n".join(filter(None, [chosen.manual_comment, answer]))
        place = str(chosen.name)
        gradebook.db.commit()
    count = store.answer(student, answer)
    print(printable(f"{quantity(count, 'request')} of {student} answered, at {place}"))
    print(f"next: autograder feedback {root} {assignment} --release")
    return 0


def _describe(course: Course, assignment: str, one: Request) -> Iterator[str]:
    """Yield lines on a request: its text, and the cards of the exercises that it names.

    If it names none, the cards of all that count and did not pass are shown.
    """
    yield textwrap.indent(one.text, "    > ", lambda line: True)
    checks = list(_checks(course, assignment, one.student))
    named = _named(one, [name for name, _ in checks])
    for name, cell in checks:
        verdict, _ = verdict_in(cell, name)
        counts = cell["metadata"]["nbgrader"].get("grade")
        if verdict and (name in named or (not named and counts and verdict.state != VerdictState.PASSED)):
            yield textwrap.indent(ShownVerdict.of(verdict).text(course.language), "    ")


def _named(one: Request, names: Sequence[str]) -> list[str]:
    """Return the exercises that the text of a request mentions. `names` are all exercises of the assignment."""
    words = set(re.findall(r"\w+", one.text))
    return [name for name in names if name in words]


def _checks(course: Course, assignment: str, student: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield pairs of exercise name and check, as JSON, from a student's graded notebooks."""
    for path in sorted(course.autograded(assignment, student).glob("*.ipynb")):
        try:
            cells = read_notebook(path)["cells"]
        except Unreadable:
            continue
        for cell in cells:
            named = GradeId(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))
            if named.kind is CellKind.CHECK:
                yield named.exercise, cell
