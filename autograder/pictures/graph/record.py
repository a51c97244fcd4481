"""Recording of a real backward pass that restores `.grad` and random state."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from ...measure import graph_nodes
from ..text_form import error_said
from .model import BackwardChange, BackwardRun, Frame, Gradient, Graph, Landed, Sent
from .saved import Holders, Storages
from .torch_objects import (
    brief,
    edge_of,
    hooks_beside,
    hooks_on_tensors,
    is_hollow,
    name_of,
    safely,
    shape_of,
    unnoticed,
    variable_of,
)


def live_tensors() -> list[torch.Tensor]:
    """Return every tensor that Python code holds.

    The search looks at types only, because `isinstance` could run code of other objects.
    """
    return [item for item in gc.get_objects() if issubclass(type(item), torch.Tensor)]


def may_get_grad(tensor: torch.Tensor) -> bool:
    """Return whether a backward pass may write the `.grad` of `tensor`.

    A hook may start a nested pass, and tensors outside the graph therefore count, too.
    """
    return safely(lambda: tensor.requires_grad and (tensor.is_leaf or tensor.retains_grad)) or False


@contextmanager
def every_grad_put_back(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    """Let backward passes in the `with` block accumulate into copies of every `.grad`.

    After the `with` block, each tensor has its original `.grad` again: the same object, unchanged.
    """
    with unnoticed():
        before = [(tensor, tensor.grad) for tensor in tensors]
    for tensor, grad in before:
        if grad is not None:
            with torch.no_grad() if is_hollow(grad) else unnoticed():  # only its class can copy a hollow tensor
                tensor.grad = grad.detach().clone()
    try:
        yield
    finally:
        with unnoticed():
            for tensor, grad in before:
                safely(lambda tensor=tensor, grad=grad: setattr(tensor, "grad", grad))  # type: ignore[misc]


def run_backward(loss: torch.Tensor, graph: Graph, storages: Storages) -> BackwardRun:
    """Run `loss.backward(retain_graph=True)` and record every step.

    `graph` and `storages` were read from `loss`, by `read_graph` and `saved_storages`. Every `.grad` and the random
    state are restored, and no hook stays. An error in the pass or in a learner's hook is returned in the `Run`. Other
    effects of the learner's hooks remain.
    """
    recorder = _Recorder(loss, graph, storages)
    with ExitStack() as stack:
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
        stack.enter_context(torch.random.fork_rng(devices=devices))
        stack.enter_context(every_grad_put_back(recorder.tensors))
        stack.enter_context(recorder.watching())
        try:
            torch.autograd.backward(loss, retain_graph=True)
        except Exception as error:
            return BackwardRun(tuple(recorder.frames), error_said(error), recorder.running)
    return BackwardRun(tuple(recorder.frames))


@dataclass
class _Place:
    """The sum of gradients that waits for one output of a node.

    `count` gradients can arrive, `arrived` have arrived so far.
    """

    count: int
    arrived: int = 0
    waiting: torch.Tensor | None = None


class _Recorder:
    """Recording hooks on every node of one graph.

    The hooks only read and return nothing. Their own computations are hidden from the learner's modes and hooks.
    """

    def __init__(self, loss: torch.Tensor, graph: Graph, storages: Storages) -> None:
        self.graph = graph
        self.frames: list[Frame] = []
        self.running: int | None = None
        self.task: int | None = None
        self.nodes = graph_nodes(loss)
        with unnoticed():
            variables = [v for node in self.nodes if (v := variable_of(node)) is not None]
            live = [*{id(tensor): tensor for tensor in [*variables, *live_tensors()]}.values()]
            self.tensors = [tensor for tensor in live if may_get_grad(tensor)]
            # torch reports the hooks of live tensors only.
            self.tensor_hooks = hooks_on_tensors(live, self.nodes)
            self.retaining = [(t, made) for t in self.tensors if not t.is_leaf and (made := edge_of(t)) is not None]
        self.ways: dict[int, list[int]] = {}
        self.places: dict[tuple[int, int], _Place] = {}
        for number, edge in enumerate(graph.edges):
            self.ways.setdefault(edge.source, []).append(number)
            if edge.target is not None:
                self.places.setdefault((edge.target, edge.output), _Place(0)).count += 1
        self.holders = Holders(graph, storages)
        self.arrived: dict[int, tuple[Gradient | None, ...]] = {}
        self.landing: dict[int, tuple[Gradient | None, torch.Tensor]] = {}
        self.changes: dict[int, tuple[BackwardChange, ...]] = {}
        self.own_hooks: dict[int, Callable[[], list[str]]] = {}
        self.lock = threading.Lock()  # nodes of different devices run in different threads

    @contextmanager
    def watching(self) -> Iterator[None]:
        handles: list[Any] = []
        try:
            for index, node in enumerate(self.nodes):
                before = node.register_prehook(self._before(index))
                after = node.register_hook(self._after(index))
                handles += [before, after]
                self.own_hooks[index] = hooks_beside(before, after)
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _is_this_pass(self) -> bool:
        """Return whether the running pass is the recorded one.

        A learner's hook may run another pass through the same nodes.
        """
        task = torch._C._current_graph_task_id()
        self.task = task if self.task is None else self.task
        return task == self.task

    def _before(self, index: int) -> Callable[[Any], None]:
        def note(arrived: tuple[torch.Tensor | None, ...]) -> None:
            if not self._is_this_pass():
                return
            with self.lock, unnoticed():
                self.running = index
                changes = []
                for output, gradient in enumerate(arrived):
                    place = self.places.get((index, output))
                    waited = None if place is None else place.waiting
                    if gradient is not None and waited is not None and not _same(waited, gradient):
                        changes.append(BackwardChange(output, _gradient_of(waited), _gradient_of(gradient)))
                    if place is not None:
                        place.waiting = None
                self.changes[index] = tuple(changes)
                self.arrived[index] = tuple(None if g is None else _gradient_of(g) for g in arrived)
                variable = variable_of(self.nodes[index])
                if variable is not None and arrived[0] is not None:
                    # Read now: `.grad` may become the very tensor that arrived, and a hook may change it in place.
                    before = None if variable.grad is None else _gradient_of(variable.grad)
                    after = _sum(variable.grad, arrived[0])
                    self.landing[index] = before, after if is_hollow(after) else after.clone()

        return note

    def _after(self, index: int) -> Callable[[Any, Any], None]:
        def note(sent: tuple[torch.Tensor | None, ...], _: object) -> None:
            if self._is_this_pass():
                with self.lock, unnoticed():
                    self.frames.append(self._frame(index, sent))

        return note

    def _frame(self, index: int, sent: tuple[torch.Tensor | None, ...]) -> Frame:
        variable, arrived = variable_of(self.nodes[index]), self.arrived[index]
        return Frame(
            index,
            arrived,
            () if variable is not None else tuple(self._sendings(index, sent)),
            None if variable is None else self._landed(index, variable),
            self._hooks(index, variable),
            self.changes[index],
            self.holders.let_go(index),
            tuple(
                (made.output_nr, _gradient_of(tensor.grad))
                for tensor, made in self.retaining
                if made.node == self.nodes[index] and tensor.grad is not None
            ),
        )

    def _sendings(self, index: int, sent: tuple[Any, ...]) -> Iterator[Sent]:
        for number in self.ways.get(index, ()):
            edge = self.graph.edges[number]
            increment = sent[edge.slot] if edge.slot < len(sent) else None
            if edge.target is None or increment is None:
                continue
            place = self.places[edge.target, edge.output]
            place.arrived += 1
            before, place.waiting = place.waiting, _sum(place.waiting, increment)
            told = None if before is None else _gradient_of(before)
            after = _gradient_of(place.waiting)
            increased = _gradient_of(increment)
            yield Sent(edge.slot, edge.target, edge.output, told, increased, after, place.arrived, place.count)

    def _landed(self, index: int, variable: torch.Tensor) -> Landed | None:
        increment = self.arrived[index][0]
        if increment is None:
            return None
        (before, after), now = self.landing.pop(index), variable.grad
        changed = now is None or not _same(now, after)
        kept = _gradient_of(now) if changed and now is not None else None
        return Landed(before, increment, _gradient_of(after), changed, kept)

    def _hooks(self, index: int, variable: torch.Tensor | None) -> tuple[str, ...]:
        names = [*self.tensor_hooks.get(index, ()), *self.own_hooks[index]()]
        names += [row.packed_by for row in self.graph.nodes[index].saved if row.packed_by]
        if variable is not None:
            names += [name_of(hook) for hook in (variable._post_accumulate_grad_hooks or {}).values()]
        return tuple(names)


def _gradient_of(tensor: torch.Tensor) -> Gradient:
    return Gradient(shape_of(tensor), brief(tensor) or "?")


def _sum(before: torch.Tensor | None, increment: torch.Tensor) -> torch.Tensor:
    """Return the sum in the order that torch's engine uses: waiting gradient + new one, but dense before sparse."""
    if before is None or is_hollow(before) or is_hollow(increment):
        return increment
    return increment + before if before.is_sparse else before + increment


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors are equal, with NaN equal to NaN. Tensors that torch cannot compare count as equal."""
    if is_hollow(one) or is_hollow(other):
        return True
    if one is other or one.layout != other.layout or one.shape != other.shape:
        return one.shape == other.shape
    return safely(lambda: bool(((one == other) | ((one != one) & (other != other))).all())) is not False
