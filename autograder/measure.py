"""Measurements for probes: backward passes, calls, aten ops, saved and live bytes.

Counts and bytes are deterministic, times are not. Probes measure in separate runs: correctness is never judged in a run
with measuring switched on.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd.graph import Node, _engine_run_backward, get_gradient_edge, saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from .checking.allocations import live_bytes as live_bytes


@dataclass
class BackwardRuns:
    """The number of backward passes started in a block.

    It is 0 while the block runs.
    """

    times: int = 0


@contextmanager
def counting_backward_runs() -> Iterator[BackwardRuns]:
    """Count the backward passes started by any call: `backward`, `autograd.grad`, `torch.func`, `functional`.

    torch's engine numbers all passes of the process, including those of other threads. A run batched by vmap counts
    once; forward mode starts none.
    """
    runs = BackwardRuns()
    first = _start_a_pass()
    try:
        yield runs
    finally:
        runs.times = _start_a_pass() - first - 1


def _start_a_pass() -> int:
    """Run a minimal backward pass and return the number that torch's engine assigned to it."""
    numbers: list[int] = []
    with torch.inference_mode(False), torch.enable_grad():
        result = torch.zeros((), device="cpu", requires_grad=True).clone()
        result.register_hook(lambda _: numbers.append(torch._C._current_graph_task_id()))
        _engine_run_backward((result,), (torch.ones((), device="cpu"),), False, False, (), accumulate_grad=True)
    return numbers[0]


@contextmanager
def passes_to(leaf: torch.Tensor) -> Iterator[list[torch.Tensor]]:
    """Yield a list of the gradients of `leaf`, one per backward pass, recorded before accumulation into `.grad`."""
    gradients: list[torch.Tensor] = []
    handle = leaf.register_hook(lambda gradient: gradients.append(gradient.detach().clone()))
    try:
        yield gradients
    finally:
        handle.remove()


@contextmanager
def around_backward(run: Callable[..., Any]) -> Iterator[None]:
    """Replace torch's engine by `run(engine, roots, *args, **kwargs)` for the block.

    Every call that starts a backward pass uses the replacement.
    """
    engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
    torch.autograd._engine_run_backward = functools.partial(run, engine)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.autograd._engine_run_backward = engine  # type: ignore[attr-defined]


