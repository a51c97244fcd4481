"""Archives and worksheets as LMSs write them, and judges of what they import."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from autograder.cli import main
from support.course import Course
from support.lms.files import write_zip

write_archive = write_zip
WORKSHEET_EN = [
    "Identifier", "Full name", "ID number", "Email address", "Status", "Grade", "Maximum grade",
    "Last modified (submission)", "Last modified (grade)", "Feedback comments",
]  # fmt: skip
WORKSHEET_RU = [
    "Идентификатор", "Полное имя", "ID number", "Адрес электронной почты", "Статус", "Оценка", "Максимальная оценка",
    "Последнее изменение (ответ)", "Последнее изменение (оценка)", "Отзыв в виде комментария",
]  # fmt: skip
_MONTHS_RU = {9: "сентября", 10: "октября", 11: "ноября"}


class Participant(NamedTuple):
    """A participant of an assignment in Moodle. `came` is the time of submission in local time."""

    number: int
    name: str
    id_number: str = ""
    email: str = ""
    came: datetime | None = None


def collect(course: Course, *arguments: object) -> int:
    """Run `autograder collect`."""
    return main(["collect", *map(str, arguments), "--course", str(course.folder)])


def moodle_folder(participant: Participant, *, old: bool = False, plugin: str = "file") -> str:
    """Return the folder of a participant in Moodle's archive; `old` is the form before Moodle 4.1."""
    return f"{participant.name.replace('_', ' ')}_{participant.number}_assignsubmission_{plugin}{'_' if old else ''}"


def write_worksheet(
    path: Path,
    participants: Iterable[Participant],
    *,
    russian: bool = False,
    separator: str = ",",
    encoding: str = "utf-8-sig",
    end: str = "\r\n",
    maximum: float = 100,
    graded: Mapping[int, tuple[str, str]] | None = None,
) -> Path:
    """Write Moodle's grading worksheet. `graded` maps participants' numbers to grades and comments."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator=end)
    writer.writerow(WORKSHEET_RU if russian else WORKSHEET_EN)
    for each in participants:
        most = f"{maximum:.2f}".replace(".", ",") if russian else f"{maximum:.2f}"
        word = "Участник" if russian else "Participant "
        came = _in_words(each.came, russian) if each.came else "-"
        status = "Submitted for grading" if each.came else "No submission"
        grade, comment = (graded or {}).get(each.number, ("", ""))
        writer.writerow(
            [f"{word}{each.number}", each.name, each.id_number, each.email, status, grade, most, came, "-", comment]
        )
    path.write_bytes(text.getvalue().encode(encoding, "xmlcharrefreplace"))
    return path


def _in_words(time: datetime, russian: bool) -> str:
    if russian:
        return f"понедельник, {time.day} {_MONTHS_RU[time.month]} {time.year}, {time:%H:%M}"
    return f"{time:%A, %d %B %Y}, {time:%I:%M %p}"
