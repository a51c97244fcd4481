"""Gradients of an earlier step that were added to."""

from __future__ import annotations

from collections.abc import Iterator

from ...language import Note
from ..finding import Finding, Level, listed
from ..seen import Seen
from ..watch import StepWatch


def find_kept_gradients(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    """Yield a finding on each step that uses what was in `.grad` before its first backward pass."""
    for number, update in enumerate(seen.updates):
        passes = [each for each in seen.backwards if each.after_steps <= number and each.before & update.names]
        names = [name for name in watch.parameters if any(name in each.before & update.names for each in passes)]
        if names:
            note = Note("inspect.kept", {"names": listed(names), "place": str(passes[0].place)})
            yield Finding(note, Level.WRONG, "train_epoch", "never_clears_a_window", names[0], passes[0].place)
