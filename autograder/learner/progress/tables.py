"""Tables of what a learner has done, by exercise and by lesson."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.verdict import VerdictState
from ...grade_ids import CellKind, GradeId
from ...history import (
    History,
    Standing,
    begun_tables,
    filled_entries,
    history_file,
    read_history,
    standings,
    verdicts,
)
from ...language import Text
from ...lessons.source import NOTEBOOKS
from ...messages.learners import message
from ...messages.markup import unlinked
from ...session import SESSION, being_graded
from ..notebooks.headings import link_to, title_of, title_of_lesson
from ..notebooks.notebook_file import read_notebook
from ..points import LessonNotebook, describe_state, nbgrader_of, saved_notebook
from ..replies import Reply, TableReply
from ..reviews.placement import skipped_lessons
from ..reviews.review import due_now

_NAMED = 8  # damaged lines of the history


def progress_table() -> TableReply | Reply:
    """Return a table of the exercises checked so far.

    Another lesson than the present one has one row. Points of the present lesson are those of this notebook, because an
    instructor can change them. Without a present lesson all exercises are shown. Returns a `Reply` if nothing was
    checked yet, or while nbgrader runs the notebook.
    """
    if being_graded():
        return Reply((message("run.checking", name="progress"),))
    history = read_history()
    found = [*history.verdicts()]
    done, begun = standings(found), begun_tables(found)
    if not done and not begun:
        return Reply((message("progress.empty"), *_damaged(history)))
    language = SESSION.speaks

    def say(id: str) -> str:
        return message(id).read(language)

    rows = []
    here = set(exercises.lessons())  # a private lesson's module may not be found from this folder
    shown = [*(standing.best for standing in done.values()), *begun.values()]
    titles = {each: title_of_lesson(each, language) for each in {verdict.lesson for verdict in shown} & here}
    for lesson, title in sorted(titles.items(), key=lambda named: named[1]):
        known = exercises.load(lesson)
        if SESSION.lesson not in (None, lesson):
            rows.append(_summed(title, known, done, language))
            continue
        notebook = saved_notebook(known) if lesson == SESSION.lesson else LessonNotebook([], {}, known)
        for name in known:
            if standing := done.get(name):
                best, state, checks = standing.best, describe_state(standing.best), standing.checks
            elif name in begun:
                best, state, checks = begun[name], message("state.begun", **filled_entries(begun[name])), 0
            else:
                continue
            points = f"{notebook.earned(name, best):g}/{notebook.worth(name):g}"
            rows.append((title, notebook.label(name, language), state.read(language), points, str(checks)))
    head = tuple(say(f"progress.{column}") for column in ("lesson", "exercise", "best", "points", "attempts"))
    return TableReply(
        say("progress.title"), head, tuple(rows), warnings=tuple(each.read(language) for each in _damaged(history))
    )


def _damaged(history: History) -> Iterator[Text]:
    """Yield a sentence with the numbers of the history's damaged lines, if there are any."""
    if history.damaged:
        lines = ", ".join(map(str, history.damaged[:_NAMED])) + (", …" if history.broken > _NAMED else "")
        yield message("progress.damaged", file=history_file(), count=history.broken, lines=lines)


def _summed(
    title: str, known: dict[str, Exercise], done: dict[str, Standing], language: str
) -> tuple[str, str, str, str, str]:
    """Return a lesson's row: how many of its exercises have passed, its points and the number of checks."""
    standing = {name: done[name] for name in known if name in done}
    passed = sum(each.best.state == VerdictState.PASSED for each in standing.values())
    earned = sum(each.best.points_out_of(known[name].points) for name, each in standing.items())
    worth = sum(each.points for each in known.values())
    state = message("progress.passed", count=passed, total=len(known)).read(language)
    return title, "", state, f"{earned:g}/{worth:g}", str(sum(each.checks for each in standing.values()))


