"""`plot_progress`: a learner's points and recognised mistakes by lesson."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ... import exercises
from ...checking.verdict import VerdictState
from ...history import standings, verdicts
from ...language import Note
from ...session import SESSION
from .base import NotPlotted, Plot, new_figure, points, short, text_colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = (117, 151, 187)  # x positions of the three columns of numbers; the bars end at x = 100


@dataclass(frozen=True)
class LessonBar:
    """A learner's points, solved exercises and mistakes in a lesson.

    `earned`, `maximum`, `solved` and `count` refer to core exercises. `extra` is the number of solved extra exercises.
    `mistakes` are pairs of exercise and mistake, in the order in which they first occurred.
    """

    name: str
    earned: float
    maximum: float
    solved: int
    count: int
    extra: int
    mistakes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, repr=False)
class ProgressPlot(Plot):
    """A plot of the lessons that were begun.

    `others` is the number of lessons that were not begun.
    """

    lessons: tuple[LessonBar, ...]
    others: int

    def title(self) -> str:
        earned, maximum = sum(one.earned for one in self.lessons), sum(one.maximum for one in self.lessons)
        return self.say("progress.title", earned=points(earned), maximum=points(maximum))

    def lines(self) -> list[str]:
        said = []
        for one in self.lessons:
            numbers = {"earned": points(one.earned), "maximum": points(one.maximum), "mistakes": len(one.mistakes)}
            said.append(self.say("progress.lesson", lesson=one.name, solved=one.solved, count=one.count, **numbers))
            if one.extra:
                said.append(self.say("progress.extra.solved", count=one.extra))
            for exercise, mistake in one.mistakes:
                says = exercises.sentence_for(exercises.find(exercise, one.name), mistake)
                assert says is not None  # only such mistakes are collected
                said.append(self.say("progress.mistake", exercise=exercise, says=says.read(self.language)))
        return [*said, self.say("progress.others", count=self.others)] if self.others else said

    def _figure(self) -> Figure:
        rows = range(len(self.lessons))
        figure = new_figure(8, 1.5 + 0.42 * len(self.lessons))
        axes = figure.add_subplot()
        ink, paper = text_colour(), axes.get_facecolor()
        shares = [100 * one.earned / one.maximum if one.maximum else 0 for one in self.lessons]
        axes.barh(rows, [100] * len(rows), 0.62, color=paper, edgecolor=ink, linewidth=1)
        axes.barh(rows, shares, 0.62, color="C0", edgecolor=ink, linewidth=1)
        heads = ("progress.points", "progress.exercises", "progress.mistakes")
        for column, head in zip(_COLUMNS, heads):
            axes.text(column, -0.55, self.say(head), ha="center", va="bottom", fontsize=9)
        for row, one in enumerate(self.lessons):
            extra = f" + {one.extra}" if one.extra else ""
            cells = (
                f"{points(one.earned)} / {points(one.maximum)}",
                f"{one.solved} / {one.count}{extra}",
                len(one.mistakes) or "–",
            )
            for column, cell in zip(_COLUMNS, cells):
                axes.text(column, row, str(cell), ha="center", va="center")
        axes.set_yticks(rows, [short(one.name) for one in self.lessons])
        axes.set_xticks([0, 50, 100], ["0", "50", "100 %"])
        axes.set(xlim=(0, 208), ylim=(len(rows) - 0.5, -0.6))
        axes.tick_params(axis="y", length=0)
        axes.spines[:].set_visible(False)
        if self.others:
            axes.set_xlabel(self.say("progress.others", count=self.others), loc="left")
        return figure


def plot_progress() -> Plot:
    """Plot points, solved exercises and recognised mistakes of every lesson with at least one check.

    The bars show the earned share of the points of core exercises. A recognised mistake counts once, even if the
    learner has corrected it since. The numbers come from the history file that `progress()` also reads.
    """
    language = SESSION.speaks
    found = [*verdicts()]
    done, known = (
        standings(found),
        set(exercises.lessons()),
    )  # a private lesson's module may not be found from this folder
    begun = dict.fromkeys(one.best.lesson for one in done.values() if one.best.lesson in known)
    if not begun:
        return NotPlotted(language, Note("progress.empty", {}))
    met: dict[str, dict[tuple[str, str], None]] = {}
    for verdict in found:
        if verdict.mistake:
            met.setdefault(verdict.lesson, {})[verdict.exercise, verdict.mistake] = None
    lessons = []
    for name in begun:
        here = exercises.load(name)
        core = [exercise for exercise in here.values() if exercise.core]
        best = {each: done[each].best for each in here if each in done}
        earned = sum(min(best[one.name].points, one.points) for one in core if one.name in best)
        passed = [each for each, verdict in best.items() if verdict.state == VerdictState.PASSED]
        solved = sum(here[each].core for each in passed)
        met_here = (pair for pair in met.get(name, {}) if pair[0] in here)
        mistakes = tuple(pair for pair in met_here if exercises.sentence_for(here[pair[0]], pair[1]))
        maximum = sum(one.points for one in core)
        lessons.append(LessonBar(name, earned, maximum, solved, len(core), len(passed) - solved, mistakes))
    return ProgressPlot(language, tuple(lessons), len(known) - len(begun))
