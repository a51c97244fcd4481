"""The engine behind `nbgrader autograde` and formgrader's button: two steps that stand in for nbgrader's own."""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum, Float, Integer

from .bench import Bench, Job
from .extras import find_extras
from .files import encoded, encoded_files
from .gradebook import Book, ReleasedNotebook
from .isolated.engine import Engine
from .isolated.isolation import Limits
from .sanitize import sanitize
from .standby import NoTemplate, Standby


class Sanitize(NbGraderPreprocessor):  # type: ignore[misc]
    """Makes the notebook anew from the student's text and what was released; see `sanitize`."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        ours = resources["nbgrader"]
        released = _released(ours)
        clean = sanitize(nb, released.cells, released.kernel)
        who = f"{ours['student']}, {ours['notebook']}"
        for said, names in (("is not there", clean.missing), ("was changed; as released again", clean.changed),
                            ("is there more than once; the last one counts", clean.repeated)):  # fmt: skip
            for name in names:
                self.log.warning("%s: cell %s %s", who, name, said)
        return clean.notebook, resources


class RunIsolated(NbGraderPreprocessor):  # type: ignore[misc]
    """Runs the cells in an isolated child and judges the checks here. A course sets the traits in its config."""

    isolation = Enum(
        ("full", "none"), "full", help="'none' runs students' code as your own user, where it can read what you can"
    ).tag(config=True)
    cell_seconds = Float(Limits.cell_seconds, help="seconds that one cell may run").tag(config=True)
    total_seconds = Float(Limits.total_seconds, help="seconds that a whole notebook may run").tag(config=True)
    memory_mb = Integer(Limits.memory >> 20, help="memory that a notebook may take, in MB").tag(config=True)

    def limits(self) -> Limits:
        return Limits(self.cell_seconds, self.total_seconds, self.memory_mb << 20)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        ours = resources["nbgrader"]
        key = (self.limits(), self.isolation == "full")
        try:
            outcome = _bench(*key).run(_job(Path.cwd(), ours), nb, self._beside(ours))  # it works in the course's root
        except NoTemplate:
            del _benches[key]  # a server lives on: its next click begins anew
            raise
        for flag in outcome.flags:
            self.log.warning("%s, %s: a person has to look: %s", ours["student"], ours["notebook"], flag)
        if outcome.ended:
            self.log.warning("%s, %s: stopped: %s", ours["student"], ours["notebook"], outcome.ended)
        return nb, resources

    def _beside(self, ours: Any) -> dict[str, str]:
        """Return the student's own files, and log which of them are ignored."""
        course = CourseDirectory(config=self.config)
        folder = course.format_path(course.submitted_directory, ours["student"], ours["assignment"])
        extras = find_extras(Path(folder), course.ignore)
        for note in extras.notes:
            self.log.warning("%s, %s: %s", ours["student"], ours["notebook"], note)
        return encoded(extras.own)


_benches: dict[tuple[Limits, bool], Bench] = {}
_jobs: dict[tuple[object, ...], Job] = {}


def _bench(limits: Limits, isolated: bool) -> Bench:
    """One template serves all submissions of a run; formgrader's server keeps it between two clicks."""
    key = (limits, isolated)
    if key not in _benches:
        standby = Standby(lambda: Engine(limits, isolated=isolated))
        atexit.register(standby.close)
        _benches[key] = Bench(standby)
    return _benches[key]


def _job(root: Path, ours: Any) -> Job:
    """A notebook of an assignment, prepared once for all submissions, and anew when its files have changed."""
    source, name = root / "source" / ours["assignment"], ours["notebook"]
    key = (source, name, *((path, path.stat().st_mtime_ns) for path in sorted(source.rglob("*"))))
    if key not in _jobs:
        _jobs[key] = Job(root, name, _released(ours).cells, encoded_files(source))
    return _jobs[key]


def _released(ours: Any) -> ReleasedNotebook:
    with Gradebook(ours["db_url"]) as gradebook:
        return Book(gradebook, None).released(ours["assignment"])[ours["notebook"]]
