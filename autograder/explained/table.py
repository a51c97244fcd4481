"""All explanations of torch's errors and warnings."""

from __future__ import annotations

from dataclasses import replace

from .entry import Explanation, Judge
from .gradients import (
    accumulation,
    backward_calls,
    checkpoints,
    copies,
    devices,
    engine,
    graphs,
    in_place,
    leaves,
    missing,
    modes,
    no_graph,
    saved,
)
from .scene.frames import Scene
from .tools import (
    batches,
    checks,
    contexts,
    forward_functions,
    functions,
    higher_order,
    hooks,
    module_hooks,
    parameters,
    products,
    transforms,
)
from .training import compiled, distributed, optimizers, scaling

# Where two patterns match one text, the first counts: the narrower ones stand first.
EXPLANATIONS: tuple[Explanation, ...] = (
    *no_graph.ENTRIES,
    *leaves.ENTRIES,
    *copies.ENTRIES,
    *graphs.ENTRIES,
    *backward_calls.ENTRIES,
    *missing.ENTRIES,
    *accumulation.ENTRIES,
    *parameters.ENTRIES,
    *optimizers.ENTRIES,
    *scaling.ENTRIES,
    *products.ENTRIES,
    *transforms.ENTRIES,
    *batches.ENTRIES,
    *checks.ENTRIES,
    *modes.ENTRIES,
    *in_place.ENTRIES,
    *saved.ENTRIES,
    *checkpoints.ENTRIES,
    *devices.ENTRIES,
    *contexts.ENTRIES,
    *functions.ENTRIES,
    *distributed.ENTRIES,
    *compiled.ENTRIES,
    *forward_functions.ENTRIES,
    *hooks.ENTRIES,
    *module_hooks.ENTRIES,
    *engine.ENTRIES,
    *higher_order.ENTRIES,
)


_LONGEST = 2_000  # characters of a text that is looked at: a learner's own may have millions


def explain(error: str, scene: Scene | None = None) -> Explanation | None:
    """Return the explanation for the text of an error or warning. Returns None if the course has none.

    Of the entries that match the text, the one whose cause shows in the scene explains it. Where no cause shows, or
    several do, it is the entry for the text alone.
    """
    error = error[:_LONGEST]
    place = replace(scene or Scene(), text=error)
    matching = (each for each in EXPLANATIONS if each.pattern.search(error))
    fitting = [each for each in matching if not each.fits or _agrees(each.fits, place)]
    shown = [each for each in fitting if each.shows and _agrees(each.shows, place)]
    if len(shown) == 1:
        return shown[0].of(error)
    return next((each.of(error) for each in fitting if not each.shows), None)


def _agrees(judge: Judge, scene: Scene) -> bool:
    try:
        return judge(scene)
    except Exception:  # objects of the learner's may raise anything when they are looked at
        return False
