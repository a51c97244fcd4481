"""The command `autograder release`: what students get, in both languages."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from ...errors import UserError
from ...language import quantity
from ..course.course import Course, open_course
from ..creating.student_notebooks import is_stale, make_release, put_into_exchange, settings_in
from ..files.locks import locked
from ..rules.course_file import PER_STUDENT
from ..terminal import printable


def release(root: Path, assignments: Sequence[str], languages: Sequence[str], *, exchange: bool) -> int:
    """Make the releases of assignments that are missing or older than their source, in each of `languages`.

    Without `assignments` it takes all in `source/`. Those that are named are made in any case. If `exchange` is True,
    the releases are put into nbgrader's exchange. Prints the outcome and returns the exit status: 1 if one failed.
    Raises UserError if there is no such assignment.
    """
    course = open_course(root)
    there = sorted(path.parent.name for path in course.source("X").parent.glob("*/*.ipynb"))
    for name in assignments:
        if name not in there:
            raise UserError(f"source/ has no {name}: there are {', '.join(dict.fromkeys(there)) or 'no notebooks'}")
    chosen, failed = list(dict.fromkeys(assignments or there)), False
    for name in chosen:
        try:
            said = [_release(course, name, language, bool(assignments), exchange) for language in languages]
        except UserError as error:
            print(printable(f"autograder: {error}"), file=sys.stderr)
            failed = True
        else:
            print(printable(f"{name}: {', '.join(said)}"))
    own = [name for name in chosen if course.rules.rules.of(name).variants == PER_STUDENT]
    where = shlex.quote(os.path.relpath(course.root))
    for name in own:
        print(printable(f"tables of their own: give out what `autograder handout {where} {name}` makes"))
    print(f"{quantity(len(chosen), 'assignment')}; `autograder course {where} --check` tells when they are due")
    return int(failed)


def _release(course: Course, assignment: str, language: str, always: bool, exchange: bool) -> str:
    """Make one release if necessary, and return the outcome in words. Raises UserError if nbgrader refuses."""
    settings = settings_in(course.root, language)
    place = os.path.relpath(settings.release(assignment), course.root)
    made = always or is_stale(settings, assignment)
    if made:
        with locked(course.root, assignment):
            make_release(settings, assignment, saves=language == course.rules.rules.language)
    if exchange:
        put_into_exchange(settings, assignment)
    return f"{place} {'made' if made else 'up to date'}{', in the exchange' if exchange else ''}"