class CountedCalls:
    """A counter of the calls of a function.

    A probe hands out the attribute `function`, a wrapper, instead of the original. The count is a local variable of a
    generator, and the wrapper gives no access to this object. Code that holds the wrapper can only raise the count.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        counted = _counted(function)
        next(counted)
        self._ask = ask = counted.send

        def call(*args: Any, **kwargs: Any) -> Any:
            result, error = ask((args, kwargs))
            if error is not None:
                raise error
            return result

        self.function = call

    @property
    def times(self) -> int:
        """Number of calls of `function` so far."""
        times: int = self._ask(None)
        return times


def _counted(function: Callable[..., Any]) -> Generator[Any, tuple[tuple[Any, ...], dict[str, Any]] | None, None]:
    """Call `function` with the arguments sent, and yield its result and error. Sending None yields the number of calls.

    Keeps neither arguments nor results: a probe may measure the memory that remains.
    """
    times = 0
    answer: list[Any] = [None]
    while True:
        call = yield answer.pop()
        if call is None:
            answer.append(times)
            continue
        times += 1
        try:
            answer.append((function(*call[0], **call[1]), None))
        except Exception as error:
            answer.append((None, error))
        del call


@contextmanager
def batch_sizes(model: torch.nn.Module) -> Iterator[list[int]]:
    """Record the number of samples in each call of `model`, in order. Does not see direct calls of its `forward`."""
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
    """Record all parameters of `optimizer` as one flat tensor after each `optimizer.step()`, in order."""
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
    """Number of aten ops, forward and backward, and the largest new storage.

    `largest` is the number of elements of the largest storage that an op allocated.
    """

    times: int = 0
    largest: int = 0


class _OpsMode(TorchDispatchMode):
    """A dispatch mode that passes each op's result size to `note`.

    The size is the number of elements of the largest new storage. An answer can find the mode, but not the state of
    `note`.
    """

    def __init__(self, note: Callable[[int], object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.note = note

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func._schema.name in ("aten::detach", "aten::alias"):  # inserted by autograd and by the mode itself
            return result
        inputs = {tensor.untyped_storage()._cdata for tensor in tensors((args, kwargs))}
        largest = 0
        for tensor in tensors(result):
            storage = tensor.untyped_storage()
            if storage._cdata not in inputs and not tensor._is_zerotensor():
                largest = max(largest, storage.nbytes() // tensor.element_size())
        self.note(largest)
        return result


def _noting(ops: Ops) -> Generator[None, int, None]:
    """Count ops in `ops`; each sent value is the number of elements of the largest storage that an op allocated."""
    while True:
        largest = yield
        ops.times += 1
        ops.largest = max(ops.largest, largest)


@contextmanager
def counting_ops() -> Iterator[Ops]:
    """Count the aten ops of this thread, including those of backward passes and of forward-mode derivatives.

    `largest` shows whether a Jacobian was made: a view, an in-place result, an expanded tensor and the zero tangent of
    a constant do not count. Composite ops appear decomposed, so numbers depend on torch's version, dtype and rank.
    Compare their growth with the size instead. NumPy and other threads are invisible; `.item()` is one op.
    """
    ops = Ops()
    noting = _noting(ops)
    next(noting)
    with _OpsMode(noting.send):
        yield ops


@dataclass
class SavedBytes:
    """Tensors saved for backward: the bytes of their storages, and the saves.

    `saves` is the number of times a tensor was saved.
    """

    saves: int = 0
    _boxes: weakref.WeakSet[_Box] = field(default_factory=weakref.WeakSet)
    _known: set[int] = field(default_factory=set)

    @property
    def now(self) -> int:
        """Bytes of the storages held at this moment, each counted once. Known storages do not count."""
        held = {box.tensor.untyped_storage().data_ptr(): box.tensor.untyped_storage() for box in self._boxes}
        return sum(storage.nbytes() for key, storage in held.items() if key not in self._known)


class _Box:
    """A holder of a saved tensor, kept alive by the graph."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


@contextmanager
def saved_bytes(known: Iterable[torch.Tensor] = ()) -> Iterator[SavedBytes]:
    """Measure the tensors that operations in the block save for backward. Read `now` while their result is alive.

    There is one call per save, not per tensor: `x * x` saves twice and holds one storage. A slice holds all of its
    storage, an expanded tensor only its few numbers. Parameters are saved, too: pass them in `known`. Does not count
    `ctx` attributes, closures, tensors packed by another pair of hooks inside, Python scalars, and other threads.
    `live_bytes` counts most of these. Hooks switch the version check off, so never judge gradients in this run.
    """
    storages = [tensor.untyped_storage() for tensor in known]
    saved = SavedBytes(_known={storage.data_ptr() for storage in storages})

    def pack(tensor: torch.Tensor) -> _Box:
        saved.saves += 1
        box = _Box(tensor.detach())  # keeping the output itself would create a reference cycle and leak
        saved._boxes.add(box)
        return box

    with saved_tensors_hooks(pack, lambda box: box.tensor):
        yield saved


def graph_nodes(*outputs: torch.Tensor) -> list[Any]:
    """Return the nodes of the graph behind `outputs`, each once, in topological order: users before their inputs.

    A leaf is an AccumulateGrad node with the tensor as its `variable`. Names depend on torch's version, on rank and on
    spelling (`x @ w + b`, `addmm`, `F.linear`). Count or search for a name; never compare a long list.
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


def tensors(tree: object) -> list[torch.Tensor]:
    """Return the tensors in the arguments or results of an op: a tensor, or nested tuples, lists and dicts of them.

    It runs for every op, so it avoids torch's slower general pytree.
    """
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, (list, tuple)):
        return [tensor for item in tree for tensor in tensors(item)]
    return tensors(list(tree.values())) if isinstance(tree, dict) else []
