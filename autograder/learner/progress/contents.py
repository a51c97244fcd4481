"""The page of contents: lessons, links, minutes, and what has passed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...checking.verdict import VerdictState
from ...grade_ids import CellKind
from ...history import History, Standing, read_history, standings
from ...language import hours_of
from ...lessons.paths import CoursePath, exercises_in, path_names, read_path
from ...lessons.source import NOTEBOOKS
from ...messages.learners import message
from ...messages.markup import unlinked
from ..chosen_path import chosen_path
from ..notebooks.headings import link_to, title_of
from ..notebooks.notebook_file import read_notebook
from ..reviews.counting import due_now
from ..reviews.placement import skipped_lessons


@dataclass(frozen=True)
class _Row:
    """A lesson in the table of contents.

    `minutes` are those of what counts, `left` those of what has not passed, `extra` those of the rest. `core` and
    `passed` are names of exercises. `exercise` links to the first one that counts and has not passed. `is_known` is
    True if `placement()` has proposed to skip the lesson.
    """

    title: str
    about: str
    file: str
    minutes: int
    left: int
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
    """A table of lessons, all or those on the chosen path.

    It links to their notebooks, which are beside the page that shows the table. `notebooks` is the folder of the built
    notebooks.
    """

    language: str
    notebooks: Path = NOTEBOOKS
    path: CoursePath | None = field(default_factory=chosen_path)
    history: History = field(default_factory=read_history)

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
        """Return the sentences beside the table: what is done, where to go on, which path, and what is due."""
        hours, passed = (
            hours_of(sum(row.minutes for row in rows), self.language),
            sum(len(row.passed & row.core) for row in rows),
        )
        extra = sum(len(row.passed - row.core) for row in rows)
        counts = {
            "count": passed,
            "total": sum(len(row.core) for row in rows),
            "extra": message("contents.extra", count=extra).read(self.language) if extra else "",
            "left": hours_of(sum(row.left for row in rows if not row.is_known), self.language),
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
        due = len(due_now(self.history))
        more = [message("start.due", count=due)] if due else []
        return "\n\n".join([each.read(self.language) for each in (said, *more)] + [self._paths()])

    def _paths(self) -> str:
        """Return a sentence on the chosen path, or on those that can be chosen."""
        if self.path:
            return message("contents.path", title=self.path.title.read(self.language)).read(self.language)
        listed = []
        for path in map(read_path, path_names()):
            says = {"title": path.title.read(self.language), "name": path.name, "hours": round(path.minutes / 60)}
            listed.append(message("contents.one_path", **says).read(self.language))
        return message("contents.paths", paths="; ".join(listed)).read(self.language)

    def _rows(self) -> Iterator[_Row]:
        done, known = standings(self.history.verdicts()), skipped_lessons(self.history)
        files = {path.stem: path for path in sorted((self.notebooks / self.language).glob("[0-9][0-9]_*.ipynb"))}
        for name in self.path.counts if self.path else files:
            notebook = read_notebook(files[name])
            yield self._row(files[name], notebook, done, known)

    def _row(self, file: Path, notebook: dict[str, Any], done: Mapping[str, Standing], known: set[str]) -> _Row:
        """Return the row of a lesson. `known` are the lessons to skip."""
        ours = notebook["metadata"]["autograder"]
        minutes, core = exercises_in(notebook, (CellKind.CHECK,))
        whole = ours["minutes"]
        if self.path:
            core, whole = minutes.keys() & set(self.path.counts[file.stem]), self.path.minutes_of(file.stem)
        passed = {name for name in minutes if name in done and done[name].best.state == VerdictState.PASSED}
        first = next((name for name in minutes if name in core - passed), "")
        return _Row(
            title=title_of(file, notebook),
            about=ours["about"],
            file=file.name,
            minutes=whole,
            left=max(whole - sum(minutes[name] for name in core & passed), 0) if core - passed else 0,
            extra=ours["minutes"] + ours["extra"] - whole,
            needs=ours["needs"],
            core=core,
            passed=passed,
            exercise=link_to(notebook["cells"], file.name, first, first),
            is_known=ours["lesson"] in known,
            language=self.language,
        )
