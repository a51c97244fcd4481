"""Gradients that are not finite, zero, or far smaller than the others."""

from __future__ import annotations

from collections.abc import Iterator

from ...language import Note
from ..finding import Finding, Level, listed
from ..seen import Seen, Update
from ..watch import StepWatch

_FAR = 1e-6  # of the largest norm of a weight's gradient


def find_strange_sizes(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    """Yield findings on the gradients that an optimizer was given. A GradScaler looks for infinities itself."""
    for update in seen.updates:
        infinite = [each.name for each in update.sizes if not each.is_finite]
        if infinite and not update.by_scaler:
            note = Note("inspect.not_finite", {"names": listed(infinite)})
            yield Finding(note, Level.WRONG, "safe_sqrt", "protects_the_value_only", subject=infinite[0])
        if not infinite and not update.cleared:
            yield from _small(update)


def _small(update: Update) -> Iterator[Finding]:
    """Yield findings on weights with two dimensions or more.

    The gradient of a bias may be 0 by its nature, before a normalisation or in the keys of an attention. Behind a
    weight that begins with zeros, every gradient is 0 in the first step.
    """
    weights = [each for each in update.sizes if each.ndim >= 2]
    largest = max((each.norm for each in weights), default=0.0)
    zero = [each.name for each in weights if each.norm == 0]
    if zero and not update.begins_with_zeros:
        note = Note("inspect.zero", {"names": listed(zero)})
        yield Finding(note, Level.LOOK, "clip_once", "clips_the_loss", subject=zero[0])
    small = [each.name for each in weights if 0 < each.norm < _FAR * largest]
    if small:
        note = Note("inspect.small", {"names": listed(small)})
        yield Finding(note, Level.LOOK, "unscale_then_clip", "unscales_by_hand_too", subject=small[0])
