"""Observations of memory: what gradients share, what a pass frees."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import torch

from autograder.checking.containment.caught import or_error

from .engine_runs import Make, Walk, backward, data_of
from .random_programs import Program


def freed(
    make: Make, program: Program, walk: Walk = backward, part: Callable[[Any], object] = lambda value: value.data
) -> dict[str, object]:
    """Return whether all results are gone from memory after a pass, and what further passes do.

    A result counts as gone when its `part` is. One result is held from outside. Frozen objects are out of the garbage
    collector's reach, and so are torch's, if a pass collects.
    """
    values = program.run(make)
    results = [weakref.ref(part(each)) for each in values[len(program.leaves) : -2]]
    held, root = values[-2:]
    del values
    gc.freeze()
    try:
        walk(root)
        return {
            "results are gone": all(each() is None for each in results),
            "second pass": or_error(walk, root),
            "pass through a freed result": or_error(walk, held + held),
        }
    finally:
        gc.unfreeze()


def own_memory(make: Make, program: Program, walk: Walk = backward) -> dict[str, object]:
    """Return whether gradients share memory, and whether a pass leaves all data as it was."""
    values = program.run(make)
    before = [each.data.clone() for each in values]
    walk(values[-1])
    others = []
    for program_of_two in (_expanded, _added_twice, _added_once):
        pair = [make(torch.tensor([1.0, 2.0], dtype=torch.float64)) for _ in range(2)]
        walk(program_of_two(*pair))
        others += pair
    gradients = [data_of(each.grad) for each in (*others, *values[: len(program.leaves)]) if each.grad is not None]
    places = [each.untyped_storage().data_ptr() for each in gradients]
    return {
        "shared": len(set(places)) < len(places) or any(0 in g.stride() and g.numel() > 1 for g in gradients),
        "data stays": all(torch.equal(old, each.data) for old, each in zip(before, values)),
    }


def _expanded(a: Any, b: Any) -> Any:
    """Let `+` give both inputs one gradient, which is an expanded number."""
    return (a + b).sum()


def _added_twice(a: Any, b: Any) -> Any:
    return ((a + b) * (a + b)).sum()


def _added_once(a: Any, b: Any) -> Any:
    """Let `+` give both inputs one gradient, which is not expanded."""
    both = a + b
    return (both * both).sum()
