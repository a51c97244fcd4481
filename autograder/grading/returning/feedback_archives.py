"""Feedback in zip archives and folders, as an LMS imports it."""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ..course.course import Course
from ..lms.interface.grade_table import Participant
from ..lms.interface.origin import Sender
from ..lms.interface.system import Lms
from ..lms.systems import system_called
from .feedback_notebook import feedback_notebook
from .grades import Grade

_WHO = re.compile(rb'(<title>[^\n]*? \xc2\xb7 )[^\n]*(?=</title>)|(<p class="notebook-name">)[^\n]*(?= \xc2\xb7 )')
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # equal pages give equal archives


def write_feedback(
    folder: Path,
    course: Course,
    assignment: str,
    grades: Mapping[str, Grade],
    lines: Mapping[str, tuple[str, Participant]],
) -> tuple[dict[str, str], dict[str, str]]:
    """Write the feedback of all students into archives in `folder`, one for each LMS that they used.

    `lines` maps students to an LMS and their line in its table: what did not come through the LMS goes back through it,
    too. The folder `feedback/` has the pages of all others. A team gets one page; pages of members that differ are in
    this folder. Returns two dicts from student to reason: those without a page, and those whose page the archive of
    their LMS cannot hold.
    """
    nothing: dict[str, str] = {}
    apart: dict[str, str] = {}
    teams: dict[tuple[str, str], dict[str, dict[str, bytes]]] = defaultdict(dict)
    for student, grade in grades.items():
        sender = _sender(grade.sender, lines.get(student))
        lms = system_called(sender.form)
        archive = lms.feedback_archive if lms else ""
        if lms and archive and not lms.feedback_path(sender, "page"):
            apart[student], archive = f"{lms.title} takes no page for {sender.name}", ""
        files = _files(course, assignment, student, lms if archive else None, sender)
        if not files:
            nothing[student] = "no page of feedback: `autograder feedback` says why"
        team = f"{sender.number} {sender.name}" if sender.team else student
        teams[archive, team][student] = files
    archives: dict[str, dict[str, bytes]] = defaultdict(dict)
    for (archive, team), members in teams.items():
        if len(members) > 1 and archive:
            name = team.partition(" ")[2]
            members = {student: _titled(files, name) for student, files in members.items()}
            if any(files != next(iter(members.values())) for files in members.values()):
                apart |= dict.fromkeys(members, f"{name} gets one page, but those of its members differ")
        for student, files in members.items():
            if archive and student not in apart:
                archives[archive] |= files
            else:
                pages = _pages(course, assignment, student)
                archives[""] |= {f"{student}/{page.name}": page.read_bytes() for page in pages}
    for path, data in archives.pop("", {}).items():
        target = folder / "feedback" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for name, files in archives.items():
        if files:
            (folder / name).write_bytes(_zipped(files))
    return nothing, apart


def _sender(sender: Sender, line: tuple[str, Participant] | None) -> Sender:
    """Return the sender of an attempt, or the student of a line in a table if the attempt came by another way."""
    if line is None:
        return sender
    lms = system_called(line[0])
    if sender.form == line[0]:  # a notebook of this assignment, handed in in another one, has a number of that one
        renumbered = lms and not lms.stable and not sender.team and sender.number != line[1].number
        return replace(sender, number=line[1].number, name=line[1].name or sender.name) if renumbered else sender
    if system_called(sender.form) or lms is None or lms.returns_notebooks:
        return sender
    return replace(sender, form=line[0], number=line[1].number, name=line[1].name, team="")


def _files(course: Course, assignment: str, student: str, lms: Lms | None, sender: Sender) -> dict[str, bytes]:
    """Return a dict from paths in the LMS's archive to a student's feedback. Without an LMS the paths are names."""
    if lms is None or not lms.returns_notebooks:
        pages = {page.name: page.read_bytes() for page in _pages(course, assignment, student)}
        return {lms.feedback_path(sender, name) if lms else name: data for name, data in pages.items()}
    paths = sorted(course.autograded(assignment, student).glob("*.ipynb"))
    if not paths:
        return {}
    with course.gradebook() as gradebook:
        notebook = feedback_notebook(course.rules, paths, gradebook, assignment, student)
    name = lms.feedback_path(sender, paths[0].name)
    return {name: _zipped({paths[0].name: notebook}) if name.lower().endswith(".zip") else notebook}


def _titled(files: Mapping[str, bytes], team: str) -> dict[str, bytes]:
    """Return pages with the name of a team in place of that of a member, which stands in two lines of a page."""
    name = html.escape(team).encode()
    return {path: _WHO.sub(lambda found: (found[1] or found[2]) + name, data) for path, data in files.items()}


def _pages(course: Course, assignment: str, student: str) -> Iterator[Path]:
    """Yield the pages of a student's graded notebooks.

    Other pages in the folder are the student's own files.
    """
    place = course.feedback(assignment, student)
    pages = [place / f"{path.stem}.html" for path in course.autograded(assignment, student).glob("*.ipynb")]
    yield from sorted(page for page in pages if page.is_file())


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive. `files` maps paths to contents."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path, _FIXED_TIME), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