@dataclass(frozen=True)
class _Row:
    """A lesson in the table of contents.

    `minutes` are those of reading and core exercises, `extra` those of the others. `core` and `passed` are names of
    exercises. `exercise` links to the first core exercise that has not passed. `is_known` is True if `placement()` has
    proposed to skip the lesson.
    """

    title: str
    about: str
    file: str
    minutes: int
    extra: int
    needs: str
    core: set[str]
    passed: set[str]
    exercise: str
    is_known: bool
    language: str

    @property
    def is_done(self) -> bool:
        return self.core <= self.passed

    @property
    def is_begun(self) -> bool:
        return bool(self.passed)

    @property
    def time(self) -> str:
        return f"{self.minutes} + {self.extra}" if self.extra else str(self.minutes)

    @property
    def done(self) -> str:
        """A text such as "✓ 4/4 + 1": passed core and extra exercises, with a tick if all core ones have passed."""
        extra = len(self.passed - self.core)
        more = f" + {extra}" if extra else ""
        if self.is_known and not self.passed:
            more = message("contents.known").read(self.language)
        return f"{'✓ ' if self.is_done else ''}{len(self.passed & self.core)}/{len(self.core)}{more}"


@dataclass(frozen=True)
class Contents:
    """A table of all lessons, with links to their notebooks.

    The notebooks are beside the page that shows the table.

    `notebooks` is the folder of the built notebooks.
    """

    language: str
    notebooks: Path = NOTEBOOKS

    def __repr__(self) -> str:
        rows = list(self._rows())
        lines = [self._head("lesson", "minutes", "needs", "done")]
        lines += [(row.title, row.time, row.needs, row.done) for row in rows]
        return "\n".join([*("  ".join(filter(None, line)) for line in lines), "", unlinked(self._onward(rows))])

    def _repr_markdown_(self) -> str:
        rows = list(self._rows())
        lines = [self._head("lesson", "about", "minutes", "needs", "done"), (":--", ":--", "--:", ":--", ":--")]
        lines += [(f"[{row.title}]({row.file})", row.about, row.time, row.needs, row.done) for row in rows]
        table = (f"| {' | '.join(line)} |" for line in lines)
        return "\n".join([self._onward(rows), "", *table])  # the table alone fills a screen

    def _head(self, *columns: str) -> tuple[str, ...]:
        return tuple(message(f"contents.{column}").read(self.language) for column in columns)

    def _onward(self, rows: list[_Row]) -> str:
        """Return the sentences beside the table: what is done, where to go on, and what is due for review."""
        hours, passed = round(sum(row.minutes for row in rows) / 60), sum(len(row.passed & row.core) for row in rows)
        extra = sum(len(row.passed - row.core) for row in rows)
        counts = {
            "count": passed,
            "total": sum(len(row.core) for row in rows),
            "extra": message("contents.extra", count=extra).read(self.language) if extra else "",
        }
        following = next((row for row in rows if not (row.is_done or row.is_known)), None)
        following = following or next((row for row in rows if not row.is_done), None)
        if following is None:
            said = message("contents.finished", hours=hours)
        else:
            link = f"[{following.title}]({following.file})"
            if any(row.is_begun or row.is_known for row in rows):
                said = message("contents.next", hours=hours, lesson=link, exercise=following.exercise, **counts)
            else:
                said = message("contents.begin", hours=hours, lesson=link)
        due = len(due_now())
        more = [message("start.due", count=due)] if due else []
        return "\n\n".join(each.read(self.language) for each in (said, *more))

    def _rows(self) -> Iterator[_Row]:
        done, known = standings(verdicts()), skipped_lessons()
        for path in sorted((self.notebooks / self.language).glob("[0-9][0-9]_*.ipynb")):
            notebook = read_notebook(path)
            ours = notebook["metadata"]["autograder"]
            title = title_of(path, notebook)
            checks = [nbgrader_of(cell) for cell in notebook["cells"]]
            named = [(GradeId(each.get("grade_id", "")), each) for each in checks]
            graded = {id.exercise: each["grade"] for id, each in named if id.kind is CellKind.CHECK}
            core = {name for name, counts in graded.items() if counts}
            passed = {name for name in graded if name in done and done[name].best.state == VerdictState.PASSED}
            first = next((name for name in graded if name in core - passed), "")
            exercise = link_to(notebook["cells"], path.name, first, first)
            times = ours["minutes"], ours["extra"]
            is_known, more = ours["lesson"] in known, (ours["about"], path.name, *times, ours["needs"])
            yield _Row(title, *more, core, passed, exercise, is_known, self.language)
