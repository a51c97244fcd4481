"""Measurements for probes: backward passes, calls, operations, saved bytes, live bytes.

Counts and bytes are the same in every run; times are not. A probe measures in a run of its own, because measuring could
change the gradients that it judges.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import torch
from torch.autograd.graph import Node, _engine_run_backward, get_gradient_edge, saved_tensors_hooks

from .checking.containment.thread_starts import in_one_process, in_one_thread
from .checking.counting.allocations import live_bytes as live_bytes
from .checking.counting.eager_mode import EagerMode
from .checking.counting.own_operators import without_own_operators


@dataclass
class BackwardRuns:
    """The number of backward passes that a `with` block started.

    `times` is 0 until the `with` block ends.
    """

    times: int = 0


@contextmanager
def counting_backward_runs() -> Iterator[BackwardRuns]:
    """Count the backward passes that the `with` block starts; yield a `BackwardRuns`.

    Passes count whatever starts them: `backward`, `autograd.grad`, `torch.func` or `functional`. Passes of other
    threads count, too, because torch's engine numbers all passes of the process. A pass batched by vmap counts once,
    and forward mode starts none. A walk along the nodes by hand is no pass: where one would pay, count operations, too.
    Raises StartedThread if the `with` block starts a process.
    """
    runs = BackwardRuns()
    first = _start_a_pass()
    with in_one_process():
        try:
            yield runs
        finally:
            runs.times = _start_a_pass() - first - 1


def _start_a_pass() -> int:
    """Run a minimal backward pass, and return the number that torch's engine gave it."""
    numbers: list[int] = []
    with torch.inference_mode(False), torch.enable_grad():
        result = torch.zeros((), device="cpu", requires_grad=True).clone()
        result.register_hook(lambda _: numbers.append(torch._C._current_graph_task_id()))
        _engine_run_backward((result,), (torch.ones((), device="cpu"),), False, False, (), accumulate_grad=True)
    return numbers[0]


@contextmanager
def passes_to(leaf: torch.Tensor) -> Iterator[list[torch.Tensor]]:
    """Record the gradient that each backward pass in the `with` block computes for `leaf`.

    Yields a list of these gradients, one per pass, as they are before accumulation into `.grad`.
    """
    gradients: list[torch.Tensor] = []
    handle = leaf.register_hook(lambda gradient: gradients.append(gradient.detach().clone()))
    try:
        yield gradients
    finally:
        handle.remove()


class CountedCalls:
    """A counter of the calls of a function.

    A probe passes the attribute `function`, a wrapper, to an answer, and then reads `times`. The wrapper gives no
    access to this object. Code that holds the wrapper can make the count larger, but not smaller.
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
    """Call `function` with each pair of arguments sent to this generator, and yield its result and error.

    If None is sent, yield the number of calls. Keeps neither arguments nor results alive, because a probe may measure
    memory.
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
        except BaseException as error:  # also the end of a time limit, which must not end the generator
            answer.append((None, error))
        del call


@contextmanager
def batch_sizes(model: torch.nn.Module) -> Iterator[list[int]]:
    """Record the number of samples in each call of `model` in the `with` block; yield a list of them.

    Direct calls of `model.forward` are not seen.
    """
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
    """Record the parameters after each `optimizer.step()` in the `with` block.

    Yields a list with one flat tensor of all parameters per step.
    """
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
    """The number of torch's aten operations, and their largest new tensor.

    `times` is the number of operations. `largest` is the number of elements of the largest new storage.
    """

    times: int = 0
    largest: int = 0


