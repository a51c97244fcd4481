"""The senders of files, read from the paths that an LMS made.

Each LMS has its own form of paths, such as `Ann Lee_7_assignsubmission_file/x.ipynb` in Moodle. Sources: Moodle's
`mod/assign/classes/downloader.php`, Canvas' `lib/content_zipper.rb`, nbgrader's documentation of `zip_collect` for
Blackboard, and nbgrader's `exchange/default/submit.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from ..files.nbgrader_files import utc_time


@dataclass(frozen=True)
class Origin:
    """The sender of a file, as far as its path tells.

    `name` is a person's or a group's name. `numbers` are numbers or user names of the LMS, the longest first. `attempt`
    is a key that all files of one attempt share. `rest` is the file's path as the student named it. `time` is the time
    of submission, in local time if it has no time zone. `time_from` is its source. `late` is True if Canvas marks the
    file as late. `hidden` tells whether the LMS hides names.
    """

    name: str
    numbers: tuple[str, ...]
    attempt: str
    rest: str
    time: datetime | None = None
    late: bool = False
    hidden: bool = False
    time_from: str = "file name"


@dataclass(frozen=True)
class Form:
    """The form in which one LMS names the files of an archive.

    `title` names the LMS. `pattern` matches a path, and `origin` makes an `Origin` of the match. `keeps_times` tells
    whether modification times in the archive are those of submissions. In Canvas they are those of the download.
    """

    title: str
    pattern: re.Pattern[str]
    origin: Callable[[re.Match[str]], Origin]
    keeps_times: bool = True

    def read(self, path: str) -> Origin | None:
        """Return who handed in the file at `path`, such as `Ann Lee_7_assignsubmission_file/x.ipynb` in Moodle.

        Returns None if the path has another form.
        """
        found = self.pattern.match(path)
        return self.origin(found) if found else None


@dataclass(frozen=True)
class Reading:
    """The form of an archive's paths, and the number of enclosing folders."""

    form: Form
    depth: int  # number of the enclosing folders

    def origin(self, entry: str) -> Origin | None:
        """Return who handed in the file at `entry`, a path in the archive, or None if the path has another form."""
        return self.form.read(_below(entry, self.depth))


# Blind marking: the word for "participant" in the course's language, with the name of a team in front.
_PARTICIPANT = re.compile(r"(?i)(.*-)?(participante?|участник|учасник|teilnehmer(/in)?|deelnemer)")


def _moodle(found: re.Match[str]) -> Origin:
    name, number = found["name"].strip(), found["number"]
    hidden = bool(_PARTICIPANT.fullmatch(name))
    return Origin(name, (number,), number, found["rest"], hidden=hidden)


def _exchange(found: re.Match[str]) -> Origin:
    try:
        time = utc_time(found["time"])
    except ValueError:
        return Origin("", (found["user"],), found["time"], found["rest"])
    return Origin("", (found["user"],), found["time"], found["rest"], time)


def _blackboard(found: re.Match[str]) -> Origin:
    try:
        time = datetime.strptime(found["time"], "%Y-%m-%d-%H-%M-%S")
    except ValueError:
        time = None
    # The assignment's name stands before the user's, and both may have underscores.
    pieces = found["user"].split("_")
    users = tuple("_".join(pieces[at:]) for at in range(len(pieces)))
    return Origin("", users, f"{pieces[-1]} {found['time']}", (found["rest"] or "attempt.txt").lstrip("_"), time)


def _canvas(found: re.Match[str]) -> Origin:
    rest = found["rest"] or f"{found['page']}.html"
    if found["anonymous"]:
        number, late = found["anonymous"], bool(found["late_anonymous"])
        return Origin("", (number,), number, rest, late=late, hidden=True)
    return Origin(found["name"], (found["number"],), found["number"], rest, late=bool(found["late"]))


MOODLE = Form(
    "Moodle",
    re.compile(
        r"(?P<name>[^_/]*)_(?P<number>\d+)_assign(?:submission|feedback)_(?:file|onlinetext)_?(?:/|_)(?P<rest>.+)$"
    ),
    _moodle,
)
EXCHANGE = Form(
    "nbgrader's exchange",
    re.compile(r"(?P<user>[^/+]+)\+[^/+]+\+(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^/+]*)(?:\+[^/]*)?/(?P<rest>.+)$"),
    _exchange,
)
BLACKBOARD = Form(
    "Blackboard",
    re.compile(r"(?P<user>[^/]+?)_[^\W\d_]+_(?P<time>\d{4}(?:-\d\d){5})(?:(?P<rest>_[^/]+)|\.txt)$"),
    _blackboard,
)
CANVAS = Form(
    "Canvas",
    re.compile(
        r"(?:(?P<late_anonymous>LATE_)?anon_(?P<anonymous>[^_/]+)|(?P<name>[^\W_]+)(?P<late>_LATE)?_(?P<number>\d+))"
        r"_(?:\d+_(?P<rest>[^/]+)|(?P<page>text|link)\.html)$"
    ),
    _canvas,
    keeps_times=False,
)
FORMS = (MOODLE, EXCHANGE, BLACKBOARD, CANVAS)


def recognise(entries: Collection[str]) -> Reading | None:
    """Return the form that at least half of an archive's paths have, or None if no form has so many.

    `entries` are the paths that the LMS made. Entries in one folder count once, because a student may have named them.
    Only folders that enclose all entries are skipped, so that no student's folder is taken for the LMS's.
    """
    for depth in range(common_folders(entries) + 1):
        groups: dict[str, set[Form]] = {}
        for path in {_below(entry, depth) for entry in entries}:
            groups.setdefault(path.partition("/")[0], set()).update(form for form in FORMS if form.pattern.match(path))
        counts = {form: sum(form in forms for forms in groups.values()) for form in FORMS}
        best = max(counts, key=lambda form: counts[form])
        if groups and 2 * counts[best] >= len(groups):
            return Reading(best, depth)
    return None


def common_folders(entries: Collection[str]) -> int:
    """Return the number of folders that enclose all entries: 1 for `["all/ann.zip", "all/bob/x.ipynb"]`."""
    parts = [entry.split("/")[:-1] for entry in entries]
    return sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, zip(*parts)))


def _below(entry: str, depth: int) -> str:
    return "/".join(entry.split("/")[depth:])
