"""Moodle's assignment: what it exports, and a judge of what it imports.

The rules are those of Moodle's sources, with file and function named at each. They differ by version: 4.1 moved the
archive from `mod/assign/locallib.php` to `mod/assign/classes/downloader.php`.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath

from support.lms.files import Files, write_zip

# `lang/LANGUAGE/assign.php`, `moodle.php`, `assignfeedback_comments.php` and `langconfig.php` of the language packs.
_WORDS = {
    "en": {
        "recordid": "Identifier", "hiddenuser": "Participant ", "participant": "Participant", "fullname": "Full name",
        "email": "Email address", "idnumber": "ID number", "status": "Status", "submissionteam": "Group",
        "marker": "Marker", "grade": "Grade", "maxgrade": "Maximum grade", "scale": "Scale",
        "markingworkflowstate": "Marking workflow state", "gradecanbechanged": "Grade can be changed",
        "lastmodifiedsubmission": "Last modified (submission)", "lastmodifiedgrade": "Last modified (grade)",
        "comments": "Feedback comments", "submitted": "Submitted for grading", "draft": "Draft (not submitted)",
        "nothing": "No submission", "extended": "Extension granted until: {}", "yes": "Yes", "no": "No",
        "defaultteam": "Default group", "notmarked": "Not marked", "decsep": ".",
    },
    "ru": {
        "recordid": "Идентификатор", "hiddenuser": "Участник", "participant": "Участник", "fullname": "Полное имя",
        "email": "Адрес электронной почты", "idnumber": "Индивидуальный номер", "status": "Статус",
        "submissionteam": "Группы", "marker": "Оценщик", "grade": "Оценка", "maxgrade": "Максимальная оценка",
        "scale": "Шкала", "markingworkflowstate": "Состояние поэтапного оценивания",
        "gradecanbechanged": "Оценка может быть изменена", "lastmodifiedsubmission": "Последнее изменение (ответ)",
        "lastmodifiedgrade": "Последнее изменение (оценка)", "comments": "Отзыв в виде комментария",
        "submitted": "Отправлено для оценивания", "draft": "Черновик (не представлен)",
        "nothing": "Нет ответа на задание", "extended": "Продлено до: {}", "yes": "Да", "no": "Нет",
        "defaultteam": "Группа по умолчанию", "notmarked": "Не оценено", "decsep": ",",
    },
}  # fmt: skip
_WORDS["en_us"] = _WORDS["en"]
_MONTHS_RU = (
    "января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября",
    "декабря",
)  # fmt: skip
_DAYS_RU = ["понедельник", "вторник", "среда", "четверг", "пятница", "суббота", "воскресенье"]
_NO_FILE_NAME = re.compile(r"""[\x00-\x1f\x7f&<>"`|':\\/]""")  # `clean_param` for PARAM_FILE in `lib/moodlelib.php`


@dataclass
class Member:
    """A participant of the assignment.

    `number` is `assign::get_uniqueid_for_user`, `group` the name of the group. `files` are what was handed in, or None.
    `grade` and `comment` stand in Moodle already; `graded` is when they were given.
    """

    number: int
    given: str
    surname: str
    email: str = ""
    id_number: str = ""
    group: str = ""
    came: datetime | None = None
    files: Files | None = field(default=None, repr=False)
    online_text: str = ""
    draft: bool = False
    extended: datetime | None = None
    grade: str = ""
    comment: str = ""
    graded: datetime | None = None
    locked: bool = False


