"""Helpers for the exercises on saved tensors."""

from __future__ import annotations

import gc
import re
import textwrap
import traceback
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from autograder.checking.containment.caught import Caught, error_kind, or_error
from autograder.checking.counted_run import condense
from autograder.checking.inputs import Formula, uniform
from autograder.measure import live_bytes, tensors

Function = Callable[[Tensor], Tensor]


class Using(Formula):
    """A formula, with the constant tensors that it uses."""

    def __init__(self, text: str, function: Function, *constants: Tensor) -> None:
        super().__init__(text, function)
        self.constants = constants


def nbytes(tensor: Tensor) -> int:
    """Return the bytes of a tensor's own entries, even if its storage is larger."""
    return tensor.numel() * tensor.element_size()


def error_of_torch(run: Callable[[], object]) -> Caught | None:
    """Return the error that torch raises in `run()`, or None.

    In its text for comparisons, numbers and the type of what a hook returned are replaced by "#". Of an OSError it is
    the type alone, because the message has a random file name.
    Raises an error of the answer's own code unchanged.
    """
    try:
        run()
    except OSError as error:
        return Caught.of(error, error_kind(error))
    except Exception as error:
        if "torch" not in Path(traceback.extract_tb(error.__traceback__)[-1].filename).parts:
            raise
        said = re.sub(r"(?<=result of type )\w+$", "#", re.sub(r"[0-9]+", "#", str(error)))
        return Caught.of(error, textwrap.shorten(f"{error_kind(error)}: {said}", 150))
    return None


def gradient(y: object, x: Tensor, retain_graph: bool = False) -> object:
    """Differentiate the sum of `y`, and return the gradient of `x`, or the text of torch's error.

    Sets `x.grad` to None.
    """
    x.grad = None
    if isinstance(y, Tensor) and y.requires_grad:
        total = y.sum()
        raised = error_of_torch(lambda: total.backward(retain_graph=retain_graph))
        if raised:
            return raised
    found, x.grad = x.grad, None
    return found


def bytes_held(
    run: Callable[[Function, Tensor], object], f: Function, like: Tensor, rng: torch.Generator
) -> tuple[int, int, object, object]:
    """Return the bytes that are alive while a result of `run(f, x)` exists, and after it has been dropped.

    There are two calls, on new inputs of the size of `like`. A backward pass is run from one of the results, drawn at
    random, and the other is dropped without one. Third come both results, fourth the gradient, condensed.
    """
    inputs = [uniform(rng, *like.shape).to(like.dtype).requires_grad_() for _ in range(2)]
    dropped = int(torch.randint(2, (), generator=rng))
    with live_bytes() as live:
        results = [run(f, x) for x in inputs]
        used = live.now // 2
        values = condense(results)
        del results[dropped]
        slope = condense(or_error(gradient, results.pop(), inputs[1 - dropped]))
        own = sum(map(nbytes, tensors([values, slope])))
        if live.now > own:
            gc.collect(1)  # a reference cycle of Python objects is no leak
        left = live.now - own
    return used, left, values, slope


def measure_saves(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> tuple[list[int], int]:
    """Return the bytes of each tensor that `f(x)` saves, and the bytes of `f(x)` itself.

    Parameters are left out. A tensor that is saved twice counts once.
    """
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    saves: dict[tuple[int, ...], Tensor] = {}

    def note(t: Tensor) -> Tensor:
        if t.untyped_storage().data_ptr() not in weights:
            saves[(t.data_ptr(), t.numel())] = t.detach()
        return t.detach()

    with saved_tensors_hooks(note, lambda t: t):
        y = f(x)
    return [nbytes(t) for t in saves.values()], nbytes(y)


def digits_are_right(mine: object, right: object) -> bool:
    """Return whether a float64 gradient agrees with that without hooks to 12 digits.

    Both are computed in this process, so that rounding of another processor plays no part. True for other dtypes.
    """
    if not isinstance(right, Tensor) or right.dtype != torch.float64:
        return True
    if not isinstance(mine, Tensor) or mine.shape != right.shape:
        return False
    return bool((mine - right).norm() <= 1e-12 * right.norm())


def count_saves(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    """Return how many saves the graph of `f(x)` holds, those of parameters left out."""
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    held: weakref.WeakSet[_Held] = weakref.WeakSet()

    def pack(t: Tensor) -> _Held:
        packed = _Held(t.detach())
        if t.untyped_storage().data_ptr() not in weights:
            held.add(packed)
        return packed

    with saved_tensors_hooks(pack, lambda packed: packed.tensor):
        y = f(x)
    count = len(held)
    del y
    return count


class _Held:
    """A saved tensor that the graph holds."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
