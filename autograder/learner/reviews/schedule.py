"""The schedule of reviews, computed from the history of checks alone.

A passed exercise comes back after 1, 3, 7 and 21 days. A right answer on a review moves it up this ladder, a wrong one
down to the first step.

The package `fsrs` 6.3 was the alternative. It asks for one of four ratings per review; a verdict is right or wrong. It
estimates 21 parameters once there are 512 reviews; the course has 126 exercises. Below that number its parameters are
those of other people's flashcards. The base installation would need two more packages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.verdict import VerdictState
from ...history import Check, History, QuestionKind

LADDER = (1, 3, 7, 21)  # days
DAY = 86_400  # seconds


@dataclass(frozen=True)
class Rung:
    """The place of one exercise on the ladder.

    `step` counts the right reviews since the last wrong one. `since` is the time of the check that led here. `mistaken`
    is True if a check has recognised a misconception. `version` is that of the exercise which was checked.
    """

    exercise: str
    lesson: str
    step: int
    since: int
    mistaken: bool
    version: int

    @property
    def due(self) -> int | None:
        """The first moment of the day of the next review, by this machine's calendar, or None after the last one.

        Whoever learns in the evenings comes half an hour earlier one day.
        """
        if self.step == len(LADDER):
            return None
        begin = datetime.fromtimestamp(self.since).replace(hour=0, minute=0, second=0)
        return int((begin + timedelta(days=LADDER[self.step])).timestamp())


@dataclass(frozen=True)
class Schedule:
    """Reviews at one moment.

    `due` lists what is due, misconceptions first, then the longest overdue. `later` is the time of the first review
    after that, or None. `gone` names exercises that cannot be found any more, `changed` those of `due` that have
    changed since they were checked. `ahead` counts checks that are dated later than the clock of this machine.
    """

    due: tuple[Exercise, ...]
    mistaken: frozenset[str]
    later: int | None
    gone: tuple[str, ...]
    changed: tuple[str, ...]
    ahead: int


def make_schedule(history: History, now: float) -> Schedule:
    """Return what is due at the time `now`, in seconds since 1970."""
    rungs = climb(history.checks, now)
    waiting = {name: rung for name, rung in rungs.items() if rung.due is not None}
    ordered = sorted(waiting.values(), key=lambda rung: (not rung.mistaken, rung.due, rung.since))
    due, gone, changed, lessons = [], [], [], {*exercises.lessons()}
    for rung in ordered:
        if rung.due is None or rung.due > now:
            continue
        found = _find(rung, lessons)
        if found is None:
            gone.append(rung.exercise)
        elif not found.withdrawn:
            due.append(found)
            changed += [found.name] if found.version != rung.version else []
    later = min((rung.due for rung in ordered if rung.due is not None and rung.due > now), default=None)
    mistaken = frozenset(name for name, rung in rungs.items() if rung.mistaken)
    return Schedule(tuple(due), mistaken, later, tuple(gone), tuple(changed), _ahead(history.checks, now))


def climb(checks: Iterable[Check], now: float) -> dict[str, Rung]:
    """Return a dict from exercise name to its place on the ladder. Exercises that never passed are not in it.

    A check that nobody asked for moves nothing: whoever runs a whole notebook again has not answered again. Nor does a
    right answer before its time.
    """
    found: dict[str, Rung] = {}
    mistaken: set[str] = set()
    for time, check in _dated(checks, now):
        verdict = check.verdict
        name, passed = verdict.exercise, verdict.state == VerdictState.PASSED
        if verdict.mistake:
            mistaken.add(name)
        if check.question is QuestionKind.ROWS or (not passed and verdict.state != VerdictState.NOT_YET):
            continue
        rung = found.get(name)
        if rung is None:
            if passed and check.variant is None:
                found[name] = Rung(name, verdict.lesson, 0, time, False, verdict.version)
            continue
        if check.is_review and not passed:
            rung = replace(rung, step=0, since=time)
        elif check.is_review and rung.due is not None and time >= rung.due:
            rung = replace(rung, step=rung.step + 1, since=time)
        found[name] = replace(rung, version=verdict.version, lesson=verdict.lesson)
    return {name: replace(rung, mistaken=name in mistaken) for name, rung in found.items()}


def _dated(checks: Iterable[Check], now: float) -> Iterator[tuple[int, Check]]:
    """Yield each check with its time, corrected where the clock of this machine was wrong.

    A later check is never older, because lines are only appended. A check dated after `now` has the time of the
    check before it, because nothing better is known.
    """
    latest = 0
    for check in checks:
        latest = latest if check.time > now else max(latest, check.time)
        yield latest, check


def _ahead(checks: Iterable[Check], now: float) -> int:
    return sum(check.time > now for check in checks)


def _find(rung: Rung, lessons: set[str]) -> Exercise | None:
    """Return the exercise of a rung, also where its lesson was renamed. Returns None if there is no such exercise.

    `lessons` are those that exist.
    """
    lesson = rung.lesson if rung.lesson in lessons else None
    try:
        return exercises.find(rung.exercise, lesson)
    except (exercises.Unknown, ImportError):
        return None
