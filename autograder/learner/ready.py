"""`ready()`: a trial before a notebook is handed in.

The saved notebook is run from top to bottom in a fresh process. The learner sees the notebook's points and a list of
problems to fix.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import exercises
from ..checking.exercise import Exercise
from ..checking.verdict import MIME, Verdict, VerdictState
from ..exercises.moved import moved_from
from ..grade_ids import CellKind, GradeId
from ..language import Text
from ..lessons.source import NOTEBOOKS
from ..messages.learners import message
from ..session import SESSION, being_graded
from .chosen_path import chosen_path
from .notebooks.headings import title_of
from .notebooks.notebook_file import Unreadable, read_notebook, restore_metadata, untouched
from .notebooks.own_notebook import colab_notebook, own_path
from .points import LessonNotebook, describe_assignment, describe_due_date, describe_state, nbgrader_of
from .replies import Reply, TableReply

CELL_SECONDS = 120  # seconds until a cell is interrupted; the run goes on with the next cell


def rehearse(path: str | None) -> TableReply | Reply:
    """Run the saved notebook in a fresh process and return a table of its points.

    `path` is needed only if the notebook's path cannot be detected. In Colab the open notebook is run. Returns a
    `Reply` that names the cause if the notebook cannot be run. Without nbclient, the table has the points of this
    session.
    """
    if being_graded():
        return Reply((message("run.checking", name="ready"),))  # this call runs inside the fresh run
    found = path or own_path()
    if found:
        file = Path(found).expanduser().resolve()
        if not file.is_file():
            return Reply((message("ready.no_file", path=file),))
        return _with_next_lesson(_rehearse(file, file.parent, message("ready.file", path=file)), file)
    notebook = colab_notebook()
    if notebook is None:
        return Reply((message("ready.unknown_file"),))
    name = str(notebook.get("metadata", {}).get("colab", {}).get("name") or f"{SESSION.lesson}.ipynb")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / Path(name).name
        file.write_text(json.dumps(notebook), encoding="utf-8")
        return _rehearse(file, Path.cwd(), message("ready.file_in_colab", name=name))


def _with_next_lesson(tried: TableReply | Reply, file: Path) -> TableReply | Reply:
    """Add a link to the notebook of the next lesson on the learner's path, if it is beside the notebook `file`."""
    lessons, chosen = sorted(file.parent.glob("[0-9][0-9]_*.ipynb")), chosen_path()
    if chosen:
        lessons = [path for path in lessons if path.stem in chosen.counts]
    following = [path for path in lessons if path > file] if file in lessons else []
    if not isinstance(tried, TableReply) or not following:
        return tried
    try:
        link = f"[{title_of(following[0], read_notebook(following[0]))}]({following[0].name})"
    except Unreadable:
        return tried
    return replace(tried, below=(*tried.below, message("progress.next", link=link).read(SESSION.speaks)))


def _rehearse(file: Path, folder: Path, hand_in: Text) -> TableReply | Reply:
    """Run the notebook `file` in `folder`, and return a table or a `Reply` as `rehearse` does.

    `hand_in` is the sentence that names the file to hand in.
    """
    try:
        notebook = read_notebook(file)
        metadata = notebook.get("metadata", {})
        known = _exercises(notebook)
        if not known:
            return Reply((message("ready.no_lesson", path=file),))
        restore_metadata(notebook, _built(known, _language(metadata)))
        absent = next((name for name in ("nbclient", "nbformat") if find_spec(name) is None), None)
        if absent:
            return _session_table(LessonNotebook(notebook["cells"], metadata, known), absent, hand_in)
        return _table(fresh_run(file, folder, metadata, known), hand_in)
    except Unreadable as error:
        return Reply((message("ready.unreadable", path=file, error=error),))


