"""A table of what a learner has done, by exercise."""

from __future__ import annotations

from collections.abc import Iterator

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.verdict import VerdictState
from ...history import (
    History,
    Standing,
    begun_tables,
    filled_entries,
    history_file,
    read_history,
    standings,
)
from ...language import Text
from ...messages.learners import message
from ...session import SESSION, being_graded
from ..notebooks.headings import title_of_lesson
from ..points import LessonNotebook, describe_state, saved_notebook
from ..replies import Reply, TableReply

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
