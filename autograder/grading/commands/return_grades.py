"""The command `autograder return`: grades and feedback for an LMS."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

from ...errors import UserError
from ...language import POINT, decimal, quantity
from ...messages.feedback import WORKSHEET
from ...messages.reasons import SEVERAL, describe_reason
from ..collecting.unplaced import doubt_of_unplaced
from ..course.course import Course, open_course
from ..files.atomic import describe_error, remove_leftovers, swap_in, temporary_sibling
from ..gradebook.standings import standings
from ..returning.canvas_gradebook import fill_in
from ..returning.feedback_archives import write_feedback
from ..returning.grades import Grade, Grades, write_grades, write_total
from ..tables.csv_text import read_csv
from ..tables.roster import STUDENTS_FILE, Roster, Student, Unplaced
from ..tables.worksheet import Worksheet, read_worksheet, worksheet_path
from ..terminal import printable
from .feedback import make_feedback


def return_course(root: Path, assignment: str | None, *, worksheet: Path | None, gradebook: Path | None) -> int:
    """Write files with grades and feedback that an LMS can import, for one assignment or for all graded ones.

    Without an assignment the total of the course is written, too. `worksheet` is Moodle's grading worksheet of the
    assignment; without it, the collected one is used. `gradebook` is Canvas' gradebook as exported. Returns the exit
    status: 1 if somebody who handed in gets nothing.
    Raises UserError with the remedy if nothing can be returned.
    """
    course = open_course(root)
    chosen = [assignment] if assignment else course.graded_assignments()
    if worksheet and not assignment:
        raise UserError(f"{worksheet} belongs to one assignment: name it, `autograder return DIR ASSIGNMENT`")
    make_feedback(course, assignment, release=False)
    failed = [bool(_return_assignment(course, name, worksheet, gradebook)) for name in chosen]
    if not assignment:
        path = course.root / "returned" / "total.csv"
        write_total(path, course, {name: _grades(course, name) for name in chosen})
        print(f"total of the course: {path}")
    return int(any(failed))


def _return_assignment(
    course: Course, assignment: str, worksheet: Path | None, gradebook: Path | None
) -> dict[str, str]:
    """Write the files for an LMS into the folder `returned/ASSIGNMENT` of the course, and print the outcome.

    Returns a dict from each person who gets nothing to the reason.
    """
    found = _grades(course, assignment)
    grades, nothing = found.by_student, found.nothing
    kept = worksheet_path(course.root, assignment)
    sheet = read_worksheet(worksheet or kept) if worksheet or kept.is_file() else None
    place = course.root / "returned" / assignment
    remove_leftovers(place)
    try:
        with temporary_sibling(place) as folder:
            if sheet:
                waiting = {
                    attempt.lms.get("number", "")
                    for student in nothing
                    for attempt in course.attempts(assignment).of(student)
                }
                nothing |= _fill_in_worksheet(sheet, found, course.language)
                nothing |= _unknown_senders(sheet, found, course.roster, waiting)
                (folder / "worksheet.csv").write_bytes(sheet.to_bytes())
            if gradebook:
                text = read_csv(gradebook)
                points = {each.student: each.points for each in grades.values()}
                everybody = course.roster.students
                nothing |= fill_in(text, assignment, points, found.maximum, everybody)
                (folder / "canvas_gradebook.csv").write_bytes(text.to_bytes())
            nothing |= write_feedback(folder, course, assignment, grades)
            write_grades(folder / "grades.csv", found)
            written = sorted(path.name for path in folder.iterdir())
            if place.exists():
                swap_in(place, folder)
            else:
                folder.rename(place)
    except OSError as error:
        raise UserError(f"{describe_error(error, place)}: what was written before stays") from error
    print(printable(f"{assignment}: {quantity(len(grades), 'grade')} in {place}: {', '.join(written)}"))
    if found.idle:
        print(printable(f"  no submission{doubt_of_unplaced(course.root)}: {', '.join(found.idle)}"))
    for who, why in sorted(nothing.items()):
        print(printable(f"  {who}: {why}"))
    for who, why in _choices(course, assignment):
        print(printable(f"  {who}: {why}"))
    return nothing


def _choices(course: Course, assignment: str) -> Iterator[tuple[str, str]]:
    """Yield each student who handed in several notebooks, and a sentence on which of them was graded."""
    for student, remarks in sorted(course.remarks(assignment).read_all().items()):
        for reason in remarks.everything:
            if reason.id == SEVERAL:
                yield student, describe_reason(reason).en


def _grades(course: Course, assignment: str) -> Grades:
    """Return the grades of an assignment, and the reasons why some students have none."""
    roster = {student.id: student for student in course.roster.students}
    store = course.attempts(assignment)
    with course.gradebook() as gradebook:
        found = standings(gradebook.db, assignment)
        grades = Grades({}, float(gradebook.find_assignment(assignment).max_score), {})
    for student, standing in found.items():
        if standing.waiting:
            grades.nothing[student] = "no grade: some answers wait for points from a person (formgrader)"
            grades.waiting.add(student)
            continue
        attempts = store.of(student)
        points = max(0.0, standing.score - standing.penalty)
        who = roster.get(student, Student(student))
        grades.by_student[student] = Grade(who, points, standing.penalty, attempts[-1] if attempts else None)
    for folder in course.submissions(assignment):
        if folder.parent.name not in found:
            grades.nothing[folder.parent.name] = "no grade: not graded yet"
    idle = roster.keys() - grades.by_student.keys() - grades.nothing.keys()
    grades.idle = [str(roster[student]) for student in sorted(idle)]
    return grades


def _fill_in_worksheet(sheet: Worksheet, found: Grades, language: str) -> dict[str, str]:
    """Write grades and comments into a worksheet. `language` is that of the comments.

    Returns a dict from each student who is not in the worksheet to the reason.
    """
    grades, maximum = found.by_student, found.maximum
    numbers = {
        grade.attempt.lms["number"]: grade
        for grade in grades.values()
        if grade.attempt and grade.attempt.lms.get("form") == "Moodle"
    }
    emails = {grade.student.email.casefold(): grade for grade in grades.values() if grade.student.email}
    done = set()
    for participant in sheet.participants.values():
        grade = numbers.get(participant.number) or emails.get(participant.email.casefold())
        if grade is None:
            continue
        done.add(grade.student.id)
        scale = participant.maximum / maximum if participant.maximum and maximum else 1.0
        sheet.set_grade(participant.number, grade.points * scale)
        if sheet.has_feedback:
            sheet.set_feedback(participant.number, _describe(grade, maximum, language))
    return {student: f"not in {sheet.path.name}" for student in grades.keys() - done}


def _unknown_senders(sheet: Worksheet, found: Grades, roster: Roster, waiting: Set[str]) -> dict[str, str]:
    """Return the participants who handed in by the worksheet, but have no submission in the course.

    The result maps each to the reason. `waiting` are numbers of participants whose submission has no grade yet.
    """
    graded = {grade.attempt.lms.get("number") for grade in found.by_student.values() if grade.attempt}
    unknown = {}
    for each in sheet.participants.values():
        if not each.submitted or each.number in graded | waiting:
            continue
        try:
            student = roster.find([*filter(None, (each.id_number, each.email)), each.number], each.name)
            if student.id in found.by_student or student.id in found.nothing:
                continue
            said = f"no submission of {student} was collected: see unplaced/"
        except Unplaced:
            said = f"belongs to nobody in {STUDENTS_FILE}: see unplaced/, or collect with --add"
        unknown[str(each)] = f"row left empty: handed in, but {said}"
    return unknown


def _describe(grade: Grade, maximum: float, language: str) -> str:
    """Return the comment on a grade, in `language`: points, maximum, and the late penalty if there is one."""
    shown = {name: decimal(value, language) for name, value in (("points", grade.points), ("maximum", maximum))}
    said = [WORKSHEET["points"].read(language).format(noun=POINT.after(grade.points).read(language), **shown)]
    if grade.penalty:
        lost = {"points": decimal(grade.penalty, language), "noun": POINT.after(grade.penalty).read(language)}
        said.append(WORKSHEET["late"].read(language).format(**lost))
    return "; ".join(said)
