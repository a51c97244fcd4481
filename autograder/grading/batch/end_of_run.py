"""The texts that `autograder grade` prints at the end."""

from __future__ import annotations

import os
import shlex
import statistics
from collections import Counter
from datetime import timedelta

from ...language import decimal, quantity
from ..course.course import Course
from ..files.inert_names import one_line
from ..gradebook.standings import student_standings
from ..submission.pipeline import Result, State
from .asking_again import describe_requests
from .rule_changes import stale_grades

GONE = "graded before, but nothing of theirs lies in submitted/ any more"
_NAMED = 8  # students in one line


def results_table(name: str, results: list[Result]) -> str:
    """Return a text with the outcome of grading, for the terminal.

    The text lists each submission with reasons or notes. The last line has the number of submissions in each state.
    `name` is the assignment's.
    """
    lines = [name]
    for each in sorted(results, key=lambda result: result.student):
        if each.reasons or each.notes or each.places:
            flagged = ", flagged," if each.reasons and each.state in (State.UNCHANGED, State.UPDATED) else ""
            score = "" if each.score is None else f" {quantity(each.score, 'point')}"
            lines.append(f"  {one_line(each.student)}: {each.state}{flagged}{score}")
            lines += [f"      {one_line(reason)}" for reason in each.said]
            lines += [f"      to look at: {one_line(place)}" for place in each.seen]
            lines += [f"      note: {one_line(note)}" for note in each.notes]
    kinds = Counter(each.state for each in results)
    count = ", ".join(f"{kinds[state]} {state}" for state in State if kinds[state])
    return "\n".join([*lines, f"  {quantity(len(results), 'submission')}: {count or 'none'}"])


def summary(course: Course, name: str) -> list[str]:
    """Return lines of text on an assignment's grades: points, late students, pending manual grades.

    The list is empty if no student is in the gradebook. `name` is the assignment's.
    """
    with course.gradebook() as gradebook:
        found = student_standings(gradebook.db, name)
        maximum = float(gradebook.find_assignment(name).max_score)
    if not found:
        return []
    points = [max(0.0, each.score - each.penalty) for each in found.values()]
    after = ", after late penalties" if any(each.penalty for each in found.values()) else ""
    mean, least, most, of = (
        decimal(each, "en") for each in (statistics.mean(points), min(points), max(points), maximum)
    )
    lines = [f"points: {mean} on average, {least} to {most} of {of}{after}"]
    forgives = course.rules.forgives
    late = [one for one, each in found.items() if each.late and not forgives(one, name, timedelta(seconds=each.late))]
    if late:
        lines.append(f"late: {_some(sorted(late))}")
    waiting = sorted(student for student, each in found.items() if each.waiting)
    if waiting:
        lines.append(f"waiting for points from a person: {_some(waiting)}")
    there = {folder.parent.name for folder in course.submissions(name)}
    if gone := sorted(found.keys() - there):
        lines.append(f"{GONE}: {_some(gone)}")
    lines += stale_grades(course, name)
    asking = sorted({one.student for one in course.requests(name).open()})
    if asking:
        lines.append(f"asking for another look, see `autograder requests`: {_some(asking)}")
    lines += [f"{one_line(student)}: {said}" for student, said in describe_requests(course, name)]
    return [f"  {line}" for line in lines]


def _some(names: list[str]) -> str:
    """Return a text with the first few of `names`, and the number of the remaining names."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def next_commands(course: Course) -> str:
    """Return a text for the terminal with the commands that an instructor usually runs after grading."""
    where = shlex.quote(os.path.relpath(course.root))
    return (
        f"next: autograder report {where}    # what the class misunderstood\n"
        f"      jupyter lab            # in {where}: Formgrader, to give points by hand\n"
        f"      autograder feedback {where}  # pages that are missing or stale; --release hands them out\n"
        f"      autograder return {where}    # grades and pages, as files for an LMS"
    )
