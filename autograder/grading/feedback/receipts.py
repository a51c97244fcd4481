"""Receipts: pages that tell students that their work came, without results."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ...language import LANGUAGES, Text, with_offset
from ...look import LOOK
from ...messages.feedback import RECEIPT
from ..batch.counted_attempts import within_limit
from ..course.attempts import Attempt
from ..course.course import Course
from ..files.nbgrader_files import SECRET, TIMESTAMP
from ..rules.course_file import BEST

_TEMPLATES = Environment(
    loader=FileSystemLoader([Path(__file__).parent, LOOK]), undefined=StrictUndefined, autoescape=True
)


def write_receipt(course: Course, assignment: str, student: str, until: datetime) -> None:
    """Write a receipt in place of a student's feedback page.

    `until` is the time when the page may be made.
    """
    attempt = course.attempts(assignment).submitted(student)
    place, graded = course.feedback(assignment, student), course.autograded(assignment, student)
    sentences = [*_received(course, assignment, student, attempt), RECEIPT["later"].format(time=with_offset(until))]
    _write(place, [path.stem for path in graded.glob("*.ipynb")], assignment, sentences, course.language)
    for name in (SECRET, TIMESTAMP):
        if (graded / name).is_file():
            (place / name).unlink(missing_ok=True)
            shutil.copyfile(graded / name, place / name)


def write_refusal(course: Course, assignment: str, student: str, attempt: Attempt, place: Path) -> None:
    """Write a receipt for an attempt that is not graded into the folder `place`.

    The student had handed in as many attempts before as the rules allow.
    """
    one = course.rules.rules.of(assignment)
    which = RECEIPT["best" if one.counts == BEST else "latest"]
    sentences = [
        *_received(course, assignment, student, attempt), RECEIPT["beyond"].format(number=one.attempts), which
    ]  # fmt: skip
    store = course.attempts(assignment)
    names = [path.stem for path in store.files(student, attempt) if path.suffix == ".ipynb"]
    _write(place, names, assignment, sentences, course.language)
    (place / SECRET).write_bytes(store.secret(student, attempt) or b"")
    (place / TIMESTAMP).write_text(attempt.time or "", encoding="utf-8")


def _received(course: Course, assignment: str, student: str, attempt: Attempt | None) -> list[Text]:
    """Return sentences that tell when the work came, and which attempt it is.

    `attempt` is None if the work is not stored as an attempt. One that only asks to look again has no number.
    """
    if attempt is None or attempt.about:
        return [RECEIPT["received"]]
    rules = course.rules.rules
    attempts = course.attempts(assignment).of(student)
    number = [each.digest for each in attempts].index(attempt.digest) + 1
    limit = rules.of(assignment).attempts
    found = [RECEIPT["attempt_of" if number <= limit else "attempt"].format(number=number, limit=limit)]
    if attempt.time:
        time = with_offset(datetime.fromisoformat(attempt.time).astimezone(rules.zone))
        found.insert(0, RECEIPT["received_at"].format(time=time))
    if attempt in within_limit(attempts, rules.of(assignment)):
        found.append(RECEIPT["graded"])
    return found


def _write(place: Path, names: list[str], assignment: str, sentences: list[Text], language: str) -> None:
    """Write one page for each notebook. `names` are the notebooks' names.

    The page has the sentences in both languages, those in `language` first.
    """
    place.mkdir(parents=True, exist_ok=True)
    ordered = sorted(LANGUAGES, key=lambda each: each != language)
    paragraphs = {each: " ".join(one.read(each) for one in sentences) for each in ordered}
    page = _TEMPLATES.get_template("receipt.html").render(language=language, title=assignment, paragraphs=paragraphs)
    for old in place.glob("*.html"):
        old.unlink()
    for name in names:
        (place / f"{name}.html").write_text(page, encoding="utf-8")
