"""Source notebooks of assignments, with the points that the rules state."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from pathlib import Path

from nbformat.notebooknode import NotebookNode

from ...checking.exercise import Exercise
from ...grade_ids import CellKind, GradeId
from ...lessons.collection import Collection
from ...lessons.notebooks import source_notebook, to_text
from ...lessons.source import Lesson
from .course_file import RULES_FILE, AssignmentRules, Rules
from .spans import Span
from .toml_table import BadRule


def assignment_notebooks(
    rules: Rules, sources: Sequence[Lesson], lessons: Collection, private: AbstractSet[str]
) -> dict[Path, str]:
    """Return a dict from path in the course folder, such as `source/03_x/03_x.ipynb`, to the text of a source notebook.

    `sources` are the lessons, from which the notebooks are made. A chosen lesson that no assignment in the rules names
    is an assignment of its own. Assignments of `private` lessons, which an instructor has added, are left out:
    `autograder build` writes their notebooks.
    Raises BadRule if the rules name a lesson or an exercise that does not exist.
    """
    by_name = {lesson.file_name: lesson for lesson in sources}
    named = {name for one in rules.assignments.values() for name in one.lessons}
    chosen = by_name if rules.lessons is None else set(rules.lessons) - private
    for name in chosen:
        _known(name, by_name, "lessons")
    alone = {name: rules.of(name) for name in by_name if name in chosen and name not in named}
    assignments = {**alone, **rules.assignments}
    files = {}
    for assignment, one in assignments.items():
        if private & set(one.lessons):
            continue
        exercises = {name: lessons.exercises(_known(name, by_name, assignment)) for name in one.lessons}
        written = [cell for name in one.lessons for cell, _ in by_name[name].with_role("written")]
        _refuse_unknown_exercises(one, [*written, *(exercise for each in exercises.values() for exercise in each)])
        for name, known in exercises.items():
            notebook = source_notebook(by_name[name], known)
            set_rules(notebook, one, known)
            notebook.metadata["autograder"] |= dict(deadlines(one, rules))
            files[Path("source", assignment, f"{name}.ipynb")] = to_text(notebook)
    return files


def set_rules(notebook: NotebookNode, one: AssignmentRules, exercises: Mapping[str, Exercise]) -> None:
    """Set in a source notebook which exercises count, and for how many points.

    `one` are the assignment's rules. If they name no exercises, the core exercises and all written answers count.
    """
    for cell in notebook.cells:
        ours = cell.metadata.get("nbgrader", {})
        named = GradeId(ours.get("grade_id", ""))
        if named.kind not in (CellKind.CHECK, CellKind.WRITTEN):
            continue
        name, checked = named.exercise, named.kind is CellKind.CHECK
        core = not checked or exercises[name].core
        if core if one.exercises is None else name in one.exercises:
            points = ours.get("points", exercises[name].points if checked else 0)
            ours.update(grade=True, points=one.points.get(name, points))
        else:
            ours["grade"] = False
            ours.pop("points", None)


def deadlines(one: AssignmentRules, rules: Rules) -> Iterator[tuple[str, object]]:
    """Yield items of a notebook's metadata that state the deadlines: `due`, `late`, `grace` and `solutions`.

    `one` are the assignment's rules. `due` is in ISO 8601, `grace` in seconds. `late` is a list such as `[[86400,
    80.0]]`, credit of 80 % until a day after the due date. `solutions` is the time in ISO 8601 from which solutions can
    be seen; it is left out if they can be at once. Nothing is yielded without a due date.
    """
    if one.due:
        yield "due", one.due.astimezone(rules.zone).isoformat()
        yield "late", [[_seconds(one.due, step.until, rules), step.credit] for step in one.late]
        yield "grace", _seconds(one.due, one.grace, rules)
    if opens := one.solutions_open(rules.zone, rules.late_days):
        yield "solutions", opens.astimezone(rules.zone).isoformat()


def _seconds(due: datetime, span: Span, rules: Rules) -> int:
    """Return the length of a span after the due date in seconds: a day may have 23 or 25 hours there."""
    return int((span.after(due, rules.zone) - due).total_seconds())


def _known(name: str, lessons: Mapping[str, Lesson], assignment: str) -> Lesson:
    """Return the lesson `name`, a file name without `.py`. Raises BadRule if there is none.

    `assignment` is the name in the message.
    """
    if name not in lessons:
        near = difflib.get_close_matches(name, lessons, n=3) or sorted(lessons)[:4]
        raise BadRule(f"{RULES_FILE}, {assignment}: there is no lesson {name!r}; did you mean {', '.join(near)}?")
    return lessons[name]


def _refuse_unknown_exercises(one: AssignmentRules, known: Sequence[str]) -> None:
    for name in (*(one.exercises or ()), *one.points):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or sorted(known)[:6]
            raise BadRule(
                f"{RULES_FILE}, {one.name}: there is no exercise {name!r} in it; did you mean {', '.join(near)}?"
            )
