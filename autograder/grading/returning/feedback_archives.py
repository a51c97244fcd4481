"""Zip archives with feedback that Moodle and Canvas accept.

Sources: Moodle's `mod/assign/feedback/file/importziplib.php`; Canvas' re-upload of submissions.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from ..course.attempts import Attempt
from ..course.course import Course
from ..rules.applied_rules import CourseRules
from .feedback_notebook import feedback_notebook

_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # equal pages give equal archives


class Returned(Protocol):
    """A grade whose feedback is returned to an LMS.

    `attempt` is the student's latest attempt, by which the LMS knows the sender, or None.
    """

    @property
    def attempt(self) -> Attempt | None: ...


def write_feedback(folder: Path, course: Course, assignment: str, grades: Mapping[str, Returned]) -> dict[str, str]:
    """Write the feedback of all students into archives in `folder`, one for each LMS that they used.

    `moodle_feedback.zip` has the folders of Moodle's own archive. `canvas_feedback.zip` has notebooks under the names
    of the submitted files, because Canvas shows feedback under these names. The folder `feedback/` has the pages of all
    others. It also has those of teams, because Moodle names a team as one sender, while each member has a page. Returns
    a dict from each student without a page to the reason.
    """
    nothing, rules = {}, course.rules
    senders = Counter(_sender(grade.attempt) for grade in grades.values())
    archives: dict[str, dict[str, bytes]] = {"moodle_feedback.zip": {}, "canvas_feedback.zip": {}}
    for student, grade in grades.items():
        pages = list(_pages(course, assignment, student))
        if not pages:
            nothing[student] = "no page of feedback: `autograder feedback` says why"
            continue
        lms = grade.attempt.lms if grade.attempt else {}
        if lms.get("form") == "Moodle" and senders[_sender(grade.attempt)] == 1:
            place = f"{lms['name']}_{lms['number']}_assignsubmission_file"
            archives["moodle_feedback.zip"] |= {f"{place}/{page.name}": page.read_bytes() for page in pages}
        elif lms.get("form") == "Canvas":
            archives["canvas_feedback.zip"] |= _canvas_files(course, rules, assignment, student, lms)
        else:
            for page in pages:
                target = folder / "feedback" / student / page.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(page.read_bytes())
    for name, files in archives.items():
        if files:
            with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
                for path, data in sorted(files.items()):
                    archive.writestr(zipfile.ZipInfo(path, _FIXED_TIME), data, zipfile.ZIP_DEFLATED)
    return nothing


def _sender(attempt: Attempt | None) -> tuple[str, ...]:
    """Return the LMS's form, number and name of the sender of an attempt, or () if `attempt` is None."""
    return tuple(attempt.lms.get(key, "") for key in ("form", "number", "name")) if attempt else ()


def _pages(course: Course, assignment: str, student: str) -> Iterator[Path]:
    """Yield the pages of a student's graded notebooks.

    Other pages in the folder are the student's own files.
    """
    place = course.feedback(assignment, student)
    pages = [place / f"{path.stem}.html" for path in course.autograded(assignment, student).glob("*.ipynb")]
    yield from sorted(page for page in pages if page.is_file())


def _canvas_files(
    course: Course, rules: CourseRules, assignment: str, student: str, lms: Mapping[str, str]
) -> dict[str, bytes]:
    """Return a dict with one item: the file name that Canvas expects, and the graded notebook with the feedback.

    The name begins with the numbers of user and attachment, as in the archive that was collected. The dict is empty if
    there is no graded notebook.
    """
    graded = sorted(course.autograded(assignment, student).glob("*.ipynb"))[:1]
    with course.gradebook() as gradebook:
        return {
            Path(lms["path"]).name: feedback_notebook(rules, path, gradebook, assignment, student) for path in graded
        }
