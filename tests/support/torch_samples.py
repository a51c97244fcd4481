"""torch's own samples of operations, modules and Functions.

Importing this module changes torch's settings: it belongs into a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch.testing._internal.autograd_function_db import autograd_function_db
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_leaves, tree_map

OF_EACH = 5  # samples of one entry; later ones have other shapes, hardly ever other nodes


class Sample(NamedTuple):
    """A program of torch's own tests, and the tensors that it gets."""

    name: str
    call: Callable[[], Any]
    inputs: list[torch.Tensor]


def tensors(tree: object) -> list[torch.Tensor]:
    return [item for item in tree_leaves(tree) if isinstance(item, torch.Tensor)]


def fresh(tree: Any) -> Any:
    """Make leaves of the tensors that torch has computed for a sample: the graph begins with the sample."""

    def leaf(item: Any) -> Any:
        return item.detach().requires_grad_() if isinstance(item, torch.Tensor) and item.grad_fn is not None else item

    return tree_map(leaf, tree)


def of_operations(entry: Any) -> Iterator[Sample]:
    dtypes = (torch.float64, torch.float32, torch.complex128)
    dtype = next((dtype for dtype in dtypes if entry.supports_dtype(dtype, "cpu")), None)
    if dtype is None or not entry.supports_autograd:
        return
    torch.manual_seed(0)
    for number, sample in enumerate(islice(entry.sample_inputs("cpu", dtype, requires_grad=True), OF_EACH)):
        first, args, kwargs = fresh((sample.input, tuple(sample.args), sample.kwargs))
        name = f"{entry.name}.{entry.variant_test_name}[{number}]"
        yield Sample(name, lambda x=first, a=args, k=kwargs: entry(x, *a, **k), tensors((first, args, kwargs)))


def of_modules(entry: Any) -> Iterator[Sample]:
    for training in (True, False) if entry.train_and_eval_differ else (True,):
        torch.manual_seed(0)
        wanted = {"device": "cpu", "dtype": torch.float64, "requires_grad": True, "training": training}
        for number, sample in enumerate(islice(entry.module_inputs_func(entry, **wanted), OF_EACH)):
            if sample.forward_input is None:
                continue
            made = entry.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs)
            module = made.to(torch.float64).train(training)
            args, kwargs = fresh((tuple(sample.forward_input.args), sample.forward_input.kwargs))
            inputs = [*tensors((args, kwargs)), *module.parameters(), *module.buffers()]
            name = f"{entry.name}[{number}]{'' if training else '.eval()'}"
            yield Sample(name, lambda m=module, a=args, k=kwargs: m(*a, **k), inputs)


def samples(stride: int) -> Iterator[Sample]:
    for entry in [*autograd_function_db, *op_db][::stride]:
        yield from of_operations(entry)
    for entry in module_db[::stride]:
        yield from of_modules(entry)
