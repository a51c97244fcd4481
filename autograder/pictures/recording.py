"""Run a real backward pass and watch it, node by node, leaving everything as it was."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from ..measure import graph_nodes
from .frames import Change, Frame, Gradient, Landed, Run, Sent
from .model import Graph
from .registry import brief, safely
from .saved import name_of, saved_by, shape_of
from .saved import storages as storages_of

Storages = list[list[list[tuple[int, int]]]]  # key and bytes, for each node, for each of its saved rows


def run_backward(loss: torch.Tensor, graph: Graph, storages: Storages) -> Run:
    """Run `loss.backward(retain_graph=True)` and watch every step; `graph` and `storages` are what was read of `loss`.

    Every `.grad` is put back, the random state too; no hook stays. An error of the pass, or of a hook of the
    learner's, is returned; hooks have the effects that they have.
    """
    recorder = _Recorder(loss, graph, storages)
    with ExitStack() as stack:
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
        stack.enter_context(torch.random.fork_rng(devices=devices))
        stack.enter_context(_every_grad_put_back(recorder.tensors))
        stack.enter_context(recorder.watching())
        try:
            torch.autograd.backward(loss, retain_graph=True)
        except Exception as error:
            return Run(tuple(recorder.frames), f"{type(error).__name__}: {error}", recorder.running)
    return Run(tuple(recorder.frames))


def saved_storages(loss: torch.Tensor, graph: Graph) -> Storages:
    """For each node and each of its saved rows, key and bytes of the storages that only the graph keeps."""
    with _aside():
        return [_storages_of(node, graph, index) for index, node in enumerate(graph_nodes(loss))]


def _storages_of(node: Any, graph: Graph, index: int) -> list[list[tuple[int, int]]]:
    rows = graph.nodes[index].saved
    names = [name for name in dir(node) if name.startswith("_raw_saved_")] if rows else []
    tensors = [tensor for _, tensor in saved_by(node, names)] if rows else []
    return [
        storages_of(tensor) if tensor is not None and row.counted in ("here", "elsewhere") else []
        for row, tensor in zip(rows, tensors)
    ]


@contextmanager
def _aside() -> Iterator[None]:
    """No graph is made, and no mode or subclass of the learner's sees what is computed here."""
    with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        yield


@contextmanager
def _every_grad_put_back(tensors: list[torch.Tensor]) -> Iterator[None]:
    """The engine adds to copies: the learner's own `.grad`, the same object in the same version, comes back."""
    before = []
    with _aside():
        for tensor in tensors:
            before.append((tensor, tensor.grad))
            if tensor.grad is not None:
                tensor.grad = tensor.grad.detach().clone()
    try:
        yield
    finally:
        with _aside():
            for tensor, grad in before:
                safely(lambda tensor=tensor, grad=grad: setattr(tensor, "grad", grad))  # type: ignore[misc]


def _live_tensors() -> list[torch.Tensor]:
    """Every tensor that somebody holds in Python. Types are asked, not objects: `isinstance` would run their code."""
    return [item for item in gc.get_objects() if issubclass(type(item), torch.Tensor)]


def _may_get_grad(tensor: torch.Tensor) -> bool:
    """Also true of what a nested pass may reach and a graph does not show."""
    return safely(lambda: tensor.requires_grad and (tensor.is_leaf or tensor.retains_grad)) or False


def _edge_of(tensor: torch.Tensor) -> torch.autograd.graph.GradientEdge | None:
    return safely(lambda: torch.autograd.graph.get_gradient_edge(tensor))


_FOR_EVER = -1


@dataclass
class _Place:
    """Where gradients wait for a node's output."""

    count: int
    arrived: int = 0
    waiting: torch.Tensor | None = None


