"""Gradients that are used while a loss scale is still in them."""

from __future__ import annotations

from collections.abc import Iterator

from ...language import Note
from ..finding import Finding, Level
from ..seen import Seen
from ..watch import StepWatch


def find_scaled_gradients(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    if seen.scaled_reads:
        note = Note("inspect.scaled_norm", {"place": str(seen.scaled_reads[0])})
        yield Finding(note, Level.WRONG, "unscale_then_clip", "clips_the_scaled", place=seen.scaled_reads[0])
    for update in seen.updates:
        if update.is_scaled:
            note = Note("inspect.scaled_step", {"place": str(update.place)})
            yield Finding(note, Level.WRONG, "unscale_then_clip", "never_unscales", place=update.place)
