"""A learner's notebook: its points, its assignment and its due date.

An instructor can change them in a notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from ..checking.exercise import Exercise
from ..checking.verdict import Verdict, VerdictState
from ..grade_ids import CellKind, GradeId
from ..language import Text, with_offset
from ..messages.learners import message
from ..session import being_graded
from .notebooks.notebook_file import Unreadable, read_notebook
from .notebooks.own_notebook import colab_notebook, own_path


@dataclass(frozen=True)
class LessonNotebook:
    """A notebook as JSON data, with its lesson's exercises.

    `exercises` is a dict from exercise name to exercise.
    """

    cells: list[dict[str, Any]]
    metadata: dict[str, Any]
    exercises: dict[str, Exercise]

    @property
    def by_grade_id(self) -> dict[GradeId, dict[str, Any]]:
        """A dict from grade id to cell.

        Of two cells with the same grade id the last is taken, as nbgrader does.
        """
        named = {GradeId(nbgrader_of(cell).get("grade_id", "")): cell for cell in self.cells}
        return {grade_id: cell for grade_id, cell in named.items() if grade_id}

    def counts(self, name: str) -> bool:
        """Return whether the points of exercise `name` count toward the grade.

        An instructor can make an extra exercise count.
        """
        return bool(self._check(name).get("grade", self.exercises[name].core))

    def worth(self, name: str) -> float:
        """Return the points that exercise `name` gives in this notebook."""
        points = self._check(name).get("points")
        return float(points) if isinstance(points, (int, float)) else self.exercises[name].points

    def earned(self, name: str, verdict: Verdict | None) -> float:
        """Return the points that a verdict on exercise `name` gives in this notebook. None gives 0."""
        return verdict.points_out_of(self.worth(name)) if verdict else 0.0

    def label(self, name: str, language: str) -> str:
        """Return title and name of exercise `name`, such as "Twice · `twice`". An extra exercise is marked."""
        extra = "" if self.counts(name) else f" ({message('progress.extra').read(language)})"
        return f"{self.exercises[name].title.read(language)} · `{name}`{extra}"

    def total(self) -> float:
        """Return the sum of points of the exercises that count toward the grade."""
        return sum(self.worth(name) for name in self.exercises if self.counts(name))

    def written(self) -> list[dict[str, Any]]:
        """Return the cells for answers in words, which a person grades."""
        return [cell for name, cell in self.by_grade_id.items() if name.kind is CellKind.WRITTEN]

    def describe_written(self) -> Iterator[Text]:
        """Yield a sentence on the points that a person gives for answers in words, if the notebook has any."""
        cells = map(nbgrader_of, self.written())
        points = sum(float(cell.get("points", 0)) for cell in cells if cell.get("grade"))
        if points:
            yield message("ready.manual", points=f"{points:g}", total=f"{self.total() + points:g}")

    def _check(self, name: str) -> dict[str, Any]:
        """Return nbgrader's metadata of the check cell of exercise `name`, or an empty dict if there is none."""
        return nbgrader_of(self.by_grade_id.get(GradeId.of(CellKind.CHECK, name), {"metadata": {}}))


def saved_notebook(exercises: dict[str, Exercise]) -> LessonNotebook:
    """Return this kernel's notebook as last saved, in Colab as it was when first asked for.

    Returns a notebook without cells if the path is unknown or the file cannot be read.
    """
    try:
        path = own_path()
        notebook = read_notebook(Path(path).expanduser().resolve()) if path else _first_of_colab() or {}
    except (Unreadable, ImportError):
        notebook = {}
    return LessonNotebook(notebook.get("cells", []), notebook.get("metadata", {}), exercises)


@cache
def _first_of_colab() -> dict[str, Any] | None:
    """Return Colab's notebook as it was at the first call. A request takes long, and points do not change."""
    return None if being_graded() else colab_notebook()


def describe_state(verdict: Verdict) -> Text:
    """Return the words for a verdict's state. An answer that is wrong but has points is partly right."""
    partly = verdict.state == VerdictState.NOT_YET and verdict.points > 0
    return message("state.partly" if partly else f"state.{verdict.state}")


def nbgrader_of(cell: dict[str, Any]) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell, or an empty dict if there is none."""
    ours = cell["metadata"].get("nbgrader")
    return ours if isinstance(ours, dict) else {}


@dataclass(frozen=True)
class LateStep:
    """The credit for late work up to a time.

    `until` is counted from the due date. `credit` is in percent of the points.
    """

    until: timedelta
    credit: float


def credit_after(late: timedelta, grace: timedelta, steps: Sequence[LateStep]) -> float:
    """Return the credit in percent for work that comes `late` after the due date.

    Work within `grace` gets 100, work after the last step nothing.
    """
    if late <= grace:
        return 100.0
    return next((step.credit for step in steps if late <= step.until), 0.0)


def describe_assignment(metadata: dict[str, Any]) -> Iterator[Text]:
    """Yield a sentence on where to hand in a notebook, or nothing if no course has released it."""
    assignment = metadata.get("autograder", {}).get("assignment")
    if isinstance(assignment, str):
        yield message("ready.where", assignment=assignment)


def closed_until(metadata: dict[str, Any], now: datetime | None = None) -> datetime | None:
    """Return the time until which a notebook shows no solution to who gives up, or None if it shows them.

    `now` is a time with a time zone; the default is the current time.
    """
    try:
        opens = datetime.fromisoformat(metadata["autograder"]["solutions"])
        return opens if (now or datetime.now(UTC)) < opens else None
    except (KeyError, TypeError, ValueError):  # edited by hand
        return None


def describe_due_date(metadata: dict[str, Any], now: datetime | None = None) -> Iterator[Text]:
    """Yield a sentence on the due date in a notebook's metadata, and one on the credit at this moment.

    Yields nothing if there is no due date. `now` is a time with a time zone; the default is the current time.
    Extensions of a student are not in the notebook.
    """
    ours = metadata.get("autograder", {})
    try:
        due = datetime.fromisoformat(ours["due"])
        steps = [LateStep(timedelta(seconds=seconds), float(credit)) for seconds, credit in ours.get("late", [])]
        grace = timedelta(seconds=ours.get("grace", 0))
    except (KeyError, TypeError, ValueError):  # edited by hand
        return
    late = (now or datetime.now(UTC)) - due
    time = with_offset(due)
    if late <= grace:
        yield message("due.in_time", time=time)
    else:
        yield message("due.late", time=time, credit=f"{credit_after(late, grace, steps):g}")
