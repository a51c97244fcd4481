"""The command `autograder collect`: files of an LMS become submissions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import UserError
from ...language import quantity
from ..collecting.archive import unpack
from ..collecting.collected_work import Account, CollectedWork
from ..course.course import Course, open_course
from ..files.atomic import describe_error
from ..files.inert_names import one_line
from ..files.locks import scratch_folder
from ..lms.systems import read_grade_table
from ..tables.roster import STUDENTS_FILE
from ..terminal import printable


def collect(root: Path, sources: Sequence[Path], *, tables: Sequence[Path], add: bool) -> int:
    """Take submissions out of archives and folders, and print a line for each student.

    `tables` are tables of grades that the LMS exports, such as Moodle's grading worksheet. Unknown people are added to
    `students.csv` if `add` is True or there is no such file yet. Returns the exit status: 1 if an archive was not
    collected, the student or assignment of a file is unknown, or a time cannot be read.
    Raises UserError with the remedy if nothing can be collected.
    """
    course = open_course(root)
    run = CollectedWork(course, list(map(read_grade_table, tables)), add or not (course.root / STUDENTS_FILE).exists())
    failed = False
    try:
        with scratch_folder(course.root) as scratch:
            for number, source in enumerate(sources):
                (folder := scratch / str(number)).mkdir()
                try:
                    account = run.take(source, unpack(source, folder))
                except UserError as error:
                    print(printable(f"{source.name}: not collected: {error}"))
                    failed = True
                    continue
                failed |= bool(account.unplaced or account.doubts)
                print(printable("\n".join(_report(account, course))))
    except BrokenPipeError:
        raise  # nobody reads what is printed: no fault of the disk
    except OSError as error:
        raise UserError(
            f"{describe_error(error, course.root)}: what was collected stays; mend it and run the same command again"
        ) from error
    run.report_tables()
    run.report_idle()
    return int(failed)


def _report(account: Account, course: Course) -> Iterator[str]:
    """Yield lines for the terminal on the outcome of one archive."""
    names = {student.id: str(student) for student in course.roster.students}
    yield account.title
    for student in sorted(account.lines):
        for line in account.lines[student]:
            yield f"  {one_line(names.get(student, student))}: {one_line(line)}"
    for file in account.unplaced:
        yield f"  no place: {one_line(file.path)}: {one_line(file.reason)}"
    yield from (f"  {remark}" for remark in account.remarks)
    counts = ", ".join(f"{count} {said}" for said, count in sorted(account.counts.items()))
    yield f"  {quantity(sum(account.counts.values()), 'submission')}: {counts or 'none'}"
    if account.unplaced:
        many, where = quantity(len(account.unplaced), "file"), course.root / "unplaced" / account.source
        yield f"  {many} without a place, kept in {where}"
