"""The collection of submissions from archives: sender, assignment, time, attempt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ...errors import UserError
from ...language import quantity
from ..batch.counted_attempts import counted, within_limit
from ..course.attempts import Attempt, digest_of
from ..course.course import Course
from ..files.locks import locked
from ..files.nbgrader_files import SECRET
from ..gradebook.book import Book
from ..gradebook.release import ReleasedNotebooks
from ..tables.roster import STUDENTS_FILE, Student
from ..tables.worksheet import Worksheet, worksheet_path
from ..terminal import printable
from .archive import Unpacked
from .deliveries import Delivery, Sorted, sort_files
from .newcomers import from_paths, from_worksheet
from .origins import MOODLE, recognise
from .released_cells import released_notebooks
from .unplaced import UnplacedFile, doubt_of_unplaced, keep_unplaced

_FEW = 4  # a quarter of the class


@dataclass
class Account:
    """The outcome of collecting one archive or folder.

    `source` is its name, `title` a line such as "x.zip: Moodle". `lines` maps students to sentences on their
    submissions. `counts` maps outcomes such as "taken" to numbers of submissions. `unplaced` are the files whose
    student or assignment is unknown. `assignments` are those of which a submission was found. `arrived` are triples of
    assignment, student and digest, for each attempt that was not stored before or was submitted again.
    """

    source: str
    title: str
    lines: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    unplaced: list[UnplacedFile] = field(default_factory=list)
    assignments: set[str] = field(default_factory=set)
    arrived: list[tuple[str, str, str]] = field(default_factory=list)


class Collection:
    """A run of `autograder collect`, for any number of archives.

    `sheet` is Moodle's grading worksheet, or None. If `adds` is True, unknown people become students.
    """

    def __init__(self, course: Course, sheet: Worksheet | None, adds: bool) -> None:
        self._course, self._sheet, self._adds = course, sheet, adds
        self._rules = course.rules
        self._zone = course.stated.zone  # that of the LMS's times, even before the rules are applied
        with course.book() as book:
            self._released = released_notebooks(course, book)
            stated = {name: one.due for name, one in self._rules.rules.assignments.items() if one.due}
            self._due = {**stated, **_due_dates(book)}
        self._handed_in: set[str] = set()  # numbers of participants
        self._unplaced: set[str] = set()  # numbers of participants who were not identified
        self._collected: dict[str, set[str]] = defaultdict(set)  # students by assignment

    def take(self, source: Path, unpacked: Unpacked, arrival: datetime | None = None) -> Account:
        """Store the submissions of one archive as attempts, and copy those that count into `submitted/`.

        `arrival` is the time for submissions whose time is otherwise unknown. If it is None, their time stays unknown.
        Raises UserError if the archive and the worksheet have no participant in common.
        """
        self._arrival = arrival
        if self._sheet:
            self._check_worksheet(self._sheet, source, unpacked)
        if self._adds:
            self._add(
                from_worksheet(self._sheet, self._course.roster)
                if self._sheet
                else from_paths(unpacked, self._course.roster)
            )
        identities = _identities(self._sheet)
        found = sort_files(unpacked, self._course.roster, self._released, identities)
        title = f"{source.name}: {found.form.title if found.form else 'files by name'}"
        account = Account(source.name, title)
        account.unplaced += [
            UnplacedFile(path, why, file.place if file else None) for file, path, why in found.unplaced
        ]
        self._unplaced.update(found.unknown)
        for delivery in found.deliveries:
            self._take_delivery(source, found, delivery, account)
        if self._sheet and found.form is MOODLE:
            self._keep_worksheet(self._sheet, account)
        keep_unplaced(self._course.root, source.name, account.unplaced)
        return account

    def _take_delivery(self, source: Path, found: Sorted, delivery: Delivery, account: Account) -> None:
        who = " ".join(student.id for student in delivery.senders)
        for assignment, notebooks in sorted(delivery.notebooks.items()):
            time, time_from = self._time(found, delivery, assignment)
            files = delivery.files_for(assignment)
            number = delivery.origin.numbers[0] if delivery.origin.numbers else ""
            attempt = Attempt(
                digest_of(files),
                time.astimezone(UTC).isoformat() if time else None,
                time_from,
                source.name,
                datetime.now(UTC).isoformat(),
                {
                    "form": found.form.title if found.form else "",
                    "number": number,
                    "name": delivery.origin.name,
                    "path": delivery.files[notebooks[0]].path,
                },
            )
            account.assignments.add(assignment)
            self._collected[assignment].update(student.id for student in delivery.senders)
            for student in delivery.senders:
                with locked(self._course.root, assignment):
                    said, new = self._store(assignment, student, files, attempt)
                if new:
                    account.arrived.append((assignment, student.id, attempt.digest))
                account.counts[said] += 1
                when = f", {time.astimezone(self._zone):%Y-%m-%d %H:%M} ({time_from})" if time else ", no time known"
                account.lines[student.id].append(
                    f"{assignment} {said}{when}{_renamed(notebooks, self._released[assignment])}"
                )
        for path, why in delivery.unread.items():
            place = delivery.files[path].place if path in delivery.files else None
            if delivery.notebooks:
                account.lines[who].append(f"not taken: {path}: {why}")
            account.unplaced.append(UnplacedFile(f"{who}: {path}", why, place))
        if not delivery.notebooks and not delivery.unread:
            why = "no notebook inside: ask for the file that ends in .ipynb"
            for path, file in delivery.files.items():
                account.unplaced.append(UnplacedFile(f"{who}: {path}", why, file.place))
        self._handed_in.update(delivery.origin.numbers if delivery.notebooks else ())

    def _store(
        self, assignment: str, student: Student, files: Mapping[str, Path], attempt: Attempt
    ) -> tuple[str, bool]:
        """Store an attempt, and copy the attempt that counts into `submitted/`.

        Returns the outcome in words, such as "taken as attempt 2", and whether anything was stored.
        """
        store = self._course.attempts(assignment)
        store.keep_submitted(student.id)
        known = store.of(student.id)
        same = next((each for each in known if each.digest == attempt.digest), None)
        new = same is None or (same.time is None and attempt.time is not None)
        # nbgrader finds the feedback by the secret of the latest submission.
        again = same and SECRET in files and files[SECRET].read_bytes() != store.secret(student.id, same)
        if new:
            store.add(student.id, files, attempt)
        elif same and again:
            store.add(student.id, files, replace(same, answered=False))
        one = self._rules.rules.of(assignment)
        attempts = store.of(student.id)
        chosen = counted(attempts, self._rules, assignment, student.id)
        if chosen:
            store.submit(student.id, chosen)
        if same is not None:
            return "already collected", bool(again)
        if attempt.digest not in [each.digest for each in within_limit(attempts, one)]:
            return f"kept, but not to be graded: only {quantity(one.attempts, 'attempt')} may be", True
        if attempts[-1].digest != attempt.digest:
            return "kept as an earlier attempt", True
        return (f"taken as attempt {len(known) + 1}" if known else "taken"), True

    def _time(self, found: Sorted, delivery: Delivery, assignment: str) -> tuple[datetime | None, str]:
        """Return the time of a submission, and its source in words, such as "worksheet".

        If the time is unknown, it is None, and the source is "".
        """
        if delivery.origin.time:
            time = delivery.origin.time
            return (time if time.tzinfo else time.replace(tzinfo=self._zone)), delivery.origin.time_from
        if self._sheet and found.form is MOODLE:
            participant = self._sheet.participants.get(delivery.origin.numbers[0])
            if participant and participant.submitted:
                return participant.submitted.replace(tzinfo=self._zone), "worksheet"
        if found.form and not found.form.keeps_times:
            due = self._due.get(assignment)
            # Canvas tells only whether a file is late.
            return (due, f"{found.form.title}: in time") if due and not delivery.origin.late else (None, "")
        if delivery.time:
            time = delivery.time
            return (time if time.tzinfo else time.replace(tzinfo=self._zone)), "archive"
        return self._arrival, "arrival" if self._arrival else ""

    @staticmethod
    def _check_worksheet(sheet: Worksheet, source: Path, unpacked: Unpacked) -> None:
        """Raise UserError if an archive from Moodle and the worksheet have no participant in common."""
        entries = unpacked.entries
        reading = recognise(entries)
        origins = map(reading.origin, entries) if reading and reading.form is MOODLE else ()
        numbers = {number for origin in origins if origin for number in origin.numbers}
        if numbers and not numbers & sheet.participants.keys():
            raise UserError(
                f"{sheet.path} belongs to another assignment than {source.name}: they have no participant number in "
                "common. Download the worksheet of this assignment"
            )

    def _keep_worksheet(self, sheet: Worksheet, account: Account) -> None:
        """Copy the worksheet into the course, for `autograder return`."""
        for assignment in account.assignments:
            kept = worksheet_path(self._course.root, assignment)
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(sheet.to_bytes())

    def _add(self, students: list[Student]) -> None:
        if students:
            self._course.add(students)
            print(f"{self._course.root / STUDENTS_FILE}: {quantity(len(students), 'student')} added")

    def report_worksheet(self, sheet: Worksheet) -> None:
        """Print the participants who handed in something by the worksheet, but have no submission in the archives.

        Participants whose files could not be assigned are left out: each of these files was named.
        """
        for each in sheet.participants.values():
            if each.submitted and each.number not in self._handed_in | self._unplaced:
                print(
                    printable(f"{each}: the worksheet says that something was handed in, but no usable notebook came")
                )

    def report_idle(self) -> None:
        """Print, for each collected assignment, the students in `students.csv` without a submission.

        The line says so if some files could not be assigned: they may be the work of these students. Nothing is printed
        if somebody who handed in is not in `students.csv`, as the list is then incomplete. An assignment that few
        students handed in, compared with another one, is probably a wrong notebook: its other students are not named.
        """
        most = max(map(len, self._collected.values()), default=0)
        for assignment, students in sorted(self._collected.items()):
            if len(students) * _FEW < most:
                who = ", ".join(sorted(students))
                print(printable(f"{assignment} came from {who} alone: is it the wrong notebook?"))
                continue
            there = {folder.parent.name for folder in self._course.submissions(assignment)}
            idle = [str(student) for student in self._course.roster.students if student.id not in there]
            if idle and there <= {student.id for student in self._course.roster.students}:
                doubt = doubt_of_unplaced(self._course.root)
                print(printable(f"no submission of {assignment}{doubt}: {', '.join(idle)}"))


def _due_dates(book: Book) -> dict[str, datetime]:
    return {name: due.replace(tzinfo=UTC) for name, due in book.due_dates().items()}


def _identities(sheet: Worksheet | None) -> dict[str, tuple[str, ...]]:
    """Return a dict from participant number to ID number, e-mail address and name, as the worksheet states them.

    Without a worksheet the dict is empty.
    """
    participants = sheet.participants.values() if sheet else ()
    return {each.number: (each.id_number, each.email, each.name) for each in participants}


def _renamed(notebooks: Sequence[str], released: ReleasedNotebooks) -> str:
    """Return a text such as "; renamed: my.ipynb", or "" if all notebooks have released names."""
    others = [path for path in notebooks if path.removesuffix(".ipynb") not in released]
    return f"; renamed: {', '.join(others)}" if others else ""