class _OpsMode(EagerMode):
    """A dispatch mode that calls the function `note` after each operation.

    It calls `look` before. The argument of `note` is the number of elements of the largest storage that the operation
    made. A learner's code can find the mode, but cannot reach the counts through `note`.
    """

    def __init__(self, note: Callable[[int], object], look: Callable[[Any, Iterable[type]], object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.note, self.look = note, look

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.look(func, types)
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
    """Count operations in the counter `ops`.

    The caller sends one number after each operation: the elements of the largest storage that the operation made.
    """
    while True:
        largest = yield
        ops.times += 1
        ops.largest = max(ops.largest, largest)


@contextmanager
def counting_ops() -> Iterator[Ops]:
    """Count the aten operations of this thread in the `with` block; yield an `Ops`.

    Operations of backward passes and of forward mode count, too. `largest` shows whether a full Jacobian was made.
    Views, in-place results, expanded tensors and zero tangents do not count as new. Composite operations are
    decomposed, and the counts therefore depend on torch's version, dtype and rank. Compare how the counts grow with the
    size of the input. NumPy is not seen; `.item()` is one operation.
    Raises StartedThread if the `with` block starts a thread or a process, and CalledOwnOperator if it calls a custom
    operator, or uses a tensor class with a `__torch_dispatch__`.
    """
    ops = Ops()
    noting = _noting(ops)
    next(noting)
    with in_one_thread(), without_own_operators() as look, _OpsMode(noting.send, look):
        yield ops


@dataclass
class SavedBytes:
    """Tensors saved for backward: their bytes and their number.

    `saves` is the number of times that a tensor was saved.
    """

    saves: int = 0
    _boxes: weakref.WeakSet[_Box] = field(default_factory=weakref.WeakSet)
    _known: set[int] = field(default_factory=set)

    @property
    def now(self) -> int:
        """Bytes of the storages that are saved at this moment, each counted once.

        Storages of the tensors in `known` do not count.
        """
        held = {box.tensor.untyped_storage().data_ptr(): box.tensor.untyped_storage() for box in self._boxes}
        return sum(storage.nbytes() for key, storage in held.items() if key not in self._known)


class _Box:
    """A holder of a saved tensor; the graph keeps it alive."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


@contextmanager
def saved_bytes(known: Iterable[torch.Tensor] = ()) -> Iterator[SavedBytes]:
    """Measure the tensors that operations inside the `with` block save for backward; yield a `SavedBytes`.

    The attribute `saves` counts each save, even of the same tensor. The attribute `now` is the number of bytes of the
    storages that are kept at this moment: `x * x` saves `x` twice and keeps one storage. Read `now` while the result
    of the `with` block still exists, because saved tensors are freed with the result. A saved slice keeps its whole
    storage.
    A tensor made by `expand` keeps only the elements that are really stored. Pass the model's parameters in `known`:
    parameters are left out, because they stay in memory anyway. Also left out are `ctx` attributes, closures, tensors
    packed by hooks inside the `with` block, and Python numbers; `live_bytes` counts most of these. Never judge
    gradients in the same run: the hooks switch off torch's check for in-place changes.
    Raises StartedThread if the `with` block starts a thread or a process.
    """
    storages = [tensor.untyped_storage() for tensor in known]
    saved = SavedBytes(_known={storage.data_ptr() for storage in storages})

    def pack(tensor: torch.Tensor) -> _Box:
        saved.saves += 1
        box = _Box(tensor.detach())  # keeping the output itself would create a reference cycle and leak
        saved._boxes.add(box)
        return box

    with in_one_thread(), saved_tensors_hooks(pack, lambda box: box.tensor):
        yield saved


def graph_nodes(*outputs: torch.Tensor) -> list[Any]:
    """Return a list of the nodes in the graph behind `outputs`, each once.

    A node comes before the nodes that made its inputs. A leaf is an AccumulateGrad node with the tensor as its
    `variable`. Another version of torch, or another spelling such as `x @ w + b` for `F.linear`, can give other nodes.
    Count nodes or search for a name, but do not compare long lists.
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
    """Return the tensors in the arguments or results of an operation.

    `tree` is a tensor, or nested tuples, lists, dicts and dataclasses of tensors.
    """
    return [item for item in leaves(tree) if isinstance(item, torch.Tensor)]


def leaves(tree: object) -> list[object]:
    """Return the objects in nested tuples, lists, dicts and dataclasses.

    Raises RecursionError if a container holds itself.
    """
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, dict):
        entries = [*tree.values()]
    elif isinstance(tree, (list, tuple)) and not isinstance(tree, torch.autograd.graph.GradientEdge):
        entries = [*tree]
    elif is_dataclass(tree) and not isinstance(tree, type):
        entries = [getattr(tree, one.name) for one in fields(tree)]
    else:
        return [tree]
    return [leaf for entry in entries for leaf in leaves(entry)]
