"""A counter of the multiplications in matrix products."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

# For each operation: which of its arguments are the two factors.
_FACTORS = {
    "aten::mm": (0, 1),
    "aten::bmm": (0, 1),
    "aten::mv": (0, 1),
    "aten::dot": (0, 1),
    "aten::addmm": (1, 2),
    "aten::addmm_": (1, 2),
    "aten::addmv": (1, 2),
    "aten::addmv_": (1, 2),
    "aten::baddbmm": (1, 2),
    "aten::baddbmm_": (1, 2),
    "aten::linear": (0, 1),
}


@dataclass
class Products:
    """The multiplications in all matrix products, and in the largest one."""

    multiplications: int = 0
    largest: int = 0


class _ProductsMode(TorchDispatchMode):
    """A dispatch mode that notes the size of each matrix product."""

    def __init__(self, note: Callable[[int], object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.note = note

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        factors = _FACTORS.get(func._schema.name)
        if factors:
            a, b = (args[place] for place in factors)
            columns = b.shape[0] if func._schema.name == "aten::linear" else b.shape[-1] if b.dim() > 1 else 1
            self.note(a.numel() * columns)
        return func(*args, **(kwargs or {}))


def _noting(products: Products) -> Generator[None, int, None]:
    while True:
        size = yield
        products.multiplications += size
        products.largest = max(products.largest, size)


@contextmanager
def counting_products() -> Iterator[Products]:
    """Count the multiplications in the matrix products of the `with` block; yield a `Products`.

    Products of backward passes and of recomputations count, too. Element-wise products do not.
    """
    products = Products()
    noting = _noting(products)
    next(noting)
    with _ProductsMode(noting.send):
        yield products
