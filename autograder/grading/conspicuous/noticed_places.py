"""A choice among the conspicuous places of one submission."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

MOST_PLACES = 20  # of one submission


def chosen_places(kinds: Iterable[str]) -> list[int]:
    """Return the numbers of at most `MOST_PLACES` places, in order: those of each kind in turn.

    `kinds` are the kinds of all places. A flood of one kind hides no place of another.
    """
    seen = Counter[str]()
    turns = []
    for number, kind in enumerate(kinds):
        turns.append((seen[kind], number))
        seen[kind] += 1
    return sorted(number for _, number in sorted(turns)[:MOST_PLACES])
