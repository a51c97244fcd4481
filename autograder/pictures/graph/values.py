"""Reader of values of the learner's own engine into a `Graph`.

A value is any object with a tensor in `data`, the values that it was made from in `inputs`, and a `rule`. Those without
a rule are leaves. Fields that may be missing: `grad`, `op` (a name for the box), `hooks`, `version`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .model import Edge, Graph, Kind, Node, Output, Tensor
from .read import named_objects
from .torch_objects import brief, dtype_of, name_of, safely, shape_of


def is_value(item: object) -> bool:
    """Return whether `item` is a value of an engine of the learner's own."""
    data, inputs = safely(lambda: item.data), safely(lambda: item.inputs)  # type: ignore[attr-defined]
    return isinstance(data, torch.Tensor) and not isinstance(item, torch.Tensor) and isinstance(inputs, (tuple, list))


def read_values(roots: Sequence[Any], namespace: Mapping[str, Any]) -> Graph:
    """Return the graph behind values. `namespace` holds the caller's variables, from which the graph takes names."""
    order = _from_roots(roots)
    number = {id(value): index for index, value in enumerate(order)}
    names: dict[int, list[str]] = {}
    for name, value in named_objects(namespace, is_value):
        names.setdefault(id(value), []).append(name)
    boxes: dict[int, Tensor] = {}  # by the number of the value
    for index, value in enumerate(order):
        is_root = any(value is root for root in roots)
        if is_root or _is_leaf(value) or id(value) in names:
            kind: Kind = "leaf" if _is_leaf(value) else "output" if is_root else "intermediate"
            boxes[index] = _tensor(value, len(boxes), tuple(names.get(id(value), ())), kind, index)
    nodes = [_node(value, index, boxes) for index, value in enumerate(order)]
    edges = [
        Edge(index, slot, (at := number[id(each)]), 0, boxes[at].id if at in boxes else None, shape_of(each.data))
        for index, value in enumerate(order)
        for slot, each in enumerate(_inputs(value))
    ]
    outputs = tuple(boxes[number[id(root)]].id for root in roots)
    return Graph(tuple(nodes), tuple(edges), tuple(boxes.values()), outputs, size=len(nodes))


def _from_roots(roots: Sequence[Any]) -> list[Any]:
    """Return all values behind `roots`, each before its inputs."""
    found: dict[int, Any] = {}
    seen = set[int]()
    for root in roots:
        path = [(root, iter(_inputs(root)))]
        while path:
            value, inputs = path[-1]
            seen.add(id(value))
            after = next((each for each in inputs if id(each) not in seen), None)
            if after is None:
                found.setdefault(id(value), value)
                path.pop()
            else:
                path.append((after, iter(_inputs(after))))
    return [*found.values()][::-1]


def _inputs(value: Any) -> list[Any]:
    return [each for each in value.inputs if is_value(each)]


def _is_leaf(value: Any) -> bool:
    return getattr(value, "rule", None) is None and not _inputs(value)


def _node(value: Any, index: int, boxes: Mapping[int, Tensor]) -> Node:
    made = Output(shape_of(value.data), dtype_of(value.data), str(value.data.device))
    name = str(getattr(value, "op", "") or type(value).__name__)
    return Node(index, name, (made,), (), leaf=boxes[index].id if _is_leaf(value) else None)


def _tensor(value: Any, id: int, names: tuple[str, ...], kind: Kind, node: int) -> Tensor:
    data, hooks, grad = value.data, getattr(value, "hooks", ()), getattr(value, "grad", None)
    recorded = grad.inputs if is_value(grad) else ()  # type: ignore[union-attr]
    held = grad if grad is None or isinstance(grad, torch.Tensor) else safely(lambda: grad.data)
    version = getattr(value, "version", None)
    return Tensor(
        id=id,
        names=names,
        kind=kind,
        shape=shape_of(data),
        dtype=dtype_of(data),
        device=str(data.device),
        requires_grad=False,
        retains_grad=False,
        value=brief(data) if data.numel() <= 3 else None,
        grad=(brief(held) or "?") if isinstance(held, torch.Tensor) else None,
        grad_kept=kind == "leaf",
        grad_has_graph=bool(recorded),
        version=version if type(version) is int else None,
        view=False,
        view_of=None,
        hooks=tuple(name_of(hook) for hook in hooks) if isinstance(hooks, list) else (),
        post_hooks=(),
        node=None if kind == "leaf" else node,
        output=0,
    )
