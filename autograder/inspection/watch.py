"""The watch over training steps: backward passes, gradients, steps of optimizers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .gradients import gradient_sizes, holds_numbers
from .graphs import HeldGraphs, next_sequence_number, oldest_saving_node
from .modules import is_wholly_in_eval, named_parameters
from .operations import OperationWatch
from .places import Place, learners_place
from .seen import Backward, Seen, Update

_WALKED = 3  # backward passes of one step whose graph is walked


class StepWatch:
    """A watch over steps, one after the other.

    It changes no gradient and no random state. `models` and `optimizers` are those that are watched; an optimizer that
    steps is added. `updated` is called after each step of an optimizer. `first_number` is the number of the first node
    that the watch may have seen.
    """

    def __init__(
        self,
        models: Sequence[torch.nn.Module] = (),
        optimizers: Sequence[torch.optim.Optimizer] = (),
        updated: Callable[[], None] = lambda: None,
    ) -> None:
        self.models, self.optimizers, self.updated = list(models), list(optimizers), updated
        self.seen = Seen()
        self.parameters: dict[str, torch.nn.Parameter] = {}
        self._operations = OperationWatch(self.seen)
        self._graphs = HeldGraphs()
        self._fresh: set[str] = set()  # parameters whose gradient was begun since their last step
        self._stepped: dict[int, list[int]] = {}  # the number of the next node at each step of an optimizer, by its id
        self._after_pass: dict[str, tuple[int, int]] = {}
        self._scaled: set[str] = set()  # parameters in whose gradient a loss scale is
        self._scales_loss = self._in_scaler = False
        self.first_number = 0
        self.is_over = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what happens in the `with` block, as one step."""
        self.begin_step()
        self.first_number = next_sequence_number()
        with ExitStack() as stack:
            self._stance = torch.compiler.set_stance("force_eager")  # compiled code hides its operations
            stack.enter_context(self._stance)
            stack.enter_context(self._operations)
            stack.callback(self._operations.take_hooks_off)
            self._patch(stack, torch.autograd, "backward", self._around_backward)
            self._patch(stack, torch.autograd, "grad", self._around_grad)
            self._patch(stack, torch.amp.GradScaler, "scale", self._around_scale)
            self._patch(stack, torch.amp.GradScaler, "unscale_", self._around_unscale)
            self._patch(stack, torch.amp.GradScaler, "step", self._around_scaler_step)
            stack.callback(register_optimizer_step_pre_hook(self._before_step).remove)
            stack.callback(register_optimizer_step_post_hook(self._after_step).remove)
            yield

    def end(self) -> None:
        """Watch no more, within the `with` block: what is called there runs as it would without a watch."""
        self.is_over = self._operations.is_idle = True
        self._stance.__exit__(None, None, None)

    def begin_step(self) -> None:
        """Begin a new step: what was seen so far belongs to the last one."""
        self.seen = Seen()
        self.name_parameters()
        self._operations.begin_step(self.seen)
        self._graphs.begin_step()
        self._after_pass = self._gradients()

    def name_parameters(self) -> None:
        """Look up the models' parameters."""
        self.parameters = named_parameters(self.models)
        self._operations.names = {id(each): name for name, each in self.parameters.items()}

    def held_graph(self) -> Place | None:
        """Return the place of a backward pass whose graphs of earlier steps still live, or None."""
        return self._graphs.held()

    def _patch(self, stack: ExitStack, owner: Any, name: str, around: Callable[..., Any]) -> None:
        """Put `around(original, ...)` in the place of a function while steps are watched."""
        original = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            return original(*args, **kwargs) if self.is_over else around(original, *args, **kwargs)

        setattr(owner, name, watched)
        stack.callback(setattr, owner, name, original)

    def _gradients(self) -> dict[str, tuple[int, int]]:
        """Return a mark of each parameter's `.grad`: which tensor it is, and its version. No numbers are read."""
        return {
            name: (id(each.grad), each.grad._version) for name, each in self.parameters.items() if each.grad is not None
        }

    def _around_backward(self, original: Callable[..., Any], tensors: Any, *args: Any, **kwargs: Any) -> None:
        given = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        losses = [each for each in given if isinstance(each, torch.Tensor)]
        if self._operations.is_idle:  # a pass inside another one
            original(tensors, *args, **kwargs)
            return
        noted = Backward(learners_place(), after_steps=len(self.seen.updates))
        noted.in_eval = is_wholly_in_eval(self.models)
        noted.cuts, noted.means = self._operations.behind(losses)
        if len(self.seen.backwards) < _WALKED:
            oldest = [node for node in map(oldest_saving_node, losses) if node is not None]
            noted.oldest = min((node._sequence_nr() for node in oldest), default=sys.maxsize)
            self._graphs.note(oldest, noted.place)
        before = self._gradients()
        full = {name for name in before if name not in self._fresh and holds_numbers(self.parameters[name].grad)}
        self.seen.backwards.append(noted)
        self._operations.is_idle = True
        try:
            original(tensors, *args, **kwargs)
        finally:
            self._operations.is_idle = False
        self._after_pass = self._gradients()
        noted.reached = frozenset(n for n, mark in self._after_pass.items() if mark != before.get(n))
        noted.before = frozenset(full) & noted.reached
        self._fresh |= noted.reached
        if self._scales_loss:
            self._scales_loss = False
            self._mark_scaled(self._scaled | noted.reached)

    def _around_grad(self, original: Callable[..., Any], outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        asked = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
        ids = {id(each) for each in asked}
        names = frozenset(name for name, each in self.parameters.items() if id(each) in ids)
        idle, self._operations.is_idle = self._operations.is_idle, True
        try:
            return original(outputs, asked, *args, **kwargs)
        finally:
            self._operations.is_idle = idle
            if names:
                self.seen.backwards.append(Backward(learners_place(), reached=names))
                self._fresh |= names

    def _around_scale(self, original: Callable[..., Any], scaler: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(scaler, *args, **kwargs)
        self._scales_loss = scaler.is_enabled() and scaler.get_scale() != 1.0
        return found

    def _around_unscale(self, original: Callable[..., Any], scaler: Any, optimizer: Any) -> None:
        original(scaler, optimizer)
        held = {id(each) for group in optimizer.param_groups for each in group["params"]}
        self._mark_scaled({name for name in self._scaled if id(self.parameters[name]) not in held})

    def _mark_scaled(self, names: set[str] | frozenset[str]) -> None:
        """Note in which gradients a loss scale is."""
        self._scaled = set(names)
        self._operations.scaled = {id(self.parameters[name].grad) for name in names}

    def _around_scaler_step(self, original: Callable[..., Any], scaler: Any, *args: Any, **kwargs: Any) -> Any:
        self._in_scaler = True
        try:
            return original(scaler, *args, **kwargs)
        finally:
            self._in_scaler = False

    def _before_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if not self.is_over and not _has_closure(args, kwargs):
            self._note_update(optimizer)
            self._operations.is_idle = True

    def _after_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self.is_over:
            return
        if _has_closure(args, kwargs):  # its backward passes were inside the step
            self._note_update(optimizer)
        self._operations.is_idle = False
        self.updated()

    def _note_update(self, optimizer: torch.optim.Optimizer) -> None:
        if optimizer not in self.optimizers:
            self.optimizers.append(optimizer)
        by_id = {id(each): name for name, each in self.parameters.items()}
        held = [each for group in optimizer.param_groups for each in group["params"]]
        names = frozenset(by_id[id(each)] for each in held if id(each) in by_id)
        before_that, since = [self.first_number, self.first_number, *self._stepped.get(id(optimizer), ())][-2:]
        update = Update(learners_place(), names, since, before_that)
        with_grad = {name: self.parameters[name] for name in sorted(names) if self.parameters[name].grad is not None}
        now = self._gradients()
        changed = {n for n in names & self._fresh if n in self._after_pass and now.get(n) != self._after_pass[n]}
        update.reached = names & self._fresh
        update.is_empty = not with_grad
        zeroed = {name for name in changed & with_grad.keys() if id(with_grad[name].grad) in self._operations.zeroed}
        update.cleared = frozenset(changed - with_grad.keys()) | {
            n for n in zeroed if not holds_numbers(with_grad[n].grad)
        }
        update.stale = sum(id(each) not in by_id and each.grad is None for each in held) if by_id else 0
        update.sizes = gradient_sizes(with_grad)
        if any(each.norm == 0 for each in update.sizes):
            update.begins_with_zeros = not all(holds_numbers(each) for each in self.parameters.values())
        update.is_scaled, update.by_scaler = bool(names & self._scaled) and not self._in_scaler, self._in_scaler
        self._mark_scaled(self._scaled - names)
        self.seen.updates.append(update)
        self._fresh -= names
        self._stepped.setdefault(id(optimizer), []).append(next_sequence_number())


def _has_closure(args: Any, kwargs: Any) -> bool:
    return len(args) > 1 or kwargs.get("closure") is not None