@dataclass
class Assignment:
    """An assignment on a Moodle site.

    `version` is that of the site. `folders` is the preference `assign_downloadasfolders`. `surname_first` is the site's
    `fullnamedisplay`. `identity` are the fields of `showuseridentity`. `group_mode` is the group whose participants the
    teacher sees. `groups` maps names of groups to numbers. `scale` are the words of a scale.
    """

    members: list[Member]
    version: tuple[int, int] = (4, 1)
    language: str = "en"
    folders: bool = True
    blind: bool = False
    teams: bool = False
    surname_first: bool = False
    identity: Sequence[str] = ("email",)
    group_mode: str = ""
    groups: Mapping[str, int] = field(default_factory=dict)
    maximum: float = 100.0
    scale: Sequence[str] = ()
    workflow: bool = False
    markers: bool = False
    separator: str = ","

    @property
    def words(self) -> Mapping[str, str]:
        return _WORDS[self.language]

    def full_name(self, member: Member) -> str:
        """`fullname()` in `lib/moodlelib.php`."""
        names = (member.surname, member.given) if self.surname_first else (member.given, member.surname)
        return " ".join(names)

    # ------------------------------------------------------------------------------------------------ what it exports

    def archive(self, path: Path, time: datetime = datetime(2026, 9, 20, 12)) -> Path:
        """Write the archive of all submissions."""
        files: Files = {}
        for member in self.members:
            prefix = self._prefix(member)
            for plugin, own in (("file", member.files or {}), ("onlinetext", self._online(member))):
                for name, data in own.items():
                    files[self._path(prefix, plugin, name)] = data
        return write_zip(path, files, time)

    @staticmethod
    def _online(member: Member) -> Files:
        return {"onlinetext.html": member.online_text} if member.online_text else {}

    def _prefix(self, member: Member) -> str:
        """`download_submissions` up to 4.0, `downloader::get_student_prefix` from 4.1."""
        person = self.words["participant"] if self.blind else self.full_name(member)
        if self.version >= (4, 1):
            if self.teams:
                number = f"_{self.groups[member.group]}" if member.group else ""
                name = format_string(member.group) if member.group else self.words["defaultteam"]
                return _clean(name.replace("_", " ") + number)
            return _clean(f"{person.replace('_', ' ')}_{member.number}")
        group = f"{self.group_mode}-" if self.group_mode else ""
        if self.teams:
            group = f"{member.group or self.words['defaultteam']}-"
        return _clean(f"{(group + person).replace('_', ' ')}_{member.number}")

    def _path(self, prefix: str, plugin: str, name: str) -> str:
        """`downloader::load_submissionplugin_filelist`; up to 4.0 the folder has a final underscore."""
        final = "" if self.version >= (4, 1) else "_"
        if self.folders:
            path = f"{_clean(f'{prefix}_assignsubmission_{plugin}')}{final}/{name}"
        else:
            path = _clean(f"{prefix}_assignsubmission_{plugin}_{PurePosixPath(name).name}")
        return _filter_filename(path) if self.version >= (4, 1) else path

    def worksheet(self, path: Path, only: Sequence[Member] | None = None) -> Path:
        """Write the grading worksheet: `assign_grading_table` in `mod/assign/gradingtable.php`."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator="\n")
        writer.writerow(self.words[name] for name in self._columns())
        for member in self.members if only is None else only:
            cells = {
                "recordid": f"{self.words['hiddenuser']}{member.number}",
                "fullname": self.full_name(member),
                "email": member.email,
                "idnumber": member.id_number,
                "status": self._status(member),
                "submissionteam": member.group or self.words["defaultteam"],
                "marker": "",
                "grade": member.grade,
                "maxgrade": self._number(self.maximum),
                "scale": ("\n" if self.version < (5, 0) else "   ").join(self.scale),
                "markingworkflowstate": self.words["notmarked"],
                "gradecanbechanged": self.words["no" if member.locked else "yes"],
                "lastmodifiedsubmission": self.date(member.came) if member.came else "-",
                "lastmodifiedgrade": self.date(member.graded) if member.graded else "-",
                "comments": member.comment,
            }
            writer.writerow(cells[name] for name in self._columns())
        path.write_text(text.getvalue(), encoding="utf-8")
        return path

    def _columns(self) -> list[str]:
        """The columns of a downloaded table, in the order of `assign_grading_table::__construct`."""
        people = [] if self.blind else ["fullname", *self.identity]
        marker = ["marker"] if self.markers else []
        flow = ["markingworkflowstate"] if self.workflow or self.markers else []
        return [
            "recordid", *people, "status", *(["submissionteam"] if self.teams else []), *marker, "grade",
            "scale" if self.scale else "maxgrade", *flow, "gradecanbechanged", "lastmodifiedsubmission",
            "lastmodifiedgrade", "comments",
        ]  # fmt: skip

    def _status(self, member: Member) -> str:
        """`assign_grading_table::col_status`."""
        said = [self.words["draft" if member.draft else "submitted"] if member.came else self.words["nothing"]]
        said += [self.words["notmarked"]] if self.workflow else []
        said += [self.words["extended"].format(self.date(member.extended))] if member.extended else []
        return " - ".join(said)

    def _number(self, value: float) -> str:
        return f"{value:.2f}".replace(".", self.words["decsep"])

    def date(self, time: datetime) -> str:
        """`userdate` with `strftimedaydatetime` of the language."""
        if self.language == "ru":
            return f"{_DAYS_RU[time.weekday()]}, {time.day} {_MONTHS_RU[time.month - 1]} {time.year}, {time:%H:%M}"
        hour = f"{time.hour % 12 or 12}:{time:%M %p}"
        if self.language == "en_us":
            return f"{time:%A}, {time:%B} {time.day}, {time.year}, {hour}"
        return f"{time:%A}, {time.day} {time:%B %Y}, {hour}"

    # ------------------------------------------------------------------------------------------------ what it imports

    def import_worksheet(self, data: bytes, *, ignores_modified: bool = False) -> None:
        """Take grades and comments from a worksheet.

        `assignfeedback_offline_grade_importer` in `feedback/offline/importgradeslib.php`, and `process_import_grades`
        in `feedback/offline/locallib.php`.
        """
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=self.separator))
        at = {name: rows[0].index(self.words[name]) for name in ("recordid", "grade", "lastmodifiedgrade", "comments")}
        by_number = {str(member.number): member for member in self.members}
        for row in rows[1:]:
            member = by_number.get(row[at["recordid"]][len(self.words["hiddenuser"]) :])
            if member is None:
                continue
            modified = self._strtotime(row[at["lastmodifiedgrade"]])
            stale = member.graded is not None and member.graded > modified + timedelta(seconds=60)
            if stale and not ignores_modified:
                continue
            grade = self._imported(row[at["grade"]])
            if grade is not None and grade != self._imported(member.grade) and not member.locked:
                member.grade = grade if isinstance(grade, str) else self._number(grade)
                member.graded = datetime(2026, 10, 1)
            if row[at["comments"]] != member.comment:
                member.comment, member.graded = row[at["comments"]], datetime(2026, 10, 1)

    def _imported(self, text: str) -> float | str | None:
        """Return a grade as Moodle reads it, or None if Moodle skips it: `unformat_float`, or a word of the scale."""
        if self.scale:
            return text if text in self.scale else None
        found = re.match(r"\d+(\.\d+)?", text.replace(self.words["decsep"], "."))
        value = float(found[0]) if found else None
        return value if value is not None and 0 <= value <= self.maximum else None

    def _strtotime(self, text: str) -> datetime:
        """PHP's `strtotime`: it reads English alone, and gives the year 1970 for other languages."""
        known = {self.date(member.graded): member.graded for member in self.members if member.graded}
        return known[text] if self.language != "ru" and text in known else datetime(1970, 1, 1)

    def import_feedback(self, data: bytes) -> dict[int, dict[str, bytes]]:
        """Return the pages that each member gets: a dict from number to a dict from file name to contents.

        `is_valid_filename_for_import` and `import_zip_files` in `feedback/file/importziplib.php`. Up to 4.0 a folder
        has five parts; from 4.2 folders of teams have the number of the group (`get_participant_mapping`).
        """
        found: dict[int, dict[str, bytes]] = {}
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for path in archive.namelist():
                parts = path.split("/")
                for at, part in enumerate(parts):
                    info = part.split("_", 4)
                    if len(info) < (4 if self.version >= (4, 1) else 5) or not info[1].isdecimal():
                        continue
                    members = self._numbered(int(info[1]))
                    if members and info[2:4] == ["assignsubmission", "file"]:
                        rest = "/".join(filter(None, ["".join(info[4:]), *parts[at + 1 :]]))
                        for member in members:
                            found.setdefault(member.number, {})[rest] = archive.read(path)
                            member.graded = member.graded or datetime(2026, 10, 1)
                        break
        return found

    def _numbered(self, number: int) -> list[Member]:
        if self.teams and self.version >= (4, 2):
            return [each for each in self.members if each.group and self.groups[each.group] == number]
        return [each for each in self.members if each.number == number]


def format_string(text: str) -> str:
    """`format_string` in `lib/weblib.php`, for a site that strips tags from strings."""
    text, tags = re.sub(r"&(?![a-zA-Z0-9#]{1,8};)", "&amp;", text), []
    rest = text
    while "<" in rest:  # `strip_tags`: a tag begins with < and no space, and ends with > or with the text
        before, _, rest = rest.partition("<")
        if rest[:1].isspace():
            tags.append(f"{before}&lt;")
        else:
            tags.append(before)
            rest = rest.partition(">")[2]
    return "".join([*tags, rest]).replace(">", "&gt;")


def _filter_filename(path: str) -> str:
    """`ZipStream\\File::filterFilename`."""
    return re.sub(r"""[\\:*?"<>|]""", "_", path)


def _clean(name: str) -> str:
    """`clean_filename` in `lib/moodlelib.php`."""
    return _NO_FILE_NAME.sub("", name)
