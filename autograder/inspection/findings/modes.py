"""Training steps in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator

from ...language import Note
from ..finding import Finding, Level
from ..seen import Seen
from ..watch import StepWatch


def find_evaluation_mode(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    if seen.updates and any(each.in_eval for each in seen.backwards):
        yield Finding(Note("inspect.eval", {}), Level.WRONG, "hidden_gradients", "runs_in_eval")
