"""Reader of torch's graph behind tensors into a `Graph`.

Reading changes nothing, calls no unpack hook and leaves no hook.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from itertools import islice
from types import SimpleNamespace
from typing import Any

import torch

from ...measure import graph_nodes
from .factors import with_factors
from .model import Edge, Graph, Node, Output, Saved
from .modules import parameters
from .saved import saved_by, storages
from .tensors import Registry
from .torch_objects import dtype_of, is_number, safely, shape_of, unnoticed, variable_of
from .unreached import loose_end, unreached_parts

_ENTRIES = 1000  # entries of one variable that are looked at; a name like `grads[1001]` would help nobody


def named_objects(namespace: Mapping[str, Any], wanted: Callable[[object], bool]) -> list[tuple[str, Any]]:
    """Return name and object for each `wanted` object that the variables in `namespace` hold, plain variables first.

    Entries of lists, tuples, dicts, SimpleNamespaces and dataclasses have names like `grads[0]`. An object without
    another name has one like `out[1][0]`. Also included are parameters and buffers of modules. Left out are names that
    begin with `_`, and IPython's.
    """
    mine = [(name, value) for name, value in namespace.items() if _is_learners(name)]
    named = [(name, value) for name, value in mine if wanted(value)]
    entries = [entry for name, value in mine for entry in _inside(name, value, wanted)]
    named += [(name, found) for name, found, nested in entries if not nested]
    known = {id(found) for _, found in named}
    return named + [(name, found) for name, found, nested in entries if nested and id(found) not in known]


def is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def _is_learners(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and name not in ("In", "Out")


def _inside(name: str, value: object, wanted: Callable[[object], bool]) -> Iterator[tuple[str, Any, bool]]:
    """Yield name and object for each `wanted` object in `value`, and whether it lies in a container inside of it."""
    if isinstance(value, torch.nn.Module):
        waiting = [(f"{name}.{path}", tensor) for path, tensor in _of_module(value)]
    else:
        waiting = [*islice(_entries(name, value), _ENTRIES)]
    own = len(waiting)
    for position, (path, item) in enumerate(waiting):
        if wanted(item):
            yield path, item, position >= own
        elif len(waiting) < _ENTRIES:
            waiting += islice(_entries(path, item), _ENTRIES - len(waiting))


def _entries(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield path and value for each entry of a list, tuple, dict, SimpleNamespace or dataclass.

    Runs no learner's code.
    """
    if type(value) is list or isinstance(value, tuple):
        entries = tuple.__iter__(value) if isinstance(value, tuple) else value
        yield from ((f"{name}[{index}]", item) for index, item in enumerate(entries))
    elif type(value) is dict:
        yield from ((f"{name}[{key!r}]", item) for key, item in value.items() if type(key) in (str, int))
    elif type(value) is SimpleNamespace or (is_dataclass(value) and not isinstance(value, type)):
        yield from ((f"{name}.{key}", item) for key, item in (safely(lambda: vars(value)) or {}).items())


