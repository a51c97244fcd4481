"""Derivatives of small programs, compared with torch's.

Engines with one fault show the same, however they are built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught, error_kind

from .engine_runs import Make, Walk, backward
from .small_programs import MEETINGS, RULES, SECOND, Trial

RULES_RIGHT, SECOND_RIGHT, MEETINGS_RIGHT = ([True] * number for number in (len(RULES), 1 + len(SECOND), len(MEETINGS)))


@dataclass(frozen=True)
class Truth:
    """The leaves of a trial, and torch's derivatives for each program."""

    leaves: list[Tensor]
    first: list[list[Tensor]]
    second: list[list[Tensor]]


Truths = Mapping[Trial, Truth]


def truths(start: float) -> Truths:
    """Return torch's derivatives for all trials. `start` shifts the numbers in the leaves."""
    return {trial: _truth(trial, start) for trial in {*RULES, *SECOND, *MEETINGS}}


def _truth(trial: Trial, start: float) -> Truth:
    leaves = []
    for number, shape in enumerate(trial.shapes, 1):
        entries = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).view(shape)
        leaves.append((entries * number + start + number).cos() / 2)
    first, second = [], []
    for program in trial.programs:
        variables = [leaf.clone().requires_grad_() for leaf in leaves]
        found = torch.autograd.grad(program(*variables), variables, create_graph=True)
        first.append([each.detach() for each in found])
        total = trial.passes * torch.stack([each.sum() for each in found]).sum()
        if total.requires_grad:
            second.append(list(torch.autograd.grad(total, variables, materialize_grads=True)))
    return Truth(leaves, first, second)


def rules(make: Make, known: Truths) -> list[object]:
    """Return True for each rule whose first derivatives are right, up to a wrong one.

    Behind a wrong entry everything is True: nothing else was tried.
    """
    return _up_to_a_wrong_one([_first(make, backward, trial, known[trial]) for trial in RULES])


def second_rules(make: Make, known: Truths) -> list[object]:
    """Return True for all trials whose second derivatives are right, up to a wrong one.

    The first entry is about all rules: it is wrong if each of them is.
    """
    found = [_second(make, trial, known[trial]) for trial in SECOND]
    nothing = all(each is not True for each in found)
    return _up_to_a_wrong_one([found[0] if nothing else True, *found])


def meetings(make: Make, known: Truths, walk: Walk = backward) -> list[object]:
    """Return True for each trial in which the gradients that meet are right.

    `walk` makes a pass from a root. If a single path is wrong already, the rest is True: nothing else was tried.
    """
    single, *others = MEETINGS
    alone = _first(make, walk, single, known[single]) or False
    if alone is not True:
        return [alone, *MEETINGS_RIGHT[1:]]
    return [True, *(_first(make, walk, trial, known[trial]) for trial in others)]


def _up_to_a_wrong_one(found: Sequence[object]) -> list[object]:
    wrong = next((number for number, each in enumerate(found) if each is not True), len(found))
    return [each if number <= wrong else True for number, each in enumerate(found)]


def _first(make: Make, walk: Walk, trial: Trial, truth: Truth) -> object:
    for program, wanted in zip(trial.programs, truth.first):
        leaves = [make(leaf.clone()) for leaf in truth.leaves]
        try:
            walk(program(*leaves))
        except Exception as error:
            return _shown(error)
        if (found := _compared(leaves, wanted, trial)) is not True:
            return found
    return True


def _second(make: Make, trial: Trial, truth: Truth) -> object:
    for program, wanted in zip(trial.programs, truth.second):
        leaves = [make(leaf.clone()) for leaf in truth.leaves]
        try:
            root = program(*leaves)
            for _ in range(trial.passes):
                root.backward(create_graph=True)
            first, *others = (leaf.grad.sum() for leaf in leaves)
            for each in others:
                first = first + each
            for leaf in leaves:
                leaf.grad = None
            first.backward()
        except Exception as error:
            return _shown(error)
        if _compared(leaves, wanted, trial) is not True:
            return False
    return True


def _compared(leaves: Sequence[Any], wanted: Sequence[Tensor], trial: Trial) -> object:
    """Return True for right gradients, None for a missing one, and else what is wrong with them."""
    if any(leaf.grad is None for leaf in leaves):
        return None
    found = [leaf.grad.data for leaf in leaves]
    if trial.broadcasts and any(each.shape != right.shape for each, right in zip(found, wanted)):
        return "another shape"
    near = (each.shape == right.shape and torch.allclose(each.double(), right) for each, right in zip(found, wanted))
    return all(near)


def _shown(error: Exception) -> object:
    """Return an exception as a value.

    A visit to a value without a gradient ends in a LookupError, or computes with nothing: both are a wrong order.
    A TypeError is compared with its message, which says what a rule should not have done.
    """
    if isinstance(error, LookupError):
        return False
    return Caught.of(error, None if isinstance(error, TypeError) else error_kind(error))