@dataclass
class _Recorder:
    """Hooks on every node of one graph. They read, and return nothing; what they compute, nobody else sees."""

    loss: torch.Tensor
    graph: Graph
    storages: Storages
    frames: list[Frame] = field(default_factory=list)
    running: int | None = None
    task: int | None = None

    def __post_init__(self) -> None:
        self.nodes = graph_nodes(self.loss)
        with _aside():
            variables = [v for node in self.nodes if (v := _variable(node)) is not None]
            live = [*{id(tensor): tensor for tensor in [*variables, *_live_tensors()]}.values()]
            self.tensors = [tensor for tensor in live if _may_get_grad(tensor)]
            self.tensor_hooks = self._tensor_hooks(live)
            self.retaining = [(t, made) for t in self.tensors if not t.is_leaf and (made := _edge_of(t)) is not None]
        self.ways: dict[int, list[int]] = {}
        self.places: dict[tuple[int, int], _Place] = {}
        for number, edge in enumerate(self.graph.edges):
            self.ways.setdefault(edge.source, []).append(number)
            if edge.target is not None:
                self.places.setdefault((edge.target, edge.output), _Place(0)).count += 1
        self.holders = self._holders()
        self.arrived: dict[int, tuple[Gradient | None, ...]] = {}
        self.landing: dict[int, tuple[Gradient | None, torch.Tensor]] = {}
        self.changes: dict[int, tuple[Change, ...]] = {}
        self.own_hooks: dict[int, Callable[[], tuple[str, ...]]] = {}
        self.lock = threading.Lock()  # nodes of several devices run in several threads

    def _tensor_hooks(self, live: list[torch.Tensor]) -> dict[tuple[int, int], tuple[str, ...]]:
        """Names of the hooks on tensors, by node and output. Of a tensor that nobody holds torch tells none."""
        ids = {node: index for index, node in enumerate(self.nodes)}
        hooks = {}
        for tensor in live:
            found = tensor._backward_hooks or {}
            edge = _edge_of(tensor) if found else None
            if edge is not None and edge.node in ids:
                names = tuple(name_of(hook) for hook in found.values())
                hooks[ids[edge.node], edge.output_nr] = names
        return hooks

    def _holders(self) -> dict[int, tuple[int, set[int]]]:
        """For each storage that only the graph keeps: its bytes and the nodes that hold it."""
        holders: dict[int, tuple[int, set[int]]] = {}
        for index, rows in enumerate(self.storages):
            for row, found in zip(self.graph.nodes[index].saved, rows):
                for key, size in found:  # what was put on ctx by hand stays there
                    holders.setdefault(key, (size, set()))[1].add(_FOR_EVER if row.attribute else index)
        return holders

    @contextmanager
    def watching(self) -> Iterator[None]:
        handles: list[Any] = []
        try:
            for index, node in enumerate(self.nodes):
                before = node.register_prehook(self._before(index))
                after = node.register_hook(self._after(index))
                handles += [before, after]
                self.own_hooks[index] = _names_beside(before, after)
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _is_this_pass(self) -> bool:
        """A learner's hook may run a backward pass of its own through the same nodes."""
        task = torch._C._current_graph_task_id()
        self.task = task if self.task is None else self.task
        return task == self.task

    def _before(self, index: int) -> Callable[[Any], None]:
        def note(arrived: tuple[torch.Tensor | None, ...]) -> None:
            if not self._is_this_pass():
                return
            with self.lock, _aside():
                self.running = index
                changes = []
                for output, gradient in enumerate(arrived):
                    place = self.places.get((index, output))
                    waited = None if place is None else place.waiting
                    if gradient is not None and waited is not None and not _same(waited, gradient):
                        changes.append(Change(output, gradient_of(waited), gradient_of(gradient)))
                    if place is not None:
                        place.waiting = None
                self.changes[index] = tuple(changes)
                self.arrived[index] = tuple(None if g is None else gradient_of(g) for g in arrived)
                variable = _variable(self.nodes[index])
                if variable is not None and arrived[0] is not None:
                    # Read now: `.grad` may become the very tensor that arrived, and a hook may change it in place.
                    before = None if variable.grad is None else gradient_of(variable.grad)
                    self.landing[index] = before, _sum(variable.grad, arrived[0]).clone()

        return note

    def _after(self, index: int) -> Callable[[Any, Any], None]:
        def note(sent: tuple[torch.Tensor | None, ...], _: object) -> None:
            if self._is_this_pass():
                with self.lock, _aside():
                    self.frames.append(self._frame(index, sent))

        return note

    def _frame(self, index: int, sent: tuple[torch.Tensor | None, ...]) -> Frame:
        variable, arrived = _variable(self.nodes[index]), self.arrived[index]
        freed = 0
        for key in {key for row in self.storages[index] for key, _ in row}:
            size, nodes = self.holders[key]
            freed += size if nodes == {index} else 0
            nodes.discard(index)
        return Frame(
            index,
            arrived,
            () if variable is not None else tuple(self._sendings(index, sent)),
            None if variable is None else self._landed(index, variable),
            self._hooks(index, variable),
            self.changes[index],
            freed,
            tuple(
                (made.output_nr, gradient_of(tensor.grad))
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
            told = None if before is None else gradient_of(before)
            after = gradient_of(place.waiting)
            increased = gradient_of(increment)
            yield Sent(edge.slot, edge.target, edge.output, told, increased, after, place.arrived, place.count)

    def _landed(self, index: int, variable: torch.Tensor) -> Landed | None:
        increment = self.arrived[index][0]
        if increment is None:
            return None
        (before, after), now = self.landing.pop(index), variable.grad
        changed = now is None or not _same(now, after)
        kept = gradient_of(now) if changed and now is not None else None
        return Landed(before, increment, gradient_of(after), changed, kept)

    def _hooks(self, index: int, variable: torch.Tensor | None) -> tuple[str, ...]:
        names = [name for (node, _), hooks in self.tensor_hooks.items() if node == index for name in hooks]
        names += self.own_hooks[index]()
        names += [row.packed_by for row in self.graph.nodes[index].saved if row.packed_by]
        if variable is not None:
            names += [name_of(hook) for hook in (variable._post_accumulate_grad_hooks or {}).values()]
        return tuple(names)


def _variable(node: Any) -> torch.Tensor | None:
    variable = safely(lambda: node.variable) if type(node).__name__ == "AccumulateGrad" else None
    return variable if isinstance(variable, torch.Tensor) else None


def _names_beside(*handles: Any) -> Callable[[], tuple[str, ...]]:
    """The other hooks of a node: torch tells of them only by the dictionary in which it has put one's own."""

    def names() -> tuple[str, ...]:
        return tuple(
            name_of(hook)
            for handle in handles
            for id, hook in (handle.hooks_dict_ref() or {}).items()
            if id != handle.id
        )

    return names


def gradient_of(tensor: torch.Tensor) -> Gradient:
    return Gradient(shape_of(tensor), brief(tensor) or "?")


def _sum(before: torch.Tensor | None, increment: torch.Tensor) -> torch.Tensor:
    """As the engine adds: what waited first, but the dense before the sparse."""
    if before is None:
        return increment
    return increment + before if before.is_sparse else before + increment


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal numbers in equal places; taken for equal where torch cannot compare."""
    if one is other or one.layout != other.layout or one.shape != other.shape:
        return one.shape == other.shape
    return safely(lambda: bool(((one == other) | ((one != one) & (other != other))).all())) is not False
