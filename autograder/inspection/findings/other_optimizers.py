"""Parameters and optimizers that do not know each other."""

from __future__ import annotations

from collections.abc import Iterator

from ...language import Note
from ..finding import Finding, Level, listed
from ..seen import Seen
from ..watch import StepWatch


def find_strangers(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    """Yield a finding on tensors of an optimizer that are in no model, and on parameters that no optimizer has."""
    if not seen.updates:
        return
    stale = max(each.stale for each in seen.updates)
    held = {id(each) for optimizer in watch.optimizers for group in optimizer.param_groups for each in group["params"]}
    reached = frozenset[str]().union(*(each.reached for each in seen.backwards))
    lacking = [name for name, each in watch.parameters.items() if name in reached and id(each) not in held]
    if lacking and stale:  # alone it may be a tensor beside the model, such as the weight of a loss
        note = Note("inspect.stale", {"count": stale})
        yield Finding(note, Level.WRONG, "cures", "made_too_early", subject=str(stale))
    if lacking:
        note = Note("inspect.lacking", {"names": listed(lacking)})
        level = Level.WRONG if stale else Level.LOOK
        yield Finding(note, level, "descend", "forgets_the_bias", subject=lacking[0])
