"""Contraction of groups of nodes, each into one node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace

from .model import Edge, Graph, Node, Tensor


def contract(graph: Graph, groups: Mapping[int, Hashable], says: Mapping[Hashable, Mapping[str, str | int]]) -> Graph:
    """Replace each group of nodes by one node, which gets the id of the group's first node.

    `groups` maps node ids to groups. `says` maps groups to attributes of the new node. A leaf that only one group uses
    joins the group. A leaf that is a variable of the caller stays, because the learner can see gradients accumulate
    there.
    """
    variables = variables_of(graph)
    group_of = dict(groups)
    group_of.update((node, groups[user]) for node, user in graph.passing.items() if user in groups)
    users: dict[int, set[Hashable]] = {}
    for edge in graph.edges:
        if edge.target is not None:
            users.setdefault(edge.target, set()).add(group_of.get(edge.source))
    for node in graph.nodes:
        alone = len(users.get(node.id, ())) == 1 and None not in users[node.id]
        if alone and node.leaf is not None and node.leaf not in variables:
            (group_of[node.id],) = users[node.id]
    members: dict[Hashable, list[Node]] = {}
    for node in graph.nodes:
        if node.id in group_of:
            members.setdefault(group_of[node.id], []).append(node)
    first = {node.id: inside[0].id for inside in members.values() for node in inside}
    nodes = []
    for node in graph.nodes:
        if node.id not in first:
            nodes.append(node)
        elif first[node.id] == node.id:
            group = group_of[node.id]
            nodes.append(replace(_one(members[group]), **says.get(group, {})))  # type: ignore[arg-type]
    edges = _merged(graph.edges, first)
    made = {tensor.id: tensor.node for tensor in graph.tensors}
    outputs = tuple(output for output in graph.outputs if made[output] not in first)
    graph = replace(graph, nodes=tuple(nodes), edges=edges, outputs=outputs or graph.outputs[:1])
    return replace(graph, tensors=_still_seen(graph))


def _one(members: list[Node]) -> Node:
    """Return one node in place of `members`, with all their saved tensors."""
    inside: Counter[str] = Counter()
    for node in members:
        inside.update(dict(node.inside) or {node.name: 1})
    saved = tuple(saved for node in members for saved in node.saved)
    count = sum(node.count for node in members)
    lane = members[0].lane if len({node.lane for node in members}) == 1 else None
    names = tuple(inside.most_common())
    return Node(members[0].id, "", members[0].outputs, saved, lane=lane, count=count, inside=names)


def _merged(edges: tuple[Edge, ...], first: Mapping[int, int]) -> tuple[Edge, ...]:
    """Return the edges after folding.

    `first` maps the ids of folded nodes to the id of the node in their place. Parallel edges become one edge that has
    their number as `count`.
    """
    merged: dict[Edge, int] = {}
    for edge in edges:
        source = first.get(edge.source, edge.source)
        target = None if edge.target is None else first.get(edge.target, edge.target)
        if source == target or (edge.target is None and edge.source in first):
            continue
        if edge.source in first or edge.target in first:
            edge = Edge(source, 0, target, 0, None if edge.target in first else edge.tensor, None, edge.count)
        alone = edge if edge.count == 1 else replace(edge, count=1)
        merged[alone] = merged.get(alone, 0) + edge.count
    return tuple(alone if count == 1 else replace(alone, count=count) for alone, count in merged.items())


def _still_seen(graph: Graph) -> tuple[Tensor, ...]:
    """Return the tensors that the folded graph still shows.

    The graph shows its outputs, and the tensors at edges or in nodes that are not folded.
    """
    whole = {node.id for node in graph.nodes if node.count == 1}
    seen = {*graph.outputs, *(edge.tensor for edge in graph.edges), *(node.leaf for node in graph.nodes)}
    seen |= {saved.tensor for node in graph.nodes if node.count == 1 for saved in node.saved}
    seen |= {tensor.id for tensor in graph.tensors if tensor.node in whole}
    return tuple(tensor for tensor in graph.tensors if tensor.id in seen)


def variables_of(graph: Graph) -> set[int]:
    """Return the ids of the tensors that are variables of the caller, and no entries or parameters."""
    return {tensor.id for tensor in graph.tensors if any(name.isidentifier() for name in tensor.names)}


def children(graph: Graph) -> dict[int, list[int]]:
    """Return a dict from node id to the ids of the nodes to which the node sends gradients."""
    below: dict[int, list[int]] = {}
    for edge in graph.edges:
        if edge.target is not None:
            below.setdefault(edge.source, []).append(edge.target)
    return below