def _built(known: dict[str, Exercise], language: str) -> dict[str, Any]:
    """Return the built notebook of a lesson, or a notebook without cells for a private lesson."""
    lesson = next(iter(known.values())).lesson
    path = next((NOTEBOOKS / language).glob(f"??_{lesson}.ipynb"), None)
    return read_notebook(path) if path else {"cells": []}


def _exercises(notebook: dict[str, Any]) -> dict[str, Exercise]:
    """Return the exercises of a notebook's lesson, or of the session's lesson if the notebook names none.

    An old notebook may also hold exercises that have moved to another lesson since.
    """
    lesson = notebook.get("metadata", {}).get("autograder", {}).get("lesson") or SESSION.lesson
    if not lesson:
        return {}
    held = {nbgrader_of(cell).get("grade_id") for cell in notebook["cells"]}
    moved = [name for name in moved_from(lesson) if GradeId.of(CellKind.CHECK, name) in held]
    try:
        return {**exercises.load(lesson), **{name: exercises.find(name) for name in moved}}
    except exercises.Unknown:
        return {}


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
            for output in self.by_grade_id.get(GradeId.of(CellKind.CHECK, name), {}).get("outputs", []):
                record = output.get("data", {}).get(MIME)
                if record and record["exercise"] == name:
                    found[name] = Verdict.from_json(record)
        return found

    @property
    def errors(self) -> Iterator[str]:
        """Descriptions of the errors that cells raised. Cells tagged `raises-exception` are left out."""
        for cell in self.cells:
            if "raises-exception" not in cell["metadata"].get("tags", []):
                for output in cell.get("outputs", []):
                    if output["output_type"] == "error":
                        yield f"`{label(cell)}`: {output['ename']}: {textwrap.shorten(output['evalue'], 100)}"


def fresh_run(file: Path, folder: Path, metadata: dict[str, Any], known: dict[str, Exercise]) -> FreshRun:
    """Run a notebook in a fresh process, and return it with its outputs.

    `file` is the notebook's path, `folder` the working directory. `metadata` is the notebook's, before the run. `known`
    is a dict from name to exercise of its lesson.
    Raises Unreadable if the run fails.
    """
    print(message("ready.running", name=file.name).read(_language(metadata)))
    command = [
        sys.executable,
        "-m",
        "autograder.learner.notebooks.fresh_run",
        str(file),
        str(folder),
        str(CELL_SECONDS),
    ]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8")
    if ran.returncode:
        raise Unreadable(next(iter(ran.stderr.strip().splitlines()[-1:]), ""))
    result = json.loads(ran.stdout)
    restore_metadata(result["notebook"], _built(known, _language(metadata)))
    return FreshRun(result["notebook"]["cells"], metadata, known, result["ended_early"])


def _language(metadata: dict[str, Any]) -> str:
    return SESSION.language or metadata.get("autograder", {}).get("language") or "en"


def label(cell: dict[str, Any]) -> str:
    """Return the name under which a learner knows a cell: the exercise's name, or the cell's first line."""
    return (
        GradeId(nbgrader_of(cell).get("grade_id", "")).exercise or str(cell["source"]).strip().partition("\n")[0][:40]
    )


def _table(run: FreshRun, hand_in: Text) -> TableReply:
    verdicts = run.verdicts
    warnings = list(_unsaved(run)) or list(_unanswered(run, verdicts))
    to_mend = list(_to_mend(run, verdicts))
    title = "ready.not" if warnings or to_mend else "ready.title"
    return _points_table(run, verdicts, title, warnings, [*to_mend, *_points(run, verdicts, "ready.total")], hand_in)


def _session_table(notebook: LessonNotebook, absent: str, hand_in: Text) -> TableReply:
    """Return a table of the points of this session, for a machine that cannot run the notebook in a fresh process.

    `absent` is the missing package.
    """
    verdicts = {name: verdict for name, verdict in SESSION.last.items() if name in notebook.exercises}
    below = [message("ready.no_nbclient", name=absent), *_points(notebook, verdicts, "ready.session_total")]
    return _points_table(notebook, verdicts, "ready.not", list(_unsaved(notebook)), below, hand_in)


