"""A collection that is interrupted at any moment, or has no space: the next one makes it whole."""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support.course import Course
from support.first_gradient import NAME
from support.lms import Participant, collect, moodle_folder, write_archive, write_worksheet

PEOPLE = [
    Participant(4711 + n, name, email=f"{n}@x", came=datetime(2026, 9, 17)) for n, name in enumerate(["Анна Ли", "Bo"])
]


class Interrupter:
    """Functions that raise an error at the `at`-th call of any of them."""

    def __init__(self, at: int, error: Callable[[], BaseException]) -> None:
        self.at, self.error, self.calls = at, error, 0

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self.at:
                raise self.error()
            return function(*arguments, **named)

        return wrapped


def tree(folder: Path) -> dict[str, str]:
    """A hash of each file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


NIGHTLY = pytest.mark.nightly(
    twin="tests/grading/collecting/test_interrupted.py::test_the_next_collection_makes_it_whole"
)


@pytest.mark.parametrize("error", [KeyboardInterrupt, pytest.param(full, marks=NIGHTLY)], ids=["interrupted", "full"])
def test_the_next_collection_makes_it_whole(
    course: Course, work: Callable[..., str], tmp_path: Path, error: Callable[[], BaseException]
) -> None:
    old = write_archive(tmp_path / "old.zip", {f"{moodle_folder(who)}/{NAME}.ipynb": work("old") for who in PEOPLE})
    new = write_archive(tmp_path / "new.zip", {f"{moodle_folder(who)}/{NAME}.ipynb": work("new") for who in PEOPLE})
    sheet = write_worksheet(tmp_path / "w.csv", PEOPLE)
    whole = course.copy(tmp_path / "whole")
    for archive in (old, new):
        assert collect(whole, archive, "--worksheet", sheet) == 0
    expected = tree(whole.folder / "submitted")
    assert len(expected) == 4

    ended, at = False, 0
    while not ended:
        at += 1
        here = course.copy(tmp_path / f"{at}")
        assert collect(here, old, "--worksheet", sheet) == 0
        interrupter = Interrupter(at, error)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shutil, "copyfile", interrupter.wrap(shutil.copyfile))
            patch.setattr(Path, "rename", interrupter.wrap(Path.rename))
            patch.setattr(Path, "write_text", interrupter.wrap(Path.write_text))
            status = collect(here, new, "--worksheet", sheet)
        ended = interrupter.calls < at
        assert (status == 0) == ended, at
        assert collect(here, new, "--worksheet", sheet) == 0
        assert tree(here.folder / "submitted") == expected, at
        kept = [
            path.read_text()
            for path in (here.folder / "attempts").rglob("*.ipynb")
            if not path.parent.name.startswith(".")
        ]
        assert len(kept) == 4, at
        assert not list((here.folder / ".autograder").glob("collect-*"))
    assert at > 8
