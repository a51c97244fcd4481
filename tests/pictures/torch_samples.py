"""torch's own samples of operations, modules and Functions, drawn and stepped through.

`python torch_samples.py STRIDE` tries every STRIDE-th entry of torch's lists. It is a process of its own, because
importing `torch.testing._internal` changes torch's settings. A line is a sample that has begun, or a JSON object with a
sample and its fault: if a sample kills the process, the last line names it.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import sys
import warnings
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from autograder import draw, steps
from autograder.pictures.draw import Picture
from autograder.pictures.graph.fold import fold
from autograder.pictures.graph.torch_objects import brief
from autograder.pictures.steps import Steps
from support.torch_samples import Sample, samples, tensors


def walk(outputs: list[torch.Tensor]) -> set[Any]:
    """Return the nodes behind `outputs`, read in the plainest way."""
    nodes, waiting = set[Any](), [y.grad_fn for y in outputs]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            waiting += [to for to, _ in node.next_functions]
    return nodes


PARTS = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
}


def storages(tensor: torch.Tensor) -> dict[int, int]:
    """Return address and bytes of the storages of a tensor."""
    if tensor.layout in PARTS:
        return {a: b for part in PARTS[tensor.layout] for a, b in storages(getattr(tensor.detach(), part)()).items()}
    storage = tensor.untyped_storage()
    return {storage.data_ptr(): storage.nbytes()}


class Box:
    """A saved tensor, which lives as long as the node that saved it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor.detach()


def bytes_saved(sample: Sample) -> int:
    """Count what the graph alone keeps: with hooks, as torch documents them, and on `ctx` of custom Functions.

    Neither inputs count nor outputs without a gradient: the caller's variables hold them.
    """
    boxes = weakref.WeakSet[Box]()

    def pack(tensor: torch.Tensor) -> Box:
        boxes.add(box := Box(tensor))
        return box

    torch.manual_seed(1)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.tensor):
        outputs = tensors(sample.call())
    on_ctx = [vars(node) for node in walk(outputs) if isinstance(node, torch.autograd.function.BackwardCFunction)]
    kept = [*(box.tensor for box in boxes), *tensors(on_ctx)]
    held = [*sample.inputs, *(y for y in outputs if not y.requires_grad)]
    known = {address for tensor in held for address in storages(tensor)}
    found = {address: size for tensor in kept for address, size in storages(tensor).items()}
    return sum(size for address, size in found.items() if address not in known)


def faults(sample: Sample) -> Iterator[str]:
    """Yield what is wrong with the pictures of a sample, and with its gradients afterwards."""
    torch.manual_seed(1)
    outputs = sample.call()
    flat = [y for y in tensors(outputs) if y.requires_grad]
    if not flat:
        return
    random = torch.get_rng_state()
    nodes, picture = walk(flat), draw(outputs)
    yield from faults_of_picture(picture, nodes)
    if (shown := picture.graph.saved_bytes) != (counted := bytes_saved(sample)):
        yield f"{shown} B are shown, {counted} B counted"
    loss = sum((y.abs() if y.is_complex() else y).sum().double() for y in flat)
    yield from faults_of_steps(loss)
    torch.set_rng_state(random)
    draw(outputs), steps(loss)
    if not torch.equal(random, torch.get_rng_state()):
        yield "the random state is another one"


def faults_of_picture(picture: Picture, nodes: set[Any]) -> Iterator[str]:
    graph, folded = picture.graph, fold(picture.graph)
    if Counter(node.name for node in graph.nodes) != Counter(type(node).__name__ for node in nodes):
        yield f"{graph.size} nodes are read, {len(nodes)} are there"
    if sum(node.count for node in folded.nodes) != len(nodes):
        yield f"{sum(node.count for node in folded.nodes)} nodes are drawn, {len(nodes)} are there"
    if odd := [note.id for note in graph.notes if note.id in ("note.refused", "note.not_tensor")]:
        yield f"{odd}: {picture!r}"
    if not repr(picture) or not picture.dot:
        yield "nothing is said"


def faults_of_steps(loss: torch.Tensor) -> Iterator[str]:
    leaves = [node.variable for node in walk([loss]) if type(node).__name__ == "AccumulateGrad"]
    before, error = backward(loss, leaves)
    marks = with_ones(leaves)
    torch.manual_seed(2)
    stepped = steps(loss)
    if not repr(stepped):
        yield "nothing is said of the steps"
    if not stepped.run.frames or (stepped.run.error is None) != (error is None):
        yield f"steps ended with {stepped.run.error}, backward with {error}: {stepped.graph.notes}"
    if not all(leaf.grad is mark and same(mark, torch.ones_like(leaf)) for leaf, mark in zip(leaves, marks)):
        yield ".grad is another one"
    if error is None and (missing := Counter(map(norm, before)) - landed(stepped)):
        yield f"gradients {missing} have arrived, and are not shown: {landed(stepped)}"
    after, _ = backward(loss, leaves)
    if not all(map(same, before, after)):
        yield "the gradients are others"


def with_ones(leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    """Put ones into every `.grad`, to which a pass adds."""
    for leaf in leaves:
        leaf.grad = torch.ones_like(leaf.detach())
    return [leaf.grad for leaf in leaves]


def backward(loss: torch.Tensor, leaves: list[torch.Tensor]) -> tuple[list[torch.Tensor], str | None]:
    """Return every `.grad` after a pass, and the error that torch itself raises, if any."""
    with_ones(leaves)
    torch.manual_seed(2)
    try:
        loss.backward(retain_graph=True)
    except Exception as error:
        return [leaf.grad for leaf in leaves], str(error)
    return [leaf.grad for leaf in leaves], None


def landed(stepped: Steps) -> Counter[str]:
    """Return what the steps show in each `.grad`. What no gradient has reached is as it was drawn."""
    shown = {frame.node: frame.landed.after.said for frame in stepped.run.frames if frame.landed is not None}
    tensors = {node.id: stepped.graph.tensors[node.leaf] for node in stepped.graph.nodes if node.leaf is not None}
    return Counter(shown.get(id, tensor.grad) for id, tensor in tensors.items())


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one.to_dense(), other.to_dense(), rtol=0, atol=0, equal_nan=True)


def norm(gradient: torch.Tensor) -> str:
    """Return what stands in `.grad` as a step shows it: up to three numbers, or the norm."""
    dense = gradient.detach().to_dense()
    if dense.numel() <= 3:
        return brief(dense)
    return f"‖·‖ = {torch.linalg.vector_norm(dense.to(torch.complex128)).item():.4g}"


def main(stride: int) -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()  # `steps` looks for live tensors, among a million objects of torch's tests
    for sample in samples(stride):
        print(sample.name, flush=True)
        try:
            found = [*faults(sample)]
        except Exception as error:
            found = [repr(error)]
        for fault in found:
            print(json.dumps({sample.name: fault}), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
