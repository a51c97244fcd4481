"""What probes count: how many backward passes are started, how the model is called, how many bytes are alive.

Counts and bytes are deterministic where times are not. They are taken in runs of their own: correctness is never
judged in a run with measuring switched on.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd.graph import Node, get_gradient_edge, saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass
class Count:
    """How often something happened."""

    times: int = 0


@contextmanager
def counting_backward_runs() -> Iterator[Count]:
    """Count the backward passes started, by whatever call: `backward`, `autograd.grad`, `torch.func`, `functional`.

    All of them end in one function of torch.autograd, from other threads too. A run batched by vmap counts once;
    forward mode starts none.
    """
    count = Count()

    def counted(engine: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        count.times += 1
        return engine(*args, **kwargs)

    with around_backward(counted):
        yield count


@contextmanager
def around_backward(run: Callable[..., Any]) -> Iterator[None]:
    """In the block `run(engine, roots, *args, **kwargs)` stands for torch's engine, whatever starts a backward pass."""
    engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
    torch.autograd._engine_run_backward = functools.partial(run, engine)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.autograd._engine_run_backward = engine  # type: ignore[attr-defined]


class CountedCalls:
    """A function that counts how often it is called: a probe hands it out in place of the function itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.times = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.times += 1
        return self.function(*args, **kwargs)


@contextmanager
def batch_sizes(model: torch.nn.Module) -> Iterator[list[int]]:
    """The number of samples in each call of `model`, in order. Sees calls of the module, not of its `forward`."""
    sizes: list[int] = []

    def note(_: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
        sizes.append(len(inputs[0]))

    handle = model.register_forward_pre_hook(note)
    try:
        yield sizes
    finally:
        handle.remove()


@contextmanager
def weights_after_steps(optimizer: torch.optim.Optimizer) -> Iterator[list[torch.Tensor]]:
    """All parameters of `optimizer` as one flat tensor after each `optimizer.step()`, in order."""
    path: list[torch.Tensor] = []

    def note(stepped: torch.optim.Optimizer, *_: object) -> None:
        parameters = [p.detach().flatten() for group in stepped.param_groups for p in group["params"]]
        path.append(torch.cat(parameters))

    handle = optimizer.register_step_post_hook(note)
    try:
        yield path
    finally:
        handle.remove()


@dataclass
class Ops:
    """How many aten ops ran, forward and backward, and the elements of the largest storage that one of them made."""

    times: int = 0
    largest: int = 0


class _OpsMode(TorchDispatchMode):
    def __init__(self, ops: Ops) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ops = ops

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func._schema.name in ("aten::detach", "aten::alias"):  # bookkeeping that autograd and the mode insert
            return result
        self.ops.times += 1
        inputs = {tensor.untyped_storage()._cdata for tensor in tensors((args, kwargs))}
        for tensor in tensors(result):
            storage = tensor.untyped_storage()
            if storage._cdata not in inputs and not tensor._is_zerotensor():
                self.ops.largest = max(self.ops.largest, storage.nbytes() // tensor.element_size())
        return result


@contextmanager
def counting_ops() -> Iterator[Ops]:
    """Count the aten ops of this thread, those of backward passes and of forward-mode derivatives included.

    `largest` tells whether a Jacobian was made: a view, an in-place result, an expanded tensor and the zero tangent of
    a constant do not count. Composite ops appear decomposed, so numbers depend on torch's version, dtype and rank:
    compare how they grow with the size. NumPy is invisible, and so are other threads; `.item()` is one op.
    """
    ops = Ops()
    with _OpsMode(ops):
        yield ops


@dataclass
class SavedBytes:
    """Tensors that the graph keeps for backward: the bytes of their storages, and how many times one was saved."""

    saves: int = 0
    _boxes: weakref.WeakSet[_Box] = field(default_factory=weakref.WeakSet)
    _known: set[int] = field(default_factory=set)

    @property
    def now(self) -> int:
        """Bytes of the storages that are held at this moment, each counted once, `known` ones not at all."""
        held = {box.tensor.untyped_storage().data_ptr(): box.tensor.untyped_storage() for box in self._boxes}
        return sum(storage.nbytes() for key, storage in held.items() if key not in self._known)


class _Box:
    """Holds a saved tensor as long as the graph holds the box."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