def _of_module(module: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    try:
        return [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    except Exception:  # a learner's module may override anything, or never have called super().__init__()
        return []


_SLOTS = {"self": 0, "other": 1}  # number of the input that torch saves under this name


def read_graph(
    outputs: Sequence[torch.Tensor], namespace: Mapping[str, Any], asked: Sequence[torch.nn.Module] = ()
) -> Graph:
    """Return the graph behind `outputs`.

    `namespace` holds the caller's variables, from which the graph takes names. No output may be a tensor for which
    `refusal` returns an error. Of the modules in `asked` also a wholly unreached one is told.
    """
    with warnings.catch_warnings(action="ignore"), unnoticed():
        order = graph_nodes(*(y for y in outputs if y.grad_fn is not None))
        named = [(name, tensor) for name, tensor in named_objects(namespace, is_tensor) if refusal(tensor) is None]
        registry = Registry({node: index for index, node in enumerate(order)}, named)
        drawn = tuple(registry.record(y, None if y.is_leaf else "output") for y in outputs)
        for node in order:
            if (variable := variable_of(node)) is not None:
                registry.record(variable)
        registry.note_named()
        registry.note_views()
        behind = {output: graph_nodes(y) for output, y in zip(drawn, outputs) if y.grad_fn is not None}
        lanes = _lanes(behind)
        nodes = [_node(node, index, lanes.get(node), registry) for index, node in enumerate(order)]
        edges = [edge for node in order for edge in _edges(node, nodes, registry)]
        kept = _fill_in_saved(order, nodes, edges, registry)
        alone = [(output, _bytes_of(inside, kept)) for output, inside in behind.items()] if len(behind) > 1 else []
        mine = {name: value for name, value in namespace.items() if _is_learners(name)}
        owned = [(registry.known(tensor), around) for tensor, around in parameters(mine)]
        leaves = {id(variable) for node in order if (variable := variable_of(node)) is not None}
        unreached = unreached_parts(mine, leaves, asked) if order or asked else ()
        return Graph(
            tuple(nodes),
            tuple(with_factors(edges, nodes, order)),
            tuple(registry.records),
            drawn,
            size=len(nodes),
            alone=tuple(alone),
            parameters=tuple((id, around) for id, around in owned if id is not None and around),
            unreached=unreached,
            end=loose_end(edges, registry.records) if unreached else None,
        )


def refusal(tensor: torch.Tensor) -> str | None:
    """Return the message of torch's error if torch refuses to inspect `tensor`, else None.

    An example is a view whose base was edited in place.
    """
    try:
        with warnings.catch_warnings(action="ignore"), unnoticed():
            _ = tensor.is_leaf, tensor.requires_grad, tensor.shape, tensor.output_nr
    except Exception as error:
        return str(error)
    return None


def _lanes(behind: Mapping[int, list[Any]]) -> dict[Any, int]:
    """Return a dict from node to the only output that needs the node.

    `behind` is a dict from the id of an output to the nodes of its graph. Nodes that several outputs need are left out.
    """
    leading: dict[Any, list[int]] = {}
    for output, nodes in behind.items():
        for node in nodes:
            leading.setdefault(node, []).append(output)
    return {node: found[0] for node, found in leading.items() if len(found) == 1 < len(behind)}


def _bytes_of(nodes: list[Any], kept: Mapping[Any, Mapping[int, int]]) -> int:
    """Return the bytes of the storages that `nodes` keep.

    `kept` is a dict from node to a dict from storage key to bytes. Each storage counts once.
    """
    return sum({key: size for node in nodes for key, size in kept[node].items()}.values())


def _node(node: Any, index: int, lane: int | None, registry: Registry) -> Node:
    made = tuple(
        Output(shape_of(one), dtype_of(one), str(one.device)) for one in safely(lambda: node._input_metadata) or ()
    )
    variable = variable_of(node)
    leaf = None if variable is None else registry.record(variable)
    custom = isinstance(node, torch.autograd.function.BackwardCFunction)
    return Node(index, type(node).__name__, made, (), leaf, custom, lane)


def _edges(node: Any, nodes: list[Node], registry: Registry) -> Iterator[Edge]:
    source = registry.ids[node]
    for slot, (target, output) in enumerate(node.next_functions):
        if target is None:
            yield Edge(source, slot, None)
        else:
            reached = nodes[registry.ids[target]]
            tensor = registry.at(reached.id, output) if reached.leaf is None else reached.leaf
            shape = reached.outputs[output].shape if output < len(reached.outputs) else None
            yield Edge(source, slot, reached.id, output, tensor, shape)


def _fill_in_saved(
    order: list[Any], nodes: list[Node], edges: list[Edge], registry: Registry
) -> dict[Any, dict[int, int]]:
    """Add saved tensors to `nodes`, and saved constants to the `edges` that end at a constant.

    Returns a dict from node to the storages that it keeps: a dict from storage key to bytes. Storages of inputs are
    left out.
    """
    attributes: dict[type, list[str]] = {}  # cached by node type: `dir` is slow
    stops: dict[int, list[int]] = {}  # node -> positions of its edges without a target
    for position, edge in enumerate(edges):
        if edge.target is None:
            stops.setdefault(edge.source, []).append(position)
    counted, kept = set[int](), dict[Any, dict[int, int]]()
    for index, node in enumerate(order):
        if type(node) not in attributes:
            attributes[type(node)] = [name for name in dir(node) if name.startswith("_raw_saved_")]
        found = [*saved_by(node, attributes[type(node)])]
        for position, tensor in _constants(found, stops.get(index, []), edges):
            edges[position] = replace(edges[position], tensor=registry.record(tensor))
        rows = tuple(
            row if tensor is None else _counted(row, tensor, nodes[index], registry, counted) for row, tensor in found
        )
        nodes[index] = replace(nodes[index], saved=rows)
        kept[node] = {
            key: size
            for row, (_, tensor) in zip(rows, found)
            if tensor is not None and row.counted in ("here", "elsewhere")
            for key, size in storages(tensor)
        }
    return kept


def _constants(
    found: list[tuple[Saved, torch.Tensor | None]], stops: list[int], edges: list[Edge]
) -> Iterator[tuple[int, torch.Tensor]]:
    """Yield a position in `edges` and a constant, for each edge that ends at a known constant.

    `stops` are the positions of all edges that end at a constant. Constants are known only if the node saved them.
    Nothing is yielded where the choice is ambiguous.
    """
    constants = {
        id(tensor): (row.name, tensor)
        for row, tensor in found
        if tensor is not None and row.state != "packed" and tensor.is_leaf and not tensor.requires_grad
    }
    if len(constants) == len(stops):
        yield from ((position, tensor) for position, (_, tensor) in zip(stops, constants.values()))
        return
    by_slot = {_SLOTS[name]: tensor for name, tensor in constants.values() if name in _SLOTS}
    for position in stops:
        if edges[position].slot in by_slot:
            yield position, by_slot[edges[position].slot]


def _counted(row: Saved, tensor: torch.Tensor, node: Node, registry: Registry, counted: set[int]) -> Saved:
    """Return `row`, the description of a saved tensor, with the tensor's id and bytes.

    The whole storage counts, because the graph keeps all of it alive. `counted` holds the storages that were counted
    before, and is updated.
    """
    found = storages(tensor)
    if not found:
        return replace(row, tensor=registry.known(tensor))
    size, keys = sum(size for _, size in found), {key for key, _ in found}
    of = registry.known(tensor)
    if tensor.is_leaf and is_number(tensor):
        return replace(row, tensor=of, bytes=0, counted="number")
    if of is None and tensor.grad_fn is None:
        of = registry.output_like(node.id, len(node.outputs), tensor)
    origin = registry.input_of(tensor) if of is None or registry.records[of].node is None else None
    if origin is not None:
        return replace(row, tensor=origin, bytes=size, counted="input")
    place: Any = "elsewhere" if keys <= counted else "here"
    counted |= keys
    return replace(row, tensor=of, bytes=size, counted=place)
