"""All findings, one file for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..finding import Finding
from ..seen import Seen
from ..watch import StepWatch
from . import earlier_graphs, kept_gradients, loss_scale, modes, order, other_optimizers, sizes, uneven_means, unreached
from .edits import find_edits

Find = Callable[[Seen, StepWatch], Iterator[Finding]]

FINDS: tuple[Find, ...] = (
    find_edits,
    order.find_empty_steps,
    unreached.find_unreached,
    other_optimizers.find_strangers,
    kept_gradients.find_kept_gradients,
    loss_scale.find_scaled_gradients,
    earlier_graphs.find_earlier_graphs,
    uneven_means.find_uneven_means,
    modes.find_evaluation_mode,
    sizes.find_strange_sizes,
)


def find_all(watch: StepWatch) -> tuple[Finding, ...]:
    """Return all findings on the step that a watch has seen last, each once."""
    found = [each for find in FINDS for each in find(watch.seen, watch)]
    return tuple({each.key: each for each in reversed(found)}.values())[::-1]
