"""Parts shared by the exercises on saved tensors."""

from __future__ import annotations

import functools
import gc
import os
import re
import tempfile
import textwrap
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from autograder.checking.exercise import Case
from autograder.checking.inputs import Formula, leaf, signed, uniform
from autograder.measure import live_bytes

Function = Callable[[Tensor], Tensor]


class Using(Formula):
    """A formula with the tensors, besides its argument, that it computes with."""

    def __init__(self, text: str, function: Function, *constants: Tensor) -> None:
        super().__init__(text, function)
        self.constants = constants


def nbytes(tensor: Tensor) -> int:
    """Bytes of a tensor's own entries, whatever storage they lie in."""
    return tensor.numel() * tensor.element_size()


def torchs_error(run: Callable[[], object]) -> str | None:
    """What torch itself raises in `run()`, in words that are the same at each run; the answer's own errors pass.

    An error of torch's has no frame of the answer in it, and one about a file has the file's name in its text.
    """
    try:
        run()
    except OSError as error:
        return type(error).__name__
    except Exception as error:
        if "torch" not in Path(traceback.extract_tb(error.__traceback__)[-1].filename).parts:
            raise
        return textwrap.shorten(f"{type(error).__name__}: {re.sub(r'[0-9]+', '#', str(error))}", 150)
    return None


def gradient(y: object, x: Tensor, retain_graph: bool = False) -> object:
    """Backward from the sum of `y`; what it leaves in `x.grad`, which was empty, or what torch raised."""
    x.grad = None
    if isinstance(y, Tensor) and y.requires_grad:
        total = y.sum()
        raised = torchs_error(lambda: total.backward(retain_graph=retain_graph))
        if raised:
            return raised
    found, x.grad = x.grad, None
    return found


def bytes_left(run: Callable[[], object]) -> int:
    """Bytes that are alive after `run()` when its result is dropped without a backward pass."""
    with live_bytes() as live:
        result = run()
        del result
        if live.now:
            gc.collect(1)  # a cycle that Python can see is no leak
    return live.now


def _hooked(pack: Callable[[Tensor], object], unpack: Callable[[Any], Any]) -> Callable[[Function, Tensor], Tensor]:
    """An answer that runs `f` under one pair of hooks."""

    def run(f: Function, x: Tensor) -> Tensor:
        with saved_tensors_hooks(pack, unpack):
            return f(x)

    return run


class _TempFile:
    """A file's name; the file goes when the object does. As published, but quiet when there is no file."""

    def __init__(self, folder: str | None = None) -> None:
        self.name = os.path.join(folder or tempfile.gettempdir(), str(uuid.uuid4()))

    def __del__(self) -> None:
        Path(self.name).unlink(missing_ok=True)


def _read(file: _TempFile) -> Tensor:
    loaded: Tensor = torch.load(file.name)
    return loaded


def _write(t: Tensor, folder: str | None = None) -> _TempFile:
    file = _TempFile(folder)
    torch.save(t, file.name)
    return file


def _tensor_or_file(packed: Any) -> Any:
    return packed if isinstance(packed, Tensor) else _read(packed)


def _files(folder: str) -> tuple[int, int]:
    """How many files there are in a folder, and their bytes."""
    sizes = [path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def _saved_entries(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> tuple[list[int], int]:
    """Bytes of the entries of each save of f(x) that is no parameter, a tensor that is saved twice once; of f(x)."""
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    saves: dict[tuple[int, ...], Tensor] = {}

    def note(t: Tensor) -> Tensor:
        if t.untyped_storage().data_ptr() not in weights:
            saves[(t.data_ptr(), t.numel())] = t.detach()
        return t.detach()

    with saved_tensors_hooks(note, lambda t: t):
        y = f(x)
    return [nbytes(t) for t in saves.values()], nbytes(y)


class _CountedTanh(torch.nn.Module):
    """A layer that saves one tensor, its result, and counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x.tanh()


class _Measured(NamedTuple):
    """What a run of deep layers needs: activations kept after the forward pass, bytes, calls of one layer."""

    kept: int
    forward_peak: int
    peak: int
    left: int
    calls: int


def _measure(run: Callable[[list[torch.nn.Module], Tensor], object], depth: int, x: Tensor) -> _Measured:
    """Run `depth` layers forward and back, on a fresh `x`; `left` is what stays, the gradient of `x` left out."""
    layers, x = [_CountedTanh() for _ in range(depth)], x.detach().requires_grad_()
    with live_bytes() as live:
        y = run(list(layers), x)
        kept, forward_peak = live.now, live.peak
        if isinstance(y, Tensor) and y.requires_grad:
            torchs_error(y.sum().backward)
        del y
        x.grad = None
        if live.now:
            gc.collect(1)
    calls = max(layer.calls for layer in layers)
    return _Measured(round(kept / nbytes(x)), forward_peak, live.peak, live.now, calls)


def _gradients(run: Callable[[list[torch.nn.Module], Tensor], object], case: Case) -> object:
    """The output and the gradients of the input and of the layers, or what torch raised in the backward pass."""
    y = run(list(case.layers), case.x)
    if isinstance(y, Tensor) and y.requires_grad:
        raised = torchs_error((y * case.v).sum().backward)
        if raised:
            return raised
    found: dict[str, object] = {"output": y, "x.grad": case.x.grad}
    for index, layer in enumerate(case.layers):
        found[f"layers[{index}].weight.grad"] = layer.weight.grad
    return found


class Layer(torch.nn.Module):
    """A layer with one weight."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.weight).tanh()


def _layers(rng: torch.Generator, count: int, width: int, dtype: torch.dtype) -> list[torch.nn.Module]:
    return [Layer(weight) for weight in (signed(rng, count, width, width) / width).to(dtype)]


@functools.cache
def _tanhs(depth: int) -> list[torch.nn.Module]:
    """Layers for a case to show: the probe measures on fresh ones."""
    return [torch.nn.Tanh() for _ in range(depth)]


def _layered_cases(rng: torch.Generator, depths: tuple[int, int]) -> Iterator[Case]:
    """Small networks with a `v`, for the gradients; deep ones without it, on which calls and memory are counted."""
    for count, width, dtype, tracked in ((5, 3, torch.float64, True), (4, 5, torch.float32, False)):
        x = uniform(rng, 6, width).to(dtype).requires_grad_(tracked)
        yield Case(layers=_layers(rng, count, width, dtype), x=x, v=signed(rng, 6, width).to(dtype))
    for depth in depths:
        yield Case(layers=list(_tanhs(depth)), x=leaf(rng, 10, 20), v=None)


Layers = list[torch.nn.Module]


def _in_segments(layers: Layers, x: Tensor, size: int) -> Tensor:
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=False)
    return x
