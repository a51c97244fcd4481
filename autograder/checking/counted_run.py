"""Inputs, results and matrix products of runs in which work is counted.

A probe counts work or memory, often in a run with larger inputs of its own. An answer could recognise such a run and do
less there alone. The inputs are therefore of the kind that is judged, they do not follow from those of another run, and
the result is observed as `AtMost.of`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.utils.flop_counter import flop_registry

from .counting.eager_mode import EagerMode
from .counting.own_operators import without_own_operators
from .values import canonical

# For each operation: which of its arguments are the two factors. Torch's own table has convolutions and attention.
_FACTORS = {
    "aten::mm": (0, 1),
    "aten::bmm": (0, 1),
    "aten::mv": (0, 1),
    "aten::dot": (0, 1),
    "aten::vdot": (0, 1),
    "aten::addmm": (1, 2),
    "aten::addmm_": (1, 2),
    "aten::_addmm_activation": (1, 2),
    "aten::_sparse_addmm": (1, 2),
    "aten::addmv": (1, 2),
    "aten::addmv_": (1, 2),
    "aten::baddbmm": (1, 2),
    "aten::baddbmm_": (1, 2),
    "aten::addbmm": (1, 2),
    "aten::addbmm_": (1, 2),
    "aten::matmul": (0, 1),
    "aten::linear": (0, 1),
    "aten::_trilinear": (0, 1),
    "aten::_cdist_forward": (0, 1),
    "aten::_scaled_dot_product_flash_attention_for_cpu": (0, 1),
    "aten::_embedding_bag": (1, 0),
    "aten::_embedding_bag_forward_only": (1, 0),
}
_SAMPLED = 1000  # entries of each tensor
_FLOPS = dict(flop_registry)  # which anybody can change
# The second factor's dimension that holds its columns, where it is not the last.
_COLUMNS = {
    "aten::linear": 0,
    "aten::_trilinear": 0,
    "aten::_cdist_forward": -2,
    "aten::_scaled_dot_product_flash_attention_for_cpu": -2,
}


def number_from(tensor: Tensor) -> float:
    """Return a number in [0, 1] that depends on the entries of an input."""
    return float(tensor.detach().double().sum().sin().square())


def another(rng: torch.Generator) -> torch.Generator:
    """Return a generator with a seed drawn from `rng`. A probe draws the inputs of a counted run from it."""
    return torch.Generator().manual_seed(int(torch.randint(2**31, (), generator=rng)))


def randomize(module: Module, rng: torch.Generator) -> Module:
    """Fill the parameters of `module` with numbers in [-0.5, 0.5), and return `module`."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.rand(parameter.shape, generator=rng, dtype=torch.float64) - 0.5)
    return module


def condense(value: object) -> Any:
    """Return a result as plain data, with two sums in place of each tensor.

    The first sum has weights, the second is that of the magnitudes.
    """
    return canonical(value, of_tensor=_two_sums)  # one by one: copies of all would be the peak of a large run


def sample(value: object, rng: torch.Generator) -> Any:
    """Return a result as plain data, with sums, shape and some entries in place of each tensor.

    Sums alone would hide that entries were rounded. The places of the entries are drawn now, so that nobody knew them.
    """
    return canonical(value, of_tensor=lambda tensor: _sample(tensor, rng))


def _sample(tensor: Tensor, rng: torch.Generator) -> Any:
    sums = _two_sums(tensor)
    if not isinstance(sums, Tensor) or not tensor.numel():
        return sums
    places = torch.randint(tensor.numel(), (_SAMPLED,), generator=rng)
    return [sums, tuple(tensor.shape), canonical(tensor.detach().flatten()[places])]


def _two_sums(tensor: Tensor) -> Any:
    plain = canonical(tensor)
    if not isinstance(plain, Tensor):
        return plain
    entries = plain.double()
    return torch.stack([(entries * _cosines(entries)).sum(), entries.abs().sum()])


def _cosines(tensor: Tensor) -> Tensor:
    return torch.arange(tensor.numel(), dtype=torch.float64).cos_().view(tensor.shape)


@dataclass(frozen=True)
class Product:
    """A matrix product: its first result's dtype and bytes, and its multiplications.

    `in_backward` tells whether a backward pass made it.
    """

    dtype: torch.dtype
    nbytes: int
    multiplications: int
    in_backward: bool


class _ProductsMode(EagerMode):
    """A dispatch mode that calls the function `note` after each product.

    It calls `look` before each operation. The argument of `note` is a `Product`. A learner's code can find the mode,
    but cannot reach the products through `note`.
    """

    def __init__(self, note: Callable[[Product], object], look: Callable[[Any, Iterable[type]], object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.note, self.look = note, look

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.look(func, types)
        name, flops = func._schema.name, _FLOPS.get(func._overloadpacket)
        if name not in _FACTORS and not flops:
            with self:  # inside a mode of the answer, operations arrive that are made of others
                parts = func.decompose(*args, **(kwargs or {}))
            if parts is not NotImplemented:
                return parts
        result = func(*args, **(kwargs or {}))
        if name in _FACTORS:
            a, b = (args[place] for place in _FACTORS[name])
            multiplications = a.numel() * (b.shape[_COLUMNS.get(name, -1)] if b.dim() > 1 else 1)
        elif flops:
            multiplications = flops(*args, **(kwargs or {}), out_val=result) // 2
        else:
            return result
        first = next(each for each in (result if isinstance(result, tuple) else (result,)) if each is not None)
        in_backward = torch._C._current_graph_task_id() >= 0
        self.note(Product(first.dtype, first.untyped_storage().nbytes(), multiplications, in_backward))
        return result


def _noting(products: list[Product]) -> Generator[None, Product, None]:
    while True:
        products.append((yield))


@contextmanager
def recording_products() -> Iterator[list[Product]]:
    """Record the matrix products in the `with` block; yield them as a list, in order.

    Products of backward passes and of recomputations count, too. Element-wise products do not.
    Raises CalledOwnOperator if the `with` block calls a custom operator, or uses a tensor class with a
    `__torch_dispatch__`.
    """
    products: list[Product] = []
    noting = _noting(products)
    next(noting)
    with without_own_operators() as look, _ProductsMode(noting.send, look):
        yield products


def dtypes_of(products: list[Product]) -> str:
    """Return the dtypes of products as text, such as "torch.float16, torch.float32"."""
    return ", ".join(sorted({str(product.dtype) for product in products}))
