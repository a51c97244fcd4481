"""Files of a submission except notebooks, read with limits on size."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...language import quantity
from ...messages.reasons import make_reason
from ..course.graded_folder import GRADING_RECORD
from ..files.inert_names import inert_name, one_line
from ..files.nbgrader_files import SECRET, TIMESTAMP
from ..files.notebook_file import Unreadable, load_file

MOST_FILES, LARGEST_TOGETHER = 200, 20 << 20  # files other than notebooks, and their total bytes
_MOST_ENTRIES = 5_000  # files that are examined
_NAMED = 5  # ignored files that are listed by name


@dataclass
class Extras:
    """The files below a submission's folder, by relative path.

    `notebooks` are only listed. `files` maps relative paths to contents of the other files. `ignored` maps the relative
    paths of files that were not read to the cause.
    """

    notebooks: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)  # the cause by relative path

    @property
    def own(self) -> dict[str, bytes]:
        """A dict from relative path to contents, for the files that the student has made.

        Files that nbgrader has added are left out.
        """
        return {path: data for path, data in self.files.items() if path not in (TIMESTAMP, SECRET)}

    @property
    def notes(self) -> list[str]:
        """Sentences on the ignored files.

        The first few files get a sentence each. One more sentence has the number of the remaining files.
        """
        named = [f"ignored: {one_line(path)} ({why})" for path, why in list(self.ignored.items())[:_NAMED]]
        more = len(self.ignored) - _NAMED
        return [*named, f"ignored: {quantity(more, 'more file')}"] if more > 0 else named


def find_extras(folder: Path, ignore: Sequence[str]) -> Extras:
    """List the notebooks below a submission's folder, and read all other files.

    Files whose names match one of nbgrader's patterns `ignore` are left out. Links and pipes are never opened.
    Raises OSError if the folder itself cannot be listed.
    """
    found, total = Extras(), 0
    regular: list[str] = []
    for number, (path, why) in enumerate(_entries(folder, ignore)):
        if number >= _MOST_ENTRIES:
            found.ignored["…"] = f"only {_MOST_ENTRIES} files are looked at"
            break
        if path.lower().endswith(".ipynb"):
            found.notebooks.append(path)
        elif why:
            found.ignored[path] = why
        else:
            regular.append(path)
    for path in sorted(regular, key=lambda path: (path not in (TIMESTAMP, SECRET), path)):
        if len(found.files) >= MOST_FILES:
            found.ignored[path] = f"more than {MOST_FILES} files"
            continue
        try:
            if (folder / path).lstat().st_size > LARGEST_TOGETHER - total:
                found.ignored[path] = f"more than {LARGEST_TOGETHER >> 20} MB together"
                continue
            data = load_file(folder / path, LARGEST_TOGETHER - total)
        except (Unreadable, OSError) as error:
            found.ignored[path] = str(error)
        else:
            found.files[path] = data
            total += len(data)
    return found


def _entries(folder: Path, ignore: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield a pair for each file: its relative path, and why it must not be opened.

    The second text is empty if the file may be opened.
    """
    left = [""]
    while left:
        prefix = left.pop()
        try:
            with os.scandir(folder / prefix) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            if not prefix:
                raise
            yield prefix, f"cannot be listed: {error.strerror}"
            continue
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if path == GRADING_RECORD or any(fnmatch.fnmatch(entry.name, pattern) for pattern in ignore):
                continue
            if entry.is_dir(follow_symlinks=False):
                left.append(f"{path}/")
            elif entry.is_symlink():
                yield path, "it is a link"
            else:
                yield path, "" if entry.is_file(follow_symlinks=False) else "it is no regular file"


def refuse_linked_notebook(submitted: Path, name: str) -> None:
    """Raise Unreadable if the notebook `name`, its folder or the student's folder is a link.

    The target of a link may belong to anybody. `submitted` is the folder of the submission.
    """
    for path in (submitted / f"{name}.ipynb", submitted, submitted.parent):
        if path.is_symlink():
            raise Unreadable(make_reason("cannot_open", name=f"{name}.ipynb", why=f"{path} is a link"))


def remove_copies(submitted: Path, copied: Path, source: Path) -> list[str]:
    """Remove from `copied` what nbgrader copied through links in the folder `submitted`.

    The copy of a link's target has the link's relative path. A copy stays if the assignment's folder `source` has a
    file with this path. Returns the relative paths of the removed files.
    """
    removed = []
    for path in sorted(copied.rglob("*")):
        inside = path.relative_to(copied)
        if (submitted / inside).is_symlink() and not (source / inside).exists():
            path.unlink()
            removed.append(inside.as_posix())
    return removed


def make_inert(copied: Path, source: Path) -> None:
    """Rename files that nbgrader copied into the folder `copied` and that could act on formgrader's pages.

    The assignment's own files, in the folder `source`, keep their names.
    """
    for path in sorted(copied.rglob("*")):
        inside = path.relative_to(copied)
        if path.is_file() and path.suffix != ".ipynb" and not (source / inside).exists():
            path.rename(path.with_name(inert_name(path.name)))
