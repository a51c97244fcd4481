"""Graphs of earlier steps that are walked again, or kept."""

from __future__ import annotations

from collections.abc import Iterator

from ...language import Note
from ..finding import Finding, Level
from ..seen import Seen
from ..watch import StepWatch


def find_earlier_graphs(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    since = min((each.before_that for each in seen.updates), default=watch.first_number)
    old = next((each for each in seen.backwards if each.oldest < since), None)
    if old:
        note = Note("inspect.old_graph", {"place": str(old.place)})
        yield Finding(note, Level.WRONG, "fix_hidden_state", "still_retains", place=old.place)
    elif held := watch.held_graph():
        note = Note("inspect.held_graph", {"place": str(held)})
        yield Finding(note, Level.WRONG, "train_epoch", "returns_a_tensor", place=held)
