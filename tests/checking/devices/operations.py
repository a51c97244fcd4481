"""Mixtures of devices in the samples with which torch tests its operations.

`python operations.py STRIDE` tries every STRIDE-th operation. Each JSON line is the name of a mixture, and what became
of it. That is "refused", or the kinds of devices where the results lie. A machine without a GPU pretends one. It is a
process of its own, because importing `torch.testing._internal` changes torch's settings.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from autograder.checking.devices.pretended_device import pretended_device

OF_EACH = 4  # samples of an operation
CPU = torch.device("cpu")
Call = Callable[[Any], Any]


def samples(entry: Any) -> Iterator[tuple[int, list[Any], Any]]:
    """Yield number, inputs and their structure for samples of dense tensors."""
    dtype = next((each for each in (torch.float64, torch.float32) if entry.supports_dtype(each, "cpu")), None)
    if dtype is None:
        return
    torch.manual_seed(0)
    number = 0
    for sample in entry.sample_inputs("cpu", dtype, requires_grad=entry.supports_autograd):
        flat, structure = tree_flatten((sample.input, tuple(sample.args), sample.kwargs))
        tensors = [each for each in flat if isinstance(each, torch.Tensor)]
        if tensors and all(each.layout == torch.strided for each in tensors) and number < OF_EACH:
            number += 1
            yield number, flat, structure


def mixtures(flat: list[Any]) -> Iterator[tuple[str, set[int]]]:
    """Yield a name, and which of the inputs lie on the GPU."""
    tensors = [index for index, each in enumerate(flat) if isinstance(each, torch.Tensor)]
    yield "no mixture", {*tensors}
    if len(tensors) > 1:
        yield "first on the CPU", {*tensors[1:]}
        yield "last on the CPU", {*tensors[:-1]}
    if len(tensors) > 2:
        yield "second on the CPU", {tensors[0], *tensors[2:]}


def copied(flat: list[Any], there: set[int], move: Callable[[torch.Tensor, bool], torch.Tensor]) -> list[Any]:
    return [
        move(each.detach(), index in there).requires_grad_(each.requires_grad)
        if isinstance(each, torch.Tensor)
        else each
        for index, each in enumerate(flat)
    ]


def places_on_a_gpu(call: Call, flat: list[Any], there: set[int]) -> set[str]:
    result = call(copied(flat, there, lambda tensor, moves: tensor.cuda() if moves else tensor.clone()))
    torch.cuda.synchronize()
    return {each.device.type for each in tree_leaves(result) if isinstance(each, torch.Tensor)}


def places_on_a_pretended_one(call: Call, flat: list[Any], there: set[int]) -> set[str]:
    inputs = copied(flat, set(), lambda tensor, _: tensor.clone())
    with pretended_device("cuda") as devices:
        for index, each in enumerate(inputs):
            if isinstance(each, torch.Tensor):
                devices.put(each, devices.there if index in there else CPU)
        result = call(inputs)
        return {(devices.of(each) or CPU).type for each in tree_leaves(result) if isinstance(each, torch.Tensor)}


def main(stride: int) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    places = places_on_a_gpu if torch.cuda.is_available() else places_on_a_pretended_one
    for entry in op_db[::stride]:
        for number, flat, structure in samples(entry):

            def call(inputs: Any, entry: Any = entry, structure: Any = structure) -> Any:
                first, args, kwargs = tree_unflatten(inputs, structure)
                torch.manual_seed(0)
                return entry(first, *args, **kwargs)

            for name, there in mixtures(flat):
                try:
                    became = " ".join(sorted(places(call, flat, there)))
                except Exception:
                    became = "refused"
                if name == "no mixture" and became == "refused":
                    break  # the GPU lacks the operation
                dims = ",".join(str(each.dim()) for each in flat if isinstance(each, torch.Tensor))
                print(json.dumps([f"{entry.name}.{entry.variant_test_name}[{number}]({dims}) {name}", became]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
