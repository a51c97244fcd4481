"""Calls of an answer with tensors that anybody can know beforehand.

A probe counts work and bytes in calls with inputs of its own. An answer that recognises them could be lean there alone,
with the right result: by a formula, by one row in place of many, or by a result from an earlier call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from ..checking.containment.answer_calls import can_be_called, with_calls
from ..checking.exercise import PUBLIC_SEED, Exercise
from ..checking.observe import observe
from ..measure import leaves, tensors

_FEW = 32  # numbers of a tensor that is too small to matter


def known_inputs(exercise: Exercise, solution: Any) -> Iterator[str]:
    """Yield a complaint for each call with a tensor that can be known.

    It is the same for two seeds, or all of its rows are equal. Only functions and custom Functions are tried. Masks and
    indices are left out, and parameters count as tensors.
    """
    if not can_be_called(solution):
        return
    here, there = (_calls(exercise, solution, seed) for seed in (PUBLIC_SEED, "known inputs"))
    for number, (mine, theirs) in enumerate(zip(here, there), 1):
        call = f"call {number} of {len(here)}"
        if any(a.shape == b.shape and torch.equal(a, b) for a, b in zip(mine, theirs)):
            yield f"{call} gets a tensor that is the same for every seed: draw it from that of the case"
        if any(_is_regular(each) for each in mine):
            yield f"{call} gets a tensor of equal or evenly spaced rows: draw it as the tensors of judged cases"


def _is_regular(tensor: Tensor) -> bool:
    rows = tensor.reshape(len(tensor), -1)
    return len(rows) > 2 and torch.allclose(rows.diff(n=2, dim=0), torch.zeros(()).to(rows))


def _calls(exercise: Exercise, solution: Any, seed: str) -> list[list[Tensor]]:
    """Return the large tensors of each call of a solution on the cases of a seed."""
    calls: list[list[Tensor]] = []

    def noting(call: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(call)
        def noted(*arguments: object) -> object:
            calls.append([each.detach().clone() for each in _large(arguments)])
            return call(*arguments)

        return noted

    observe(exercise, with_calls(solution, noting), seed)
    return calls


def _large(arguments: object) -> Iterator[Tensor]:
    found = leaves(arguments)
    modules = [each for each in found if isinstance(each, torch.nn.Module)]
    for tensor in (*tensors(found), *(parameter for module in modules for parameter in module.parameters())):
        if type(tensor) in (Tensor, torch.nn.Parameter) and tensor.is_floating_point() and tensor.numel() >= _FEW:
            yield tensor
