"""What probes count: how many backward passes are started, how the model is called, how many bytes are alive.

Counts and bytes are deterministic where times are not. They are taken in runs of their own: correctness is never
judged in a run with measuring switched on.
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
    """The number of backward passes that were started in a block; 0 while the block runs."""

    times: int = 0


@contextmanager
def counting_backward_runs() -> Iterator[BackwardRuns]:
    """Count the backward passes started, by whatever call: `backward`, `autograd.grad`, `torch.func`, `functional`.

    Torch's engine numbers all passes of the process, those of other threads too. A run batched by vmap counts once;
    forward mode starts none.
    """
    runs = BackwardRuns()
    first = _start_a_pass()
    try:
        yield runs
    finally:
        runs.times = _start_a_pass() - first - 1


def _start_a_pass() -> int:
    """Run the smallest backward pass there is and return the number that torch's engine has given it."""
    numbers: list[int] = []
    with torch.inference_mode(False), torch.enable_grad():
        result = torch.zeros((), device="cpu", requires_grad=True).clone()
        result.register_hook(lambda _: numbers.append(torch._C._current_graph_task_id()))
        _engine_run_backward((result,), (torch.ones((), device="cpu"),), False, False, (), accumulate_grad=True)
    return numbers[0]


@contextmanager
def passes_to(leaf: torch.Tensor) -> Iterator[list[torch.Tensor]]:
    """The gradient of `leaf` in each backward pass that reaches it, in order, before anything is added to `.grad`."""
    gradients: list[torch.Tensor] = []
    handle = leaf.register_hook(lambda gradient: gradients.append(gradient.detach().clone()))
    try:
        yield gradients
    finally:
        handle.remove()


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
    """Counts how often `function` is called: a probe hands that out in place of the function that it was given.

    What is counted is a local of a generator, and this object is not within reach of `function`: whoever holds that
    can only raise the count.
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
        """How often `function` was called by now."""
        times: int = self._ask(None)
        return times


def _counted(function: Callable[..., Any]) -> Generator[Any, tuple[tuple[Any, ...], dict[str, Any]] | None, None]:
    """Call `function` with what is sent, and yield its result and error; send None for the number of calls.

    Keeps neither arguments nor results: a probe may measure what stays in memory.
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
    """Hands the size of what each op made to `note`; an answer can find the mode, but not what `note` does."""

    def __init__(self, note: Callable[[int], object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.note = note

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func._schema.name in ("aten::detach", "aten::alias"):  # bookkeeping that autograd and the mode insert
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
    """Count in `ops` what is sent: the elements of the largest storage that an op made."""
    while True:
        largest = yield
        ops.times += 1
        ops.largest = max(ops.largest, largest)


@contextmanager
def counting_ops() -> Iterator[Ops]:
    """Count the aten ops of this thread, those of backward passes and of forward-mode derivatives included.

    `largest` tells whether a Jacobian was made: a view, an in-place result, an expanded tensor and the zero tangent of
    a constant do not count. Composite ops appear decomposed, so numbers depend on torch's version, dtype and rank:
    compare how they grow with the size. NumPy is invisible, and so are other threads; `.item()` is one op.
    """
    ops = Ops()
    noting = _noting(ops)
    next(noting)
    with _OpsMode(noting.send):
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


def tensors(tree: object) -> list[torch.Tensor]:
    """The tensors among the arguments or results of an op or a function: one, or some in tuples, lists and dicts.

    Runs for every op, so no general pytree.
    """
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, (list, tuple)):
        return [tensor for item in tree for tensor in tensors(item)]
    return tensors(list(tree.values())) if isinstance(tree, dict) else []