def _points_table(
    notebook: LessonNotebook,
    verdicts: dict[str, Verdict],
    title: str,
    warnings: list[Text],
    below: list[Text],
    hand_in: Text,
) -> TableReply:
    """Return a table of the notebook's points.

    `title` is the id of the table's title. `warnings` stand above the table, the sentences `below` under it. If there
    are warnings, this file should not be handed in yet, and the sentence `hand_in` is left out.
    """
    language = _language(notebook.metadata)

    def say(id: str) -> str:
        return message(id).read(language)

    rows = []
    for name in notebook.exercises:
        verdict = verdicts.get(name)
        state = describe_state(verdict).read(language) if verdict else "—"
        rows.append(
            (notebook.label(name, language), state, f"{notebook.earned(name, verdict):g}/{notebook.worth(name):g}")
        )
    if not warnings:
        below = [*below, hand_in, *describe_assignment(notebook.metadata)]
    below = [*below, *describe_due_date(notebook.metadata)]
    head = tuple(say(f"progress.{column}") for column in ("exercise", "state", "points"))
    told, said = (tuple(text.read(language) for text in texts) for texts in (warnings, below))
    return TableReply(say(title), head, tuple(rows), said, told)


def _unsaved(notebook: LessonNotebook) -> Iterator[Text]:
    names = [label(cell) for cell in notebook.cells if _differs(cell)]
    if names:
        yield message("ready.unsaved", names=", ".join(names))


def _unanswered(run: FreshRun, verdicts: dict[str, Verdict]) -> Iterator[Text]:
    """Yield a warning if the saved file has no answer at all."""
    written = [cell for cell in run.written() if not untouched(cell)]
    if verdicts and not written and all(verdict.state == VerdictState.NOT_ATTEMPTED for verdict in verdicts.values()):
        yield message("ready.nothing")


def _to_mend(run: FreshRun, verdicts: dict[str, Verdict]) -> Iterator[Text]:
    if run.metadata.get("autograder", {}).get("lesson") == SESSION.lesson:
        unsaved = [label(cell) for cell in run.cells if _differs(cell)]
        passed = [name for name, verdict in SESSION.last.items() if verdict.state == VerdictState.PASSED]
        lost = [n for n in passed if n in verdicts and verdicts[n].state != VerdictState.PASSED and n not in unsaved]
        if lost:
            yield message("ready.order", names=", ".join(lost))
    core = [name for name in run.exercises if run.counts(name)]
    unattempted = [name for name in core if name in verdicts and verdicts[name].state == VerdictState.NOT_ATTEMPTED]
    unattempted += [label(cell) for cell in run.written() if untouched(cell)]
    if unattempted:
        yield message("ready.unattempted", names=", ".join(unattempted))
    missing = [name for name in core if GradeId.of(CellKind.CHECK, name) not in run.by_grade_id]
    if missing:
        yield message("ready.missing", names=", ".join(missing))
    for error in run.errors:
        yield message("ready.failed_cell", error=error)
    if run.ended_early:
        yield message("ready.died")


def _differs(cell: dict[str, Any]) -> bool:
    ran = SESSION.cells.get(cell.get("id", ""))
    return ran is not None and ran.source.rstrip() != str(cell["source"]).rstrip()


def _points(notebook: LessonNotebook, verdicts: dict[str, Verdict], total: str) -> Iterator[Text]:
    """Yield the sentences on earned points and on points that a person gives.

    `total` is the id of the sentence on earned points.
    """
    core = [name for name in notebook.exercises if notebook.counts(name)]
    earned = sum(notebook.earned(name, verdicts.get(name)) for name in core)
    yield message(total, earned=f"{earned:g}", maximum=f"{notebook.total():g}")
    yield from notebook.describe_written()
