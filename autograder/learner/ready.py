"""`ready()`: a trial before a notebook is handed in.

The saved notebook is run from top to bottom in a fresh process. The learner sees the notebook's points and a list of
problems to fix.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import exercises
from ..checking.verdict import MIME, Verdict
from ..language import Text
from ..messages.cards import message
from .points import LessonNotebook, nbgrader_of, this_notebook
from .replies import Reply, Table
from .session import SESSION, being_graded
from .working_copy import Unreadable, read_notebook

CELL_SECONDS = 120  # seconds until a cell is interrupted; the run goes on with the next cell

_ran: dict[str, str] = {}  # source of the last run of each cell in this kernel, by cell id


def remember_cells() -> None:
    """Record in IPython the source of each cell when it is run.

    `ready` compares this record with the saved notebook and thereby finds unsaved cells.
    """
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None and _remember not in shell.events.callbacks["pre_run_cell"]:
        shell.events.register("pre_run_cell", _remember)


def _remember(info: Any) -> None:
    if info.cell_id and not info.silent:
        _ran[info.cell_id] = info.raw_cell


def rehearse(path: str | None) -> Table | Reply:
    """Run the saved notebook in a fresh process and return a table of its points.

    `path` is needed only if the notebook's path cannot be detected. Returns a `Reply` that names the cause if the
    notebook cannot be run.
    """
    if being_graded():
        return Reply((message("ready.nested"),))  # this call runs inside the fresh run
    found = path or this_notebook()
    if not found:
        return Reply((message("ready.unknown_file"),))
    file = Path(found).expanduser().resolve()
    if not file.is_file():
        return Reply((message("ready.no_file", path=file),))
    try:
        run = fresh_run(file)
    except Unreadable as error:
        return Reply((message("ready.unreadable", path=file, error=error),))
    except ImportError as error:
        return Reply((message("ready.no_nbclient", name=error.name),))
    return _table(file, run) if run.exercises else Reply((message("ready.no_lesson", path=file),))


@dataclass(frozen=True)
class FreshRun(LessonNotebook):
    """A notebook after a run in a fresh process.

    The cells have outputs, and `ended_early` is True if the kernel died.
    """

    ended_early: bool

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """A dict from exercise name to verdict, read from the outputs of the check cells."""
        found = {}
        for name in self.exercises:
            for output in self.by_grade_id.get(f"check-{name}", {}).get("outputs", []):
                record = output.get("data", {}).get(MIME)
                if record and record["exercise"] == name:
                    found[name] = Verdict.from_json(record)
        return found

    def earned(self, name: str) -> float:
        """Return the points earned for exercise `name`, on the scale of its points in this notebook."""
        verdict = self.verdicts.get(name)
        return verdict.points_out_of(self.worth(name)) if verdict else 0.0

    @property
    def errors(self) -> Iterator[str]:
        """Descriptions of the errors that cells raised. Cells tagged `raises-exception` are left out."""
        for cell in self.cells:
            if "raises-exception" not in cell["metadata"].get("tags", []):
                for output in cell.get("outputs", []):
                    if output["output_type"] == "error":
                        yield f"`{label(cell)}`: {output['ename']}: {textwrap.shorten(output['evalue'], 100)}"


def fresh_run(file: Path) -> FreshRun:
    """Run the notebook `file` in a fresh process and return it with its outputs.

    Raises Unreadable if the file is no notebook or the run fails.
    Raises ImportError if nbclient or nbformat is not installed.
    """
    for name in ("nbclient", "nbformat"):
        if importlib.util.find_spec(name) is None:
            raise ImportError(name=name)
    metadata = read_notebook(file).get("metadata", {})
    lesson = metadata.get("autograder", {}).get("lesson") or SESSION.lesson
    try:
        known = exercises.load(lesson) if lesson else {}
    except exercises.Unknown:
        known = {}
    if not known:
        return FreshRun([], {}, {}, False)
    print(message("ready.running", name=file.name).read(_language(metadata)))
    command = [sys.executable, "-m", "autograder.learner.fresh_run", str(file), str(CELL_SECONDS)]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8")
    if ran.returncode:
        raise Unreadable(next(iter(ran.stderr.strip().splitlines()[-1:]), ""))
    result = json.loads(ran.stdout)
    return FreshRun(result["notebook"]["cells"], metadata, known, result["ended_early"])


def _language(metadata: dict[str, Any]) -> str:
    return SESSION.language or metadata.get("autograder", {}).get("language") or "en"


def label(cell: dict[str, Any]) -> str:
    """Return the name under which a learner knows a cell: the exercise's name, or the cell's first line."""
    exercise = str(nbgrader_of(cell).get("grade_id", "")).partition("-")[2]
    return exercise or str(cell["source"]).strip().partition("\n")[0][:40]


def _table(file: Path, run: FreshRun) -> Table:
    language = _language(run.metadata)

    def say(id: str) -> str:
        return message(id).read(language)

    verdicts = run.verdicts
    rows = []
    for name in run.exercises:
        verdict = verdicts.get(name)
        extra = "" if run.counts(name) else f" ({say('progress.extra')})"
        state = say(f"state.{verdict.state}") if verdict else "—"
        rows.append((name + extra, state, f"{run.earned(name):g}/{run.worth(name):g}"))
    to_mend = [text.read(language) for text in _to_mend(run, verdicts)]
    below = [*to_mend, *(text.read(language) for text in _summary(file, run))]
    head = tuple(say(f"progress.{column}") for column in ("exercise", "state", "points"))
    return Table(say("ready.not" if to_mend else "ready.title"), head, tuple(rows), tuple(below))


def _to_mend(run: FreshRun, verdicts: dict[str, Verdict]) -> Iterator[Text]:
    unsaved = [label(cell) for cell in run.cells if _differs(cell)]
    if unsaved:
        yield message("ready.unsaved", names=", ".join(unsaved))
    if run.metadata.get("autograder", {}).get("lesson") == SESSION.lesson:
        passed = [name for name, verdict in SESSION.last.items() if verdict.state == "passed"]
        lost = [n for n in passed if n in verdicts and verdicts[n].state != "passed" and n not in unsaved]
        if lost:
            yield message("ready.order", names=", ".join(lost))
    core = [name for name in run.exercises if run.counts(name)]
    unattempted = [name for name in core if name in verdicts and verdicts[name].state == "not attempted"]
    if unattempted:
        yield message("ready.unattempted", names=", ".join(unattempted))
    missing = [name for name in core if f"check-{name}" not in run.by_grade_id]
    if missing:
        yield message("ready.missing", names=", ".join(missing))
    for error in run.errors:
        yield message("ready.failed_cell", error=error)
    if run.ended_early:
        yield message("ready.died")


def _differs(cell: dict[str, Any]) -> bool:
    ran = _ran.get(cell.get("id", ""))
    return ran is not None and ran.rstrip() != str(cell["source"]).rstrip()


def _summary(file: Path, run: FreshRun) -> Iterator[Text]:
    core = [name for name in run.exercises if run.counts(name)]
    earned = sum(run.earned(name) for name in core)
    yield message("ready.total", earned=f"{earned:g}", maximum=f"{run.total():g}")
    written = [nbgrader_of(cell) for grade_id, cell in run.by_grade_id.items() if grade_id.startswith("written-")]
    if written:
        yield message("ready.manual", points=f"{sum(each.get('points', 0) for each in written):g}")
    yield message("ready.file", path=file)
