"""Means over micro-batches of different sizes that got equal weights."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...language import Note
from ..finding import Finding, Level
from ..seen import Seen
from ..watch import StepWatch


def find_uneven_means(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    """Yield a finding on each step whose backward passes came through means over different numbers of samples."""
    for number, update in enumerate(seen.updates):
        passes = [each for each in seen.backwards if each.after_steps <= number and each.reached & update.names]
        means = [each.means[0] for each in passes if len(each.means) == 1 and each.means[0].factor is not None]
        if len(means) < 2 or len(means) < len(passes) or len({mean.count for mean in means}) == 1:
            continue
        first, *others = means
        if all(math.isclose(first.factor or 0.0, other.factor or 0.0, rel_tol=1e-3) for other in others):
            counts = ", ".join(str(mean.count) for mean in means[:6])
            note = Note("inspect.uneven", {"counts": counts, "place": str(passes[0].place)})
            yield Finding(note, Level.WRONG, "accumulate_uneven", "divides_by_count", place=passes[0].place)
