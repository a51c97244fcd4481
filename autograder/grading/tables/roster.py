"""The course's students in `students.csv`, found by number, id, e-mail or name."""

from __future__ import annotations

import codecs
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import UserError
from . import names
from .csv_text import as_csv, from_text, read_csv, write_csv

COLUMNS = ("id", "name", "email", "lms", "group", "extensions", "dropped")
STUDENTS_FILE = "students.csv"
_EXAMPLE = "petrova,Анна Петрова,petrova@uni.example,,,,"  # a right line


@dataclass(frozen=True)
class Student:
    """A line of `students.csv`.

    `id` is nbgrader's id of the student. `lms` holds numbers, user names and other names by which an LMS knows the
    student. `group` is the name of a team, of whose members one hands in for all. `extensions` is text such as
    "03_gradient_accumulation +2d" (see `read_extensions`). `dropped` is any text if the student has left the course.
    """

    id: str
    name: str = ""
    email: str = ""
    lms: tuple[str, ...] = ()
    group: str = ""
    extensions: str = ""
    dropped: str = ""

    def is_called_by(self, numbers: Iterable[str]) -> bool:
        """Return whether one of `numbers` is the id, e-mail address or LMS number of the student."""
        own = {text.casefold() for text in (self.id, self.email, *self.lms) if text}
        return any(number.casefold() in own for number in numbers)

    def __str__(self) -> str:
        """Return the id, with the name if that is another text."""
        return f"{self.id} ({self.name})" if self.name not in ("", self.id) else self.id


class Unplaced(Exception):
    """An error: no student, or more than one, can be the sender.

    The message is for the instructor. It says what to do.
    """


class Ambiguous(Unplaced):
    """An error: several students fit, or number and name contradict each other."""


