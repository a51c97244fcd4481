"""Steps of an optimizer that had no gradient to use."""

from __future__ import annotations

from collections.abc import Iterator

from ...language import Note
from ..finding import Finding, Level, listed
from ..seen import Seen
from ..watch import StepWatch


def find_empty_steps(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    """Yield a finding on each step before its backward pass, or after its gradients were cleared."""
    for update in seen.updates:
        if update.cleared:
            names = [name for name in watch.parameters if name in update.cleared]
            note = Note("inspect.cleared_before_step", {"names": listed(names), "place": str(update.place)})
            yield Finding(note, Level.WRONG, "descend", "clears_before_the_step", names[0], update.place)
        elif update.is_empty and update.names:
            note = Note("inspect.step_before_backward", {"place": str(update.place)})
            yield Finding(note, Level.WRONG, "descend", "forgets_backward", place=update.place)
