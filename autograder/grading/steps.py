"""The engine behind `nbgrader autograde` and formgrader's button: two steps that stand in for nbgrader's own."""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum, Float, Integer

from . import hidden
from .files import encoded_files
from .gradebook import Book, ReleasedNotebook
from .isolated.engine import Engine
from .isolated.isolation import Limits
from .sanitize import sanitize
from .solved import try_solution
from .submission import Salts, run


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
        root = Path.cwd()  # nbgrader works in the course's root
        files = encoded_files(root / "source" / ours["assignment"])
        for _ in range(2):
            bench = _bench(self.limits(), self.isolation == "full")
            answers = bench.answers(root, ours["notebook"], ours, files)
            outcome = run(bench.engine, nb, answers, files, bench.salts)
            if outcome.ended != "died" or bench.engine.alive:
                break  # else the template has ended under it, which is nobody's fault: with another one
        for flag in outcome.flags:
            self.log.warning("%s, %s: a person has to look: %s", ours["student"], ours["notebook"], flag)
        if outcome.ended:
            self.log.warning("%s, %s: stopped: %s", ours["student"], ours["notebook"], outcome.ended)
        return nb, resources


class _Bench:
    """An engine, and the answers of the lessons that were tried on it."""

    def __init__(self, limits: Limits, isolated: bool) -> None:
        self.engine = Engine(limits, isolated=isolated)
        self.salts = Salts(self.engine)
        self._answers: dict[tuple[Path, str], hidden.Answers | None] = {}

    def answers(self, root: Path, notebook: str, ours: Any, files: dict[str, str]) -> hidden.Answers | None:
        if (root, notebook) not in self._answers:
            answers = hidden.answers(root, notebook)
            if answers:
                try_solution(self.engine, answers, _released(ours).cells, files)
                self.salts = Salts(self.engine)  # the template has learned imports: another one's fingerprints
            self._answers[root, notebook] = answers
        return self._answers[root, notebook]


_benches: dict[tuple[Limits, bool], _Bench] = {}


def _bench(limits: Limits, isolated: bool) -> _Bench:
    """One template serves all submissions of a run; formgrader's server keeps it between two clicks."""
    key = (limits, isolated)
    if key in _benches and not _benches[key].engine.alive:
        _benches.pop(key).engine.close()
    if key not in _benches:
        _benches[key] = _Bench(limits, isolated)
        atexit.register(_benches[key].engine.close)
    return _benches[key]


def _released(ours: Any) -> ReleasedNotebook:
    with Gradebook(ours["db_url"]) as gradebook:
        return Book(gradebook, None).released(ours["assignment"])[ours["notebook"]]
