"""Modules of a learner's model, and the operations that belong to each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .contract import children
from .model import Graph

_PLACES = 4  # modules that a sentence names


def parameters(namespace: Mapping[str, Any]) -> list[tuple[torch.Tensor, tuple[str, ...]]]:
    """Return each parameter of the caller's modules, with the modules around it, the outermost first.

    The order is that of registration. Modules that cannot run, such as a ModuleList, are left out of the names.
    """
    found: dict[int, tuple[torch.Tensor, tuple[str, ...]]] = {}
    inside = [_inside(name, value) for name, value in namespace.items() if isinstance(value, torch.nn.Module)]
    for modules, held in sorted(inside, key=lambda each: -len(each[0])):  # a model before its own parts
        for path, parameter in held.items():
            ends = [place for place, letter in enumerate(path) if letter == "."]
            around = [path[:end] for end in ends if _runs(modules.get(path[:end]))]
            found.setdefault(id(parameter), (parameter, tuple(around)))
    return [*found.values()]


def _inside(name: str, module: torch.nn.Module) -> tuple[dict[str, torch.nn.Module], dict[str, torch.Tensor]]:
    try:
        return dict(module.named_modules(prefix=name)), dict(module.named_parameters(prefix=name))
    except Exception:  # a learner's module may override anything, or never have called super().__init__()
        return {}, {}


def _runs(module: object) -> bool:
    return isinstance(module, torch.nn.Module) and type(module).forward is not torch.nn.Module.forward


def owners(graph: Graph) -> dict[int, tuple[str, ...]]:
    """Return a dict from node id to the names of the node's modules, the outermost first.

    A node that uses or saves a parameter belongs to the modules around the parameter. A node without parameters
    belongs to a module if it lies between two such nodes of one call. Other nodes belong to no module: those of a
    loss, those between two modules, and those between two calls of one module.
    """
    below, beside = children(graph), graph.passing
    around = [modules for _, modules in graph.parameters]
    bits = {tensor: 1 << number for number, (tensor, _) in enumerate(graph.parameters)}
    steps = [node for node in graph.nodes if node.leaf is None and node.id not in beside]
    leaf = {node.id: node.leaf for node in graph.nodes}
    used, above, beneath, before = (dict.fromkeys(leaf, 0) for _ in range(4))  # sets of parameters, as bits of an int
    for node in steps:
        for child in below.get(node.id, ()):
            tensor = leaf[below[child][0] if child in beside else child]
            used[node.id] |= 0 if tensor is None else bits.get(tensor, 0)
        for saved in node.saved:  # a frozen parameter is no leaf of the graph
            used[node.id] |= 0 if saved.tensor is None else bits.get(saved.tensor, 0)
    ends = {node.id for node in steps if node.count > 1 or used[node.id]}
    for node in steps:
        for child in below.get(node.id, ()):
            above[child] |= used[node.id] if node.id in ends else above[node.id]
    for node in reversed(steps):
        for child in below.get(node.id, ()):
            beneath[node.id] |= used[child] if child in ends else beneath[child]
            before[node.id] |= used[child] | before[child]
    found = {}
    for node in steps:
        if node.id not in ends:
            found[node.id] = _innermost(beneath[node.id], before[node.id], above[node.id], around)
        elif node.count == 1:
            found[node.id] = around[used[node.id].bit_length() - 1]
    return found


def part_sizes(graph: Graph) -> dict[str, int]:
    """Return the names of the modules to which nodes belong, with the numbers of their nodes."""
    part = owners(graph)
    return dict(Counter(name for path in part.values() for name in path))


def refused_nodes(graph: Graph) -> list[str]:
    """Return the nodes that backward will refuse as text: name, number, and their modules."""
    part = owners(graph)
    places: dict[str, list[str]] = {}
    for node in graph.nodes:
        if node.is_refused:
            places.setdefault(node.name, []).append((part.get(node.id) or ("",))[-1])
    return [_located(name, found) for name, found in places.items()]


def _located(node: str, places: Sequence[str]) -> str:
    named = [*dict.fromkeys(filter(None, places))][:_PLACES]
    times = f"{len(places)} × " if len(places) > 1 else ""
    return f"{times}{node} ({', '.join(named)})" if named else f"{times}{node}"


def _innermost(earlier: int, before: int, later: int, around: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the modules, as many as possible, around both a parameter of `earlier` and one of `later`.

    A parameter of `later` that was used before may belong to another call. It counts only if it was registered after
    the one of `earlier`. The parameters of a module have numbers in a row: it is enough to look at neighbours.
    """
    best: tuple[str, ...] = ()
    later &= ~earlier
    while later:
        number = later.bit_length() - 1
        later -= 1 << number
        smaller, larger = earlier & (1 << number) - 1, earlier & -1 << number
        for neighbour in (1 << smaller.bit_length() >> 1, 0 if before >> number & 1 else larger & -larger):
            if neighbour:
                both = zip(around[number], around[neighbour.bit_length() - 1])
                best = max(best, tuple(one for one, other in both if one == other), key=len)
    return best
