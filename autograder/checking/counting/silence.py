"""Counts of nothing, which right answers seldom have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..run import Run
from ..values import AtMost


def silent_aspects(runs: Sequence[Run], solution: Sequence[Run]) -> set[str]:
    """Return the aspects for which nothing was counted in a run, where the solution needs some of it.

    Of 93 right answers of strangers to exercises with such counts, none is among them. A meter that somebody has
    silenced counts nothing.
    """
    return {
        aspect
        for mine, theirs in zip(runs, solution)
        for aspect, value in theirs.values.items()
        for needed, used in _counts(value, mine.values.get(aspect))
        if needed > 0 >= used
    }


def _counts(theirs: object, mine: object) -> Iterator[tuple[float, float]]:
    """Yield a count of the solution's and that of an answer, for each that both have."""
    if isinstance(theirs, AtMost) and isinstance(mine, AtMost) and isinstance(theirs.used, int):
        yield theirs.used, mine.used
    elif isinstance(theirs, dict) and isinstance(mine, dict):
        for name in theirs.keys() & mine.keys():
            yield from _counts(theirs[name], mine[name])
