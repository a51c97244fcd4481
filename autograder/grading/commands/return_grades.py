"""The command `autograder return`: grades and feedback for an LMS."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import UserError
from ...language import quantity
from ...messages.reasons import SEVERAL, describe_reason
from ..batch.end_of_run import GONE
from ..batch.rule_changes import stale_grades
from ..collecting.unplaced import doubt_of_unplaced
from ..course.course import Course, open_course
from ..files.atomic import describe_error, remove_leftovers, swap_in, temporary_sibling
from ..files.inert_names import one_line
from ..lms.interface.grade_table import Column, GradeTable
from ..lms.interface.origin import Sender
from ..lms.kept_tables import kept_tables
from ..lms.systems import SYSTEMS, read_grade_table
from ..returning.feedback_archives import write_feedback
from ..returning.filled_tables import FilledTables, fill_tables
from ..returning.grades import Grades, counted_in_total, grades_of, write_grades, write_total
from ..returning.pending import settle
from ..tables.supplied_times import late_without_time
from ..terminal import printable
from .feedback import make_feedback


def return_course(root: Path, assignment: str | None, *, tables: Sequence[Path], overwrite: bool) -> int:
    """Write files with grades and feedback that an LMS can import.

    They are for one assignment, or for all graded ones. Without an assignment the total of the course is written, too.
    `tables` are tables of grades as the LMS exports them. Without one of Moodle's, the collected worksheet is used.
    What a person has written into them stays, unless `overwrite` is True. Returns the exit status: 1 if somebody who
    handed in gets nothing.
    Raises UserError with the remedy if nothing can be returned.
    """
    course = open_course(root)
    chosen = _in_gradebook(course, [assignment] if assignment else course.graded_assignments())
    given = list(map(read_grade_table, tables))
    for table in given:
        if table.of_one_assignment and not assignment:
            raise UserError(f"{table.path} belongs to one assignment: name it, `autograder return DIR ASSIGNMENT`")
    settle(course, course.graded_assignments())
    make_feedback(course, assignment, release=False)
    failed = [_return_or_say(course, name, tables, overwrite, alone=bool(assignment)) for name in chosen]
    if not assignment:
        path = course.root / "returned" / "total.csv"
        grades = {name: grades_of(course, name) for name in chosen}
        counted = counted_in_total(course, grades)
        write_total(path, course, grades, counted)
        print(f"total of the course: {path}")
        for name in sorted(grades.keys() - set(counted)):
            print(printable(f"  {name} is not in it yet: {_why_not_yet(course, name, grades[name])}"))
    return int(any(failed))


def _in_gradebook(course: Course, assignments: Sequence[str]) -> list[str]:
    """Return those of `assignments` that the gradebook has, and print the others: an instructor has removed them.

    Raises UserError if there are only others.
    """
    with course.book() as book:
        there = [name for name in assignments if book.has(name)]
    gone = [name for name in assignments if name not in there]
    if gone and not there:
        raise UserError(f"{', '.join(gone)} is not in the gradebook: grade it first, nothing was returned")
    for name in gone:
        print(
            f"{name} is not in the gradebook any more, so it is left out: grade it again, or remove its folders in "
            "submitted/, autograded/ and feedback/"
        )
    return there


def _return_or_say(course: Course, name: str, tables: Sequence[Path], overwrite: bool, *, alone: bool) -> bool:
    """Return one assignment, and whether somebody gets nothing. Print why it cannot be, if it is not `alone`.

    Raises UserError if it is alone.
    """
    try:
        return _return_assignment(course, name, tables, overwrite)
    except UserError as error:
        if alone:
            raise
        print(printable(f"autograder: {name} was not returned: {error}"), file=sys.stderr)
        return True


def _return_assignment(course: Course, assignment: str, tables: Sequence[Path], overwrite: bool) -> bool:
    """Write the files for an LMS into the folder `returned/ASSIGNMENT` of the course, and print the outcome.

    Returns whether somebody gets nothing.
    """
    found = grades_of(course, assignment)
    place = course.root / "returned" / assignment
    remove_leftovers(place)
    try:
        with temporary_sibling(place) as folder:
            filled = fill_tables(course, assignment, _tables(course, assignment, tables), found, overwrite)
            for name, table in filled.files.items():
                (folder / name).write_bytes(table.to_bytes())
            nothing = found.nothing | filled.nothing
            pageless, apart = write_feedback(folder, course, assignment, found.by_student, filled.lines)
            nothing |= pageless
            write_grades(folder / "grades.csv", found)
            written = sorted(path.name for path in folder.iterdir())
            if place.exists():
                swap_in(place, folder)
            else:
                folder.rename(place)
    except OSError as error:
        raise UserError(f"{describe_error(error, place)}: what was written before stays") from error
    lines = [f"{assignment}: {quantity(len(found.by_student), 'grade')} in {place}: {', '.join(written)}"]
    if idle := [*found.idle, *(each for table in filled.files.values() for each in table.idle())]:
        lines.append(f"  no submission{doubt_of_unplaced(course.root)}: {', '.join(idle)}")
    lines += [f"  {line}" for line in found.teams]
    if found.gone:
        lines.append(f"  {GONE}, so not returned: {', '.join(found.gone)}")
    lines += [f"  {line}" for line in stale_grades(course, assignment)]
    if found.dropped:
        lines.append(f"  dropped in students.csv, so not returned: {', '.join(found.dropped)}")
    lines += [f"  {who}: {why}" for who, why in sorted(nothing.items())]
    lines += [f"  {who}: {why}" for who, why in _choices(course, assignment)]
    lines += [f"  {who}: {why}" for who, why in _late_without_time(course, assignment, found)]
    for who, cells in sorted(filled.kept.items()):
        lines.append(f"  {who}: {one_line('; '.join(map(str, cells)))} (--overwrite replaces it)")
    lines += [f"  {who}: {why}: the page is in feedback/" for who, why in sorted(apart.items())]
    lines += [f"  {line}" for line in _advice(filled, written, found)]
    print(printable("\n".join(lines)))
    return bool(nothing or any(cell.column is Column.GRADE for cells in filled.kept.values() for cell in cells))


def _why_not_yet(course: Course, assignment: str, grades: Grades) -> str:
    """Return why an assignment does not count for the total yet."""
    rules = course.rules.rules
    if due := rules.of(assignment).due:
        return f"it is due {due.astimezone(rules.zone):%Y-%m-%d %H:%M}"
    senders = ", ".join(sorted(grades.by_student.keys() | grades.nothing.keys()))
    return (
        f"{senders} alone handed it in (a due date in course.toml makes it count, `autograder withdraw` takes it out)"
    )


def _choices(course: Course, assignment: str) -> Iterator[tuple[str, str]]:
    """Yield each student who handed in several notebooks, and a sentence on which of them was graded."""
    for student, remarks in sorted(course.remarks(assignment).read_all().items()):
        for reason in remarks.everything:
            if reason.id == SEVERAL:
                yield student, describe_reason(reason).en


def _late_without_time(course: Course, assignment: str, grades: Grades) -> Iterator[tuple[str, str]]:
    """Yield each student with a late penalty by a time that the LMS does not tell, and a sentence with the remedy."""
    store = course.attempts(assignment)
    for student, grade in sorted(grades.by_student.items()):
        if grade.penalty and (attempt := store.submitted(student)) and attempt.assumed:
            yield student, late_without_time(Sender.of(attempt.lms).form, student, assignment)


def _tables(course: Course, assignment: str, given: Sequence[Path]) -> list[GradeTable]:
    """Return the tables to fill in: the given ones, and of each LMS of which none is given the kept ones."""
    tables = list(map(read_grade_table, given))
    titles = {table.title for table in tables}
    kept = map(read_grade_table, kept_tables(course.root, assignment))
    return [*tables, *(table for table in kept if table.title not in titles)]


def _advice(filled: FilledTables, written: Sequence[str], grades: Grades) -> list[str]:
    """Return what to mind when the files `written` are imported, once for each LMS that takes part."""
    senders = {grade.sender.form for grade in grades.by_student.values()}
    said = []
    for lms in SYSTEMS:
        tables = {name: table for name, table in filled.files.items() if table.title == lms.title}
        if tables or lms.title in senders:
            said += lms.advice(tables, written, filled.again)
    return [f"{line[0].upper()}{line[1:]}." for line in said]