@dataclass
class Roster:
    """All students of a course, with indexes to find them.

    `by_number` has ids, e-mail addresses, and the numbers and names in the column `lms`, all in lower case. The keys of
    `by_name` are made by `names.key`, those of `by_joined` by `names.joined`.
    """

    students: list[Student]
    by_number: dict[str, list[Student]] = field(default_factory=lambda: defaultdict(list))
    by_name: dict[tuple[str, ...], list[Student]] = field(default_factory=lambda: defaultdict(list))
    by_joined: dict[str, list[Student]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for student in self.students:
            for text in {student.id, student.email, *student.lms} - {""}:
                self.by_number[text.casefold()].append(student)
            for name in {student.name, *student.lms} - {""}:
                self.by_name[names.key(name)].append(student)
                for text in names.joined(name):
                    self.by_joined[text].append(student)

    def find(self, numbers: Sequence[str], name: str, *, passing: Collection[str] | None = None) -> Student:
        """Return the student whom one of `numbers` identifies. If none does, return the student with the name.

        `numbers` are ids, e-mail addresses or an LMS's numbers; the first one that fits counts. The name may be written
        without spaces. A student who has this name but another e-mail address is not taken. `passing` are numbers that
        the LMS gives for one assignment: in `students.csv` they may be of somebody else, so that the name must not be
        another one. It is None if the LMS's numbers stay. Another number is then another person.
        Raises Unplaced if nobody fits, more than one student does, or the number is of one student and the name of
        another.
        """
        called = self.called(name)
        for number in numbers:
            found = _distinct(self.by_number.get(number.casefold(), ()))
            if found:
                student = self._only(found, number)
                if number in (passing or ()) and number == student.id and _is_strange(student, name):
                    continue  # a number of one assignment that happens to be somebody's id
                if "@" not in number:
                    _refuse_another_name(student, number, name, called, number in (passing or ()))
                return student
        unknown = "add a line or collect with --add"
        if not name:
            who = " or ".join(map(repr, numbers[:1]))
            raise Unplaced(f"nobody in {STUDENTS_FILE} has {who} as id, e-mail or LMS number: {unknown}")
        if not called:
            key = name if set(numbers[:1]) & set(passing or ()) else "".join(numbers[:1])
            column = f"; or write {key} into the column {_column(numbers)} of the right line" if key else ""
            raise Unplaced(f"nobody in {STUDENTS_FILE} is called {name}: {unknown}{column}")
        emails = [number for number in numbers if "@" in number]
        same = [student for student in called if not _is_another(student, emails)]
        if not same:
            who = " and ".join(student.id for student in called)
            raise Unplaced(
                f"{who} in {STUDENTS_FILE} has this name, but another e-mail address than {emails[0]}: {unknown}; "
                "or correct the column email of the right line"
            )
        if passing is None:
            _refuse_another_number(same, numbers, name)
        return self._only(same, name, numbers, passing or ())

    def find_in_path(self, path: str) -> Student:
        """Return the student whose id, e-mail address, LMS number or name occurs in a path.

        A surname is enough if no other student's name has that word.
        Raises Unplaced if nobody fits, if several students do, or if number and name in the path are of different
        students.
        """
        whole = path.casefold()
        words = set(names.parts(path))
        pieces = {piece.strip() for part in whole.split("/") for piece in (part, *part.replace("_", " ").split())}
        pieces |= {piece.rpartition(".")[0] for piece in pieces}
        found = _distinct(student for piece in pieces for student in self.by_number.get(piece, ()))
        ends = filter(None, map(self._github_name, pieces))
        found = found or _distinct(student for end in ends for student in self.by_number[end])
        complete = {key: students for key, students in self.by_name.items() if key and words.issuperset(key)}
        longest = max(map(len, complete), default=0)
        named = _distinct(each for key, students in complete.items() if len(key) == longest for each in students)
        if longest > 1 and found and not {each.id for each in found} & {each.id for each in named}:
            who = " or ".join(map(str, named))  # a name of one word may be an assignment's instead
            raise Ambiguous(f"{path} has an id or number of {found[0]}, but the name of {who}: correct {STUDENTS_FILE}")
        found = found or named or self._by_one_word(words)
        if not found:
            raise Unplaced(
                f"nobody in {STUDENTS_FILE} is named in this path: add the name, as written here, to the column lms, "
                "or collect with --add if each student has a folder"
            )
        return self._only(found, path)

    def _github_name(self, piece: str) -> str:
        """Return the longest user name at the end of a name such as "lab-0-ann-lee" of GitHub Classroom, or ""."""
        parts = piece.split("-")
        ends = ("-".join(parts[at:]) for at in range(1, len(parts)))
        return next((end for end in ends if end in self.by_number and not end.isdecimal()), "")

    def group(self, name: str) -> list[Student]:
        """Return the students whose column `group` holds `name`, which may be written as in the path of a file."""
        groups = {student.group for student in self.students if student.group}
        for written in (names.file_name, names.parts, lambda text: "".join(names.parts(text))):
            found = [group for group in groups if written(name) and written(group) == written(name)]
            if found:
                return [student for student in self.students if found == [student.group]]
        return []

    def without_group(self, name: str) -> str:
        """Return `name` without a group in front: Moodle writes "Team 7-Anna Petrova" for a member of "Team 7".

        Only groups of `students.csv` are recognised. Other names are returned unchanged.
        """
        groups = (student.group for student in self.students if student.group)
        return next((name.removeprefix(f"{each}-") for each in groups if name.startswith(f"{each}-")), name)

    def called(self, name: str) -> list[Student]:
        """Return the students with a name, which may be written without spaces."""
        words = names.parts(name)
        found = self.by_name.get(names.key(name), []) if words else []
        if not found and len(words) == 1:
            found = self.by_joined.get(words[0], [])
        return _distinct(found)

    def _by_one_word(self, words: set[str]) -> list[Student]:
        """Return the students whom one of `words` identifies: it is a word of their name and of no other student's."""
        owners: dict[str, list[Student]] = defaultdict(list)
        for student in self.students:
            for word in names.parts(student.name):
                owners[word].append(student)
        return _distinct(owners[word][0] for word in words if len(_distinct(owners.get(word, ()))) == 1)

    @staticmethod
    def _only(found: list[Student], said: str, numbers: Sequence[str] = (), passing: Collection[str] = ()) -> Student:
        if len(found) == 1:
            return found[0]
        who = " or ".join(map(str, found[:4]))
        number = numbers[0] if numbers else repr(said)
        remedy = f"write {number} into the column {_column(numbers)} of the right line of {STUDENTS_FILE}"
        if number in passing:
            remedy += (
                " (the number belongs to one assignment: better write e-mail addresses into the column email, and "
                "collect with --worksheet)"
            )
        raise Ambiguous(f"{said} may be {who}: {remedy}")


def _column(numbers: Sequence[str]) -> str:
    """Return the column of `students.csv` for the first of `numbers`: "email" for an address, otherwise "lms"."""
    return "email" if numbers and "@" in numbers[0] else "lms"


def _refuse_another_name(student: Student, number: str, name: str, called: Sequence[Student], passes: bool) -> None:
    """Raise Ambiguous if `student` has the number, but only others have the name.

    `called` are the students with the name. A name that nobody has proves nothing: an LMS may have another spelling.
    If the number `passes` with the assignment, names without a common word prove that it is of another one.
    """
    if (called and student not in called) or (passes and _is_strange(student, name)):
        column = "id" if number.casefold() == student.id.casefold() else "lms"
        raise Ambiguous(
            f"{number} is {student} in {STUDENTS_FILE}, but the LMS says {name}: correct the column {column}"
        )


def _is_strange(student: Student, name: str) -> bool:
    """Return whether a name has no word in common with what is known of a student."""
    own = {word for text in (student.name, *student.lms) for word in names.parts(text)}
    return bool(own and name and not own.intersection(names.parts(name)))


def _refuse_another_number(students: Sequence[Student], numbers: Sequence[str], name: str) -> None:
    """Raise Ambiguous if the only student with a name has another number of the LMS than `numbers`."""
    mine = [number for number in numbers if number.isdecimal()]
    others = [number for number in students[0].lms if number.isdecimal()]
    if len(students) == 1 and mine and others:
        raise Ambiguous(
            f"{students[0]} has this name, but {others[0]} in the column lms of {STUDENTS_FILE} and not {mine[0]}: "
            f"if {name} is somebody else, add a line or collect with --add; otherwise correct the column"
        )


def _is_another(student: Student, emails: Sequence[str]) -> bool:
    """Return whether a student's e-mail address differs from all of `emails`.

    Only the part before the @ is compared. Returns False if the student has no address or `emails` is empty.
    """
    own = student.email.casefold().partition("@")[0]
    return bool(own and emails) and all(own != each.casefold().partition("@")[0] for each in emails)


def _distinct(students: Iterable[Student]) -> list[Student]:
    return list({student.id: student for student in students}.values())


def read_roster(root: Path) -> Roster:
    """Read the students of the course in the folder `root`. Without a file `students.csv` the roster is empty.

    Raises UserError if the file has no column `id`, an empty or repeated id, or an id that cannot be a folder's name.
    """
    path = root / STUDENTS_FILE
    if not path.exists():
        return Roster([])
    text = read_csv(path)
    columns = {text.cell(0, at).strip().casefold(): at for at in range(len(text.rows[0]))} if text.rows else {}
    if "id" not in columns:
        raise UserError(f"{path} has no column `id`: its first line must be {','.join(COLUMNS)}", _EXAMPLE)
    students: dict[str, Student] = {}
    for row in range(1, len(text.rows)):
        cells = {name: from_text(text.cell(row, columns[name]).strip()) if name in columns else "" for name in COLUMNS}
        if not any(cells.values()):
            continue
        identity = cells["id"]
        if not identity or identity in (".", "..") or any(c in identity for c in "/\\\0") or identity.startswith("."):
            raise UserError(f"{path}, line {row + 1}: the id {identity!r} cannot be the name of a folder", _EXAMPLE)
        if identity in students:
            raise UserError(
                f"{path}, line {row + 1}: the id {identity} is there twice; each student needs an own one", _EXAMPLE
            )
        lms = tuple(filter(None, map(str.strip, cells["lms"].split(";"))))
        more = (cells["group"], cells["extensions"], cells["dropped"])
        students[identity] = Student(identity, cells["name"], cells["email"], lms, *more)
    return Roster(list(students.values()))


def add_students(root: Path, students: Sequence[Student]) -> None:
    """Append students to `students.csv`, or create the file. Other columns stay as they are.

    A column that is missing is added. A file in cp1251 becomes one in UTF-8: cp1251 has no letters such as "ü".
    """
    path = root / STUDENTS_FILE
    if not path.exists():
        rows = [list(COLUMNS)]
        rows += [[s.id, s.name, s.email, ";".join(s.lms), s.group, s.extensions, s.dropped] for s in students]
        write_csv(path, rows)
        return
    text = read_csv(path)
    columns = {text.cell(0, at).strip().casefold(): at for at in range(len(text.rows[0]))}
    end = text.ends[0] or "\n"
    text.ends[-1] = text.ends[-1] or end
    for s in students:
        text.rows.append([""] * len(columns))
        text.ends.append(end)
        values = {"id": s.id, "name": s.name, "email": s.email, "lms": ";".join(s.lms), "group": s.group}
        for name, value in values.items():
            if not value:
                continue
            if name not in columns:
                columns[name] = max(map(len, text.rows))  # a line may have more cells than the titles
                text.replace(0, columns[name], name)
            text.replace(len(text.rows) - 1, columns[name], as_csv(value))
    if text.encoding == "cp1251":
        text.mark, text.encoding = codecs.BOM_UTF8, "utf-8"
    draft = path.with_name(f".{STUDENTS_FILE}.new")  # a killed process must not leave half a list
    draft.write_bytes(text.to_bytes())
    draft.replace(path)
