"""Conditions of inputs that no case of an exercise has.

An answer that is wrong under such a condition alone passes: it divides by an entry, forgets the mode of a module, or
keeps outside of a call what the backward pass of that call needs.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from torch import Tensor
from torch.nn import Module

from ..checking.containment.answer_calls import can_be_called, with_calls
from ..checking.exercise import PUBLIC_SEED, Exercise
from ..checking.observe import observe


class Condition(StrEnum):
    """A condition that holds in a call of an answer."""

    ZERO = "a zero in each tensor among the arguments"
    EVALUATION = "a module in evaluation mode"
    FROZEN = "a module with a parameter that requires no grad"
    CALL_BETWEEN = "another call between a call and its backward pass"


def untried_conditions(exercise: Exercise, solution: Any) -> Iterator[str]:
    """Yield a complaint for each condition that no call of the solution has, though one could have it.

    The exercises in `UNTRIED` are left out. One of them whose cases have the condition is a complaint, too.
    """
    if not can_be_called(solution):
        return
    calls = _Calls(getattr(solution, "apply", solution))
    observe(exercise, with_calls(solution, lambda _: calls), PUBLIC_SEED)
    for condition in Condition:
        untried, known = condition in calls.untried(), exercise.name in UNTRIED[condition].split()
        if untried and not known:
            yield f"no case has {condition}: an answer that is wrong there passes"
        if known and not untried:
            yield f"a case has {condition}: strike {exercise.name} from `UNTRIED`"


class _Calls:
    """A solution that notes the conditions of its calls.

    `possible` holds for each condition what could have it: positions of arguments, or results. `met` holds those that
    had it in some call.
    """

    def __init__(self, solution: Any) -> None:
        functools.update_wrapper(self, solution)
        self._solution = solution
        self._count = 0
        self.possible: dict[Condition, set[int]] = defaultdict(set)
        self.met: dict[Condition, set[int]] = defaultdict(set)

    def untried(self) -> set[Condition]:
        return {condition for condition, places in self.possible.items() if places - self.met[condition]}

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        for place, argument in enumerate(arguments):
            tensors = [each for each in _parts(argument, Tensor) if each.is_floating_point() and not each.is_sparse]
            modules = list(_parts(argument, Module))
            if tensors:
                self._note(Condition.ZERO, place, any(not each.detach().all() for each in tensors))
            if modules:
                modes = [part.training for each in modules for part in each.modules()]
                frozen = [not p.requires_grad for each in modules for p in each.parameters()]
                self._note(Condition.EVALUATION, 0, not all(modes))
                self._note(Condition.FROZEN, 0, any(frozen))
        result = self._solution(*arguments, **named)
        self._count += 1
        for each in _parts(result, Tensor):
            if each.grad_fn is not None:
                each.grad_fn.register_prehook(functools.partial(self._note_pass, self._count))
        return result

    def _note_pass(self, call: int, _: object) -> None:
        self._note(Condition.CALL_BETWEEN, 0, self._count > call)

    def _note(self, condition: Condition, place: int, holds: bool) -> None:
        self.possible[condition].add(place)
        if holds:
            self.met[condition].add(place)


def _parts(value: Any, kind: type) -> Iterator[Any]:
    """Yield the objects of a kind that an argument is, or that a list or dict of it holds."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _parts(part, kind)


# Exercises whose contract leaves a condition out, or to whose answer it cannot matter.
UNTRIED: dict[Condition, str] = {
    Condition.ZERO: """
        numerical_slope run_backward hide_the_bug jacobian_rows per_sample_gradients
        arriving_gradients clip_globally unused_parameters node_order recompute gradient_penalty
        meta_gradient fix_vmap has_second_derivative expose_once quantize score_loss
        fix_gumbel step_in_half
    """,
    Condition.EVALUATION: """
        accumulate_equal fix_zero_inside accumulate_uneven train_epoch clip_once unscale_then_clip
        token_mean hide_saved checkpointed clip_globally step_in_backward accumulate_in_backward
        output_gradients unused_parameters fix_threads recompute fix_leak fix_traces
        td_lambda fix_checkpoint fix_hidden_state train_windows step_in_half chunked_loss
    """,
    Condition.FROZEN: """
        mean_and_worst accumulate_equal fix_zero_inside accumulate_uneven train_epoch clip_once
        unscale_then_clip token_mean hide_saved checkpointed output_gradients fix_threads recompute
        fix_leak fix_traces step_in_half
    """,
    Condition.CALL_BETWEEN: """
        fix_two_losses mean_and_worst hide_the_bug shared_edit save_on_disk fix_attention expose_once one_graph
        score_loss
    """,
}
