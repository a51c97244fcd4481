"""The collection of submissions from archives: sender, assignment, time, attempt."""

from __future__ import annotations

import os
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ...errors import UserError
from ...language import quantity
from ..batch.asking_again import describe_request, settle_requests
from ..batch.counted_attempts import counted, within_limit
from ..course.attempts import Attempt, digest_of, students_with_attempts
from ..course.course import Course
from ..course.turnout import not_few
from ..course.withdrawals import WITHDRAWN, withdrawn
from ..files.locks import locked
from ..files.nbgrader_files import SECRET
from ..gradebook.released_notebooks import ReleasedNotebooks
from ..lms.interface.grade_table import GradeTable
from ..lms.interface.origin import Sender, is_hidden_id
from ..lms.kept_tables import keep_table
from ..tables.roster import STUDENTS_FILE, Student, Unplaced
from ..tables.supplied_times import TIMES_FILE
from ..tables.teams import left_out
from ..terminal import printable
from .archive import Unpacked
from .deliveries import Delivery, Sorted, sort_files
from .hidden_students import HiddenStudents, hidden_students
from .newcomers import from_paths, from_tables
from .released_cells import released_notebooks
from .senders import Senders
from .submission_times import SubmissionTime, SubmissionTimes
from .unplaced import UnplacedFile, doubt_of_unplaced, keep_unplaced

_REQUEST = "kept as a request to look again"


@dataclass
class Account:
    """The outcome of collecting one archive or folder.

    `source` is its name, `title` a line such as "x.zip: Moodle". `lines` maps students to sentences on their
    submissions. `counts` maps outcomes such as "taken" to numbers of submissions. `unplaced` are the files whose
    student or assignment is unknown. `senders` maps assignments to those who handed in. `arrived` are triples of
    assignment, student and digest, for each attempt that was not stored before or was submitted again. `doubts` counts
    the times that cannot be read or are in the future. `remarks` are sentences on the whole archive.
    """

    source: str
    title: str
    lines: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    unplaced: list[UnplacedFile] = field(default_factory=list)
    senders: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    arrived: list[tuple[str, str, str]] = field(default_factory=list)
    doubts: int = 0
    remarks: list[str] = field(default_factory=list)


