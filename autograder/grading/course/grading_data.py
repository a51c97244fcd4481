"""Snapshots of a course and an assignment as plain data, for another process."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from traitlets.config import Config

from ..limits import Limits
from .assignment_files import encoded_files
from .gradebook import ReleasedNotebook
from .settings import CourseSettings


@dataclass(frozen=True)
class CourseSnapshot:
    """A course's settings that grading depends on. It can be pickled.

    `ignore` are nbgrader's patterns of ignored files, `output` is the config of its `LimitOutput`.
    """

    root: Path
    limits: Limits
    isolated: bool
    ignore: tuple[str, ...]
    output: Config

    @classmethod
    def of(cls, course: CourseSettings, isolation: str | None = None) -> CourseSnapshot:
        """Take a snapshot. `isolation` overrides the course's own if it is not None."""
        isolated = (isolation or course.isolation.isolation) == "full"
        output = Config(LimitOutput=course.config.LimitOutput)
        return cls(course.root, course.isolation.limits(), isolated, tuple(course.ignore), output)


@dataclass(frozen=True)
class AssignmentSnapshot:
    """An assignment with its released notebooks and files. It can be pickled.

    `files` are in base64 by relative path. `due` is whether it has a due date. Equal digests mean equal snapshots.
    """

    name: str
    released: dict[str, ReleasedNotebook] = field(compare=False)
    files: dict[str, str] = field(compare=False)
    due: bool
    digest: str

    @classmethod
    def of(cls, source: Path, released: dict[str, ReleasedNotebook], due: bool) -> AssignmentSnapshot:
        """Take a snapshot of the assignment in the folder `source`. Raises UserError if its files are too large."""
        files = encoded_files(source)
        digest = hashlib.sha256(repr((source, released, files, due)).encode()).hexdigest()
        return cls(source.name, released, files, due, digest)
