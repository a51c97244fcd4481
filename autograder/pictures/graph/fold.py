"""Folding of graphs that are too large or too wide to draw.

To fold is to draw one node in place of several. Repeated nodes are folded first, then modules of a model, then nodes
far from the outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace

from ...language import Note
from .model import Edge, Graph, Node, Tensor

LIMIT = 40  # nodes in a picture, not counting leaves
WIDE = 4  # nodes side by side; with more, their text is too small to read
_NEAREST = 10  # nodes kept next to the outputs of a graph without repetitions or modules
_LEAVES = 12  # leaves of one node
_FIRST_LEAVES = 3  # of more than so many
_LONGEST = 64  # longest pattern in nodes; a longer one is a part of a model and has a name


def fold(graph: Graph) -> Graph:
    """Return a graph that is small enough to draw.

    The result is `graph` itself, or a copy with folded nodes and a note that says so.
    """
    graph = _with_few_leaves(graph)
    if _fits(graph):
        return graph
    folded = _without_repetitions(graph)
    if _steps(folded) > LIMIT:
        folded = _by_module(folded)
    notes = [Note("note.folded", {"size": graph.size, "shown": _steps(folded)})]
    if not _fits(folded):
        folded = _nearest(folded)
        notes = [Note("note.cut", {"size": graph.size, "shown": _steps(folded) - 1})]
    if len(folded.outputs) < len(graph.outputs):
        notes.append(Note("note.outputs", {"count": len(graph.outputs), "shown": len(folded.outputs)}))
    return replace(folded, notes=(*folded.notes, *notes))


def _with_few_leaves(graph: Graph) -> Graph:
    """Fold the leaves of each node that has more than `_LEAVES` of its own, but for the first.

    Leaves that are variables of the caller stay and do not count.
    """
    variables, users = _variables(graph), dict[int, set[int]]()
    for edge in graph.edges:
        if edge.target is not None:
            users.setdefault(edge.target, set()).add(edge.source)
    own: dict[int, list[int]] = {}
    for node in graph.nodes:
        if node.leaf is not None and node.leaf not in variables and len(above := users.get(node.id, set())) == 1:
            own.setdefault(min(above), []).append(node.id)
    many = {user: leaves[_FIRST_LEAVES:] for user, leaves in own.items() if len(leaves) > _LEAVES}
    return _contract(graph, {leaf: user for user, leaves in many.items() for leaf in leaves}, {}) if many else graph


def _variables(graph: Graph) -> set[int]:
    """Return the ids of the tensors that are variables of the caller, and no entries or parameters."""
    return {tensor.id for tensor in graph.tensors if any(name.isidentifier() for name in tensor.names)}


def _fits(graph: Graph) -> bool:
    return _steps(graph) <= LIMIT and _width(graph) <= WIDE


def _width(graph: Graph) -> int:
    """Return the largest number of nodes side by side: nodes at the same distance from the outputs.

    Leaves do not count, nor do nodes that only pass a gradient on to a leaf.
    """
    beside, below = _beside(graph), _below(graph)
    far: dict[int, int] = {}
    for node in graph.nodes:
        for child in below.get(node.id, ()):
            far[child] = max(far.get(child, 0), far.get(node.id, 0) + 1)
    steps = [node.id for node in graph.nodes if node.leaf is None and node.id not in beside]
    return max(Counter(far.get(id, 0) for id in steps).values(), default=0)


def _below(graph: Graph) -> dict[int, list[int]]:
    """Return a dict from node id to the ids of the nodes to which the node sends gradients."""
    below: dict[int, list[int]] = {}
    for edge in graph.edges:
        if edge.target is not None:
            below.setdefault(edge.source, []).append(edge.target)
    return below


def _steps(graph: Graph) -> int:
    return sum(node.leaf is None for node in graph.nodes)


def _without_repetitions(graph: Graph) -> Graph:
    """Fold repeated patterns of nodes until the graph fits, those first that save the most nodes.

    The first repetition of a pattern is kept, and one node replaces the others. As many patterns as are needed are
    folded at once: one at a time, a random graph of 6,000 nodes takes a minute in place of 0.4 s.
    """
    while not _fits(graph):
        beside = _beside(graph)
        steps = [node for node in graph.nodes if node.leaf is None and node.id not in beside]
        again: dict[int, Hashable] = {}
        says: dict[Hashable, Mapping[str, int]] = {}
        left = _steps(graph)
        for start, period, times in _repetitions([(n.name, n.outputs, len(n.saved), n.count) for n in steps]):
            again.update({node.id: start for node in steps[start + period : start + period * times]})
            says[start] = {"repeats": times - 1}
            left -= period * (times - 1) - 1
            if left <= LIMIT:
                break
        if not again:
            return graph
        graph = _contract(graph, again, says)
    return graph


def _beside(graph: Graph) -> dict[int, int]:
    """Return the nodes that only pass a gradient on to a leaf, such as the transposition of a weight.

    A key of the returned dict is the id of such a node. The value is the id of the node from which its gradient comes.
    """
    users: dict[int, list[int]] = {}
    ways: dict[int, list[int | None]] = {}
    for edge in graph.edges:
        ways.setdefault(edge.source, []).append(edge.target)
        if edge.target is not None:
            users.setdefault(edge.target, []).append(edge.source)
    leaves = {node.id for node in graph.nodes if node.leaf is not None}
    return {
        node.id: users[node.id][0]
        for node in graph.nodes
        if not node.saved
        and len(users.get(node.id, ())) == 1
        and len(way := ways.get(node.id, [])) == 1
        and way[0] in leaves
    }


def _repetitions(signs: list[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Yield patterns that stand in `signs` three times or more in a row: start, length, number of repetitions.

    `signs` has one entry per node, equal for nodes that look the same. Patterns that save more nodes if folded come
    first. They do not overlap.
    """
    numbers: dict[Hashable, int] = {}
    codes = [numbers.setdefault(sign, len(numbers)) for sign in signs]
    found: list[tuple[int, int, int, int]] = []
    for period in range(1, min(_LONGEST, len(codes) // 3) + 1):
        run = 0
        for at, (code, later) in enumerate(zip(codes, [*codes[period:], None])):
            if code == later:
                run += 1
                continue
            if (again := run // period) > 1:
                found.append((-period * again, period, at - run, again + 1))
            run = 0
    taken = bytearray(len(codes))
    for _, period, start, times in sorted(found):
        end = start + period * times
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\1" * (end - start)
            yield start, period, times


def _by_module(graph: Graph) -> Graph:
    """Fold the nodes of each module of a model into one node.

    A node belongs to the module that owns the parameters it uses.
    """
    part = _parts(graph)
    for depth in range(max((len(path) for path in part.values()), default=0), 0, -1):
        groups = {node: path[:depth] for node, path in part.items() if path}
        sizes = Counter(groups.values())
        groups = {node: path for node, path in groups.items() if sizes[path] > 1}
        if _steps(graph) - len(groups) + len(set(groups.values())) <= LIMIT or depth == 1:
            return _contract(graph, groups, {path: {"label": ".".join(path)} for path in groups.values()})
    return graph


def _parts(graph: Graph) -> dict[int, tuple[str, ...]]:
    """Return a dict from node id to the path of the module to which the node belongs.

    A path is a tuple of names. A node belongs to the module of the parameters that it uses. A node without parameters
    belongs where the nodes that made its inputs belong.
    """
    below = _below(graph)
    names = {tensor.id: tensor.names for tensor in graph.tensors}
    paths: dict[int, tuple[str, ...]] = {}
    own = {node.id for node in graph.nodes if node.leaf is not None} | _beside(graph).keys()
    for node in reversed(graph.nodes):
        if node.leaf is not None:
            paths[node.id] = next((tuple(n.split(".")[:-1]) for n in names[node.leaf] if "." in n), ())
        elif node.count == 1:
            children = sorted(below.get(node.id, ()), key=lambda child: child not in own)
            paths[node.id] = next((path for child in children if (path := paths.get(child))), ())
    return {node.id: paths[node.id] for node in graph.nodes if node.leaf is None and node.id in paths}


def _nearest(graph: Graph) -> Graph:
    """Keep the nodes nearest to the outputs, and fold all others into one node."""
    below = _below(graph)
    steps = {node.id for node in graph.nodes if node.leaf is None}
    records = {tensor.id: tensor for tensor in graph.tensors}
    front = [node for output in graph.outputs if (node := records[output].node) is not None]
    near: dict[int, None] = {}
    while front and len(near) < _NEAREST:
        front = [*dict.fromkeys(front)][: min(WIDE - 1, _NEAREST - len(near))]
        near.update(dict.fromkeys(front))
        front = [*dict.fromkeys(c for node in front for c in below.get(node, ()) if c in steps and c not in near)]
    return _contract(graph, {node: "rest" for node in steps if node not in near}, {"rest": {}})


def _contract(graph: Graph, groups: Mapping[int, Hashable], says: Mapping[Hashable, Mapping[str, str | int]]) -> Graph:
    """Replace each group of nodes by one node, which gets the id of the group's first node.

    `groups` maps node ids to groups. `says` maps groups to attributes of the new node. A leaf that only one group uses
    joins the group. A leaf that is a variable of the caller stays, because the learner can see gradients accumulate
    there.
    """
    variables = _variables(graph)
    group_of = dict(groups)
    group_of.update((node, groups[user]) for node, user in _beside(graph).items() if user in groups)
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
    return replace(members[0], name="", saved=saved, leaf=None, count=count, inside=names, lane=lane)


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
        key = replace(edge, count=0)
        merged[key] = merged.get(key, 0) + edge.count
    return tuple(replace(edge, count=count) for edge, count in merged.items())


def _still_seen(graph: Graph) -> tuple[Tensor, ...]:
    """Return the tensors that the folded graph still shows.

    The graph shows its outputs, and the tensors at edges or in nodes that are not folded.
    """
    whole = {node.id for node in graph.nodes if node.count == 1}
    seen = {*graph.outputs, *(edge.tensor for edge in graph.edges), *(node.leaf for node in graph.nodes)}
    seen |= {saved.tensor for node in graph.nodes if node.count == 1 for saved in node.saved}
    seen |= {tensor.id for tensor in graph.tensors if tensor.node in whole}
    return tuple(tensor for tensor in graph.tensors if tensor.id in seen)