class CollectedWork:
    """A run of `autograder collect`, for any number of archives.

    `tables` are tables of grades of LMSs, such as Moodle's worksheet. If `adds` is True, unknown people become
    students.
    """

    def __init__(self, course: Course, tables: Sequence[GradeTable], adds: bool) -> None:
        self._course, self._tables, self._adds = course, tables, adds
        self._rules = course.rules
        with course.book() as book:
            self._released = released_notebooks(course, book)
            self._times = SubmissionTimes(course, book)
        self._handed_in: set[str] = set()  # numbers of participants
        self._unplaced: set[str] = set()  # numbers of participants who were not identified
        self._collected: dict[str, set[str]] = defaultdict(set)  # students by assignment

    def take(self, source: Path, unpacked: Unpacked, arrival: datetime | None = None) -> Account:
        """Store the submissions of one archive as attempts, and copy those that count into `submitted/`.

        `arrival` is the time for submissions whose time is otherwise unknown. If it is None, their time stays unknown.
        Raises UserError if the archive and the table have no participant in common.
        """
        self._arrival = SubmissionTime(arrival, "arrival") if arrival else SubmissionTime()
        self._hidden: dict[str, HiddenStudents] = {}
        collected = students_with_attempts(self._course)
        senders = Senders(unpacked, self._course.roster, self._tables, collected)
        try:
            senders.refuse_other_table(self._adds)
        except Unplaced as why:
            sheets = " and ".join(str(table.path) for table in self._tables)
            stable = senders.lms and senders.lms.stable
            what, sheet = ("course", "gradebook") if stable else ("assignment", "worksheet")
            raise UserError(
                f"{sheets} belongs to another {what} than {source.name}: {why}. Download the {sheet} of this {what}"
            ) from why
        if self._adds:
            roster = self._course.roster
            lacks = senders.lms.lacks_in_paths if senders.lms and not self._tables else ""
            self._add(from_tables(self._tables, roster) if self._tables else from_paths(unpacked, roster), lacks)
            senders = Senders(unpacked, self._course.roster, self._tables, collected)
        found = sort_files(unpacked, senders, self._released)
        title = f"{source.name}: {found.lms.title if found.lms else 'files by name'}"
        account = Account(source.name, title)
        account.unplaced += [
            UnplacedFile(path, why, file.place if file else None) for file, path, why in found.unplaced
        ]
        self._unplaced.update(found.unknown)
        for delivery in found.deliveries:
            self._take_delivery(source, unpacked, found, delivery, account)
        late = {name for delivery in found.deliveries if delivery.origin.late for name in delivery.notebooks}
        account.remarks += [
            f"some work is late, but {name} has no due date: write the one of the LMS into course.toml, and collect "
            "this archive again"
            for name in sorted(late)
            if not self._times.has_due_date(name)
        ]
        for table in self._tables:
            if found.lms and table.title == found.lms.title and table.of_one_assignment:
                for assignment in not_few(account.senders):
                    keep_table(self._course.root, assignment, table, self._numbers(assignment))
        keep_unplaced(self._course.root, source.name, account.unplaced)
        return account

    def _numbers(self, assignment: str) -> set[str]:
        """Return the numbers that an LMS has given to those who handed in an assignment."""
        store = self._course.attempts(assignment)
        attempts = [attempt for student in store.students() for attempt in store.all_of(student)]
        return {Sender.of(attempt.lms).own_number for attempt in attempts}

    def _take_delivery(
        self, source: Path, unpacked: Unpacked, found: Sorted, delivery: Delivery, account: Account
    ) -> None:
        who = " ".join(student.id for student in delivery.senders)
        for assignment, notebooks in sorted(delivery.notebooks.items()):
            files = delivery.files_for(assignment)
            attempt = Attempt(digest_of(files), None, "", source.name, datetime.now(UTC).isoformat(), {})
            sender = Sender(
                found.lms.title if found.lms else "",
                "".join(delivery.origin.numbers[:1]),
                delivery.origin.name,
                unpacked.entry_of(delivery.files[notebooks[0]].path),
                "yes" if delivery.found.team else "",
            )
            students, revealed = self._as_before(assignment, delivery, sender)
            ids = {student.id for student in students}
            account.senders[assignment] |= ids
            self._collected[assignment] |= ids
            for student in students:
                line = delivery.found.participants.get(student.id)
                moment = self._times.of(delivery, found.lms, assignment, student, self._arrival)
                mine = replace(
                    attempt,
                    time=moment.time.astimezone(UTC).isoformat() if moment.time else None,
                    time_from=moment.source,
                    assumed=moment.assumed,
                    lms=replace(sender, participant=line.number if line else "").stored(),
                )
                with locked(self._course.root, assignment):
                    said, new, kept = self._store(assignment, student, files, mine)
                time = datetime.fromisoformat(kept.time) if kept.time else None
                if new:
                    account.arrived.append((assignment, student.id, attempt.digest))
                account.counts[said] += 1
                account.doubts += bool(moment.doubt)
                renamed = _renamed(notebooks, self._released[assignment])
                draft = f"; only a draft in {sender.form}: not submitted" if line and line.draft else ""
                named = f"; {sender.form} names {delivery.origin.name} now" if revealed else ""
                shown = self._times.shown(SubmissionTime(time, kept.time_from))
                account.lines[student.id] += [
                    f"{assignment} {said}{shown}{renamed}{draft}{named}",
                    *(
                        describe_request(self._course, about)
                        for about in self._course.attempts(assignment).of(student.id)
                        if about.digest == kept.about
                    ),
                    *self._times.remarks(delivery, sender.form, assignment, student, line, moment),
                ]
        for path, why in delivery.unread.items():
            place = delivery.files[path].place if path in delivery.files else None
            if delivery.notebooks:
                account.lines[who].append(f"not taken: {path}: {why}")
            account.unplaced.append(UnplacedFile(f"{who}: {path}", why, place))
        if not delivery.notebooks and not delivery.unread:
            why = "no notebook inside: ask for the file that ends in .ipynb"
            for path, file in delivery.files.items():
                account.unplaced.append(UnplacedFile(f"{who}: {path}", why, file.place))
        if delivery.notebooks:
            if not delivery.found.team:  # the number of a team may be that of somebody else
                self._handed_in.update(delivery.origin.numbers)
            self._handed_in.update(each.number for each in delivery.found.participants.values())

    def _as_before(self, assignment: str, delivery: Delivery, sender: Sender) -> tuple[list[Student], bool]:
        """Return the senders under the ids of their earlier attempts, and whether the LMS hid their names then."""
        if delivery.origin.hidden or delivery.found.revealed:
            return delivery.senders, delivery.found.revealed
        if assignment not in self._hidden:
            self._hidden[assignment] = hidden_students(self._course.attempts(assignment), sender.form)
        id = self._hidden[assignment].of(sender)
        return ([Student(id, "", lms=(sender.number,))], True) if id else (delivery.senders, False)

    def _store(
        self, assignment: str, student: Student, files: Mapping[str, Path], attempt: Attempt
    ) -> tuple[str, bool, Attempt]:
        """Store an attempt, and copy the attempt that counts into `submitted/`.

        Returns the outcome in words, such as "taken as attempt 2", whether anything was stored, and the stored attempt.
        """
        store = self._course.attempts(assignment)
        if withdrawn(self._course, assignment, student.id, attempt.digest):
            return WITHDRAWN, False, attempt
        kept = store.keep_submitted(student.id)
        known = store.all_of(student.id)
        same = next((each for each in known if each.digest == attempt.digest), None)
        told = same is not None and (same.time is None or attempt.time_from == TIMES_FILE or _excused(same, attempt))
        new = same is None or (told and attempt.time not in (None, same.time))
        # nbgrader finds the feedback by the secret of the latest submission.
        again = same and SECRET in files and files[SECRET].read_bytes() != store.secret(student.id, same)
        if new:
            if same:
                attempt = replace(attempt, score=same.score, taken=same.taken, retimed=attempt.taken)
            store.add(student.id, files, attempt)
        elif same and again:
            store.add(student.id, files, replace(same, answered=False))
        elif same and is_hidden_id(student.id) and same.lms != attempt.lms:
            store.record_sender(student.id, same, attempt.lms)
        if new or kept:
            settle_requests(self._course, assignment, student.id)
        one = self._rules.rules.of(assignment)
        attempts = store.of(student.id)
        chosen = counted(attempts, self._rules, assignment, student.id)
        if chosen:
            store.submit(student.id, chosen)
        if same is not None:
            return "already collected", bool(again), attempt if new else same
        if attempt.digest not in [each.digest for each in attempts]:
            return _REQUEST, True, next(each for each in store.all_of(student.id) if each.digest == attempt.digest)
        if attempt.digest not in [each.digest for each in within_limit(attempts, one)]:
            return f"kept, but not to be graded: only {quantity(one.attempts, 'attempt')} may be", True, attempt
        if attempts[-1].digest != attempt.digest:
            return "kept as an earlier attempt", True, attempt
        return (f"taken as attempt {len(attempts)}" if len(attempts) > 1 else "taken"), True, attempt

    def _add(self, students: list[Student], lacks: str) -> None:
        if students:
            self._course.add(students)
            print(f"{self._course.root / STUDENTS_FILE}: {quantity(len(students), 'student')} added")
            if lacks:
                print(lacks)

    def report_tables(self) -> None:
        """Print the participants without a submission who handed in by the tables.

        Participants whose files could not be assigned are left out: each of these files was named.
        """
        for each in (each for table in self._tables for each in table.participants):
            if each.handed_in and each.number not in self._handed_in | self._unplaced:
                print(
                    printable(f"{each}: the worksheet says that something was handed in, but no usable notebook came")
                )

    def report_idle(self) -> None:
        """Print, for each collected assignment, the students in `students.csv` without a submission.

        The line says so if some files could not be assigned: they may be the work of these students. Nothing is printed
        if somebody who handed in is not in `students.csv`, as the list is then incomplete. An assignment that few
        students handed in, compared with another one, is probably a wrong notebook: its other students are not named.
        """
        probable = not_few(self._collected)
        for assignment, students in sorted(self._collected.items()):
            if assignment not in probable:
                who = " ".join(sorted(students))
                out = f"autograder withdraw {shlex.quote(os.path.relpath(self._course.root))} {assignment}"
                print(
                    printable(
                        f"{assignment} came from {who} alone: is it the wrong notebook? `{out} {who}` takes it out"
                    )
                )
                continue
            there = {folder.parent.name for folder in self._course.submissions(assignment)}
            present = [student for student in self._course.roster.students if not student.dropped]
            idle = [str(student) for student in present if student.id not in there]
            if hidden := [each for table in self._tables for each in table.idle()]:
                print(printable(f"no submission of {assignment}: {', '.join(hidden)}"))
            if idle and there <= {student.id for student in self._course.roster.students}:
                doubt = doubt_of_unplaced(self._course.root)
                print(printable(f"no submission of {assignment}{doubt}: {', '.join(idle)}"))
                for line in left_out(self._course.roster, assignment, there):
                    print(printable(f"  {line}"))


def _excused(known: Attempt, again: Attempt) -> bool:
    """Return whether work that seemed late was in time, by a later archive of an LMS that tells no times."""
    return known.assumed and again.assumed and bool(known.time and again.time and again.time < known.time)


def _renamed(notebooks: Sequence[str], released: ReleasedNotebooks) -> str:
    """Return a text such as "; renamed: my.ipynb", or "" if all notebooks have released names.

    Beside a notebook with a released name the others are not called renamed: they may be drafts.
    """
    others = [path for path in notebooks if path.removesuffix(".ipynb") not in released]
    said = "renamed" if len(others) == len(notebooks) else "also"
    return f"; {said}: {', '.join(others)}" if others else ""