@contextmanager
def saved_bytes(known: Iterable[torch.Tensor] = ()) -> Iterator[SavedBytes]:
    """Measure what operations in the block save for backward. Read `now` while their result is alive.

    One call per save, not per tensor: `x * x` saves twice and holds one storage; a slice holds all of its storage, an
    expanded tensor only its few numbers. Parameters are saved, too: name them in `known`. Does not see `ctx`
    attributes, closures, what another pair of hooks packs inside, Python scalars, other threads: `live_bytes` sees
    most of these. Hooks switch the version check off, so never judge gradients in this run.
    """
    storages = [tensor.untyped_storage() for tensor in known]
    saved = SavedBytes(_known={storage.data_ptr() for storage in storages})

    def pack(tensor: torch.Tensor) -> _Box:
        saved.saves += 1
        box = _Box(tensor.detach())  # a hook that kept the output itself would make a cycle, and leak
        saved._boxes.add(box)
        return box

    with saved_tensors_hooks(pack, lambda box: box.tensor):
        yield saved


def graph_nodes(*outputs: torch.Tensor) -> list[Any]:
    """The nodes of the graph behind `outputs`, each once, in topological order: after every node that leads to it.

    A leaf is an AccumulateGrad node with the tensor as its `variable`. Names depend on torch's version, on rank and on
    spelling (`x @ w + b`, `addmm`, `F.linear`): count or look for a name, never compare a long list.
    """
    finished: list[Node] = []
    entered: set[Node] = set()
    waiting: list[tuple[Node | None, bool]] = [(get_gradient_edge(y).node, False) for y in outputs if y.requires_grad]
    while waiting:
        node, leaving = waiting.pop()
        if leaving and node is not None:
            finished.append(node)
        elif node is not None and node not in entered:
            entered.add(node)
            waiting.append((node, True))
            waiting += [(child, False) for child, _ in node.next_functions]
    return finished[::-1]


identity = object.__hash__  # made of the address, as `id` is; that one asks audit hooks, and a graded notebook has one


@dataclass
class LiveBytes:
    """Bytes of tensor storages made inside the block: alive `now`, and the most at any moment, `peak`."""

    now: int = 0
    peak: int = 0
    _seen: set[int] = field(default_factory=set)

    def made(self, storage: torch.UntypedStorage) -> None:
        """A storage begins to count, until its last owner lets go."""
        key, size = identity(storage), storage.nbytes()
        self._seen.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self.freed, key, size)

    def freed(self, key: int, size: int) -> None:
        """The storage with the identity `key` was let go."""
        self.now -= size
        self._seen.discard(key)


class LiveBytesMode(TorchDispatchMode):
    """Watches the outputs of every op of this thread. A storage counts until its last owner, Python or C++, lets go."""

    def __init__(self, live: LiveBytes, known: Iterable[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.live = live
        self.known = [tensor.untyped_storage() for tensor in known]  # kept, so that no identity is used twice
        live._seen |= {identity(storage) for storage in self.known}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # `torch.tensor(list)` arrives as the argument of lift_fresh: it is born there.
        born_outside = () if func._schema.name == "aten::lift_fresh" else tensors((args, kwargs))
        inputs = {identity(tensor.untyped_storage()) for tensor in born_outside}
        result = func(*args, **kwargs)
        for tensor in tensors(result):
            storage = tensor.untyped_storage()
            at = identity(storage)
            if at not in self.live._seen and at not in inputs and not tensor._is_zerotensor():
                self.live.made(storage)
        return result


@contextmanager
def live_bytes(known: Iterable[torch.Tensor] = ()) -> Iterator[LiveBytes]:
    """Measure bytes of tensors that the block makes; storages of `known` tensors do not count.

    Sees what the graph keeps (also `ctx` attributes and closures), gradients and intermediates. Does not see: scratch
    memory inside a kernel, `resize_`, NumPy arrays, other threads. Equal to the allocator's own peak on plain
    networks. Drop `.grad` first, or gradients are missed.
    """
    live = LiveBytes()
    with LiveBytesMode(live, known):
        yield live


def tensors(tree: object) -> list[torch.Tensor]:
    """The tensors among the arguments or results of an op or a function: one, or some in tuples, lists and dicts.

    Runs for every op, so no general pytree.
    """
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, (list, tuple)):
        return [tensor for item in tree for tensor in tensors(item)]
    return tensors(list(tree.values())) if isinstance(tree, dict) else []
