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
from .modules import owners

LIMIT = 40  # nodes in a picture, not counting leaves
WIDE = 4  # nodes side by side; with more, their text is too small to read
_NEAREST = 10  # nodes kept next to the outputs of a graph without repetitions or modules
_LEAVES = 12  # leaves side by side
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
        folded = _with_few_leaves(_by_module(folded))
    notes = [Note("note.folded", {"size": graph.size, "shown": _steps(folded)})]
    if not _fits(folded):
        folded = _nearest(folded)
        notes = [Note("note.cut", {"size": graph.size, "shown": _steps(folded) - 1})]
    if len(folded.outputs) < len(graph.outputs):
        notes.append(Note("note.outputs", {"count": len(graph.outputs), "shown": len(folded.outputs)}))
    return replace(folded, notes=(*folded.notes, *notes))


def _with_few_leaves(graph: Graph) -> Graph:
    """Fold the leaves that the same nodes use, but for the first, if there are more than `_LEAVES`.

    Leaves that are variables of the caller stay and do not count.
    """
    variables, users = _variables(graph), dict[int, set[int]]()
    for edge in graph.edges:
        if edge.target is not None:
            users.setdefault(edge.target, set()).add(edge.source)
    alike: dict[frozenset[int], list[int]] = {}
    for node in graph.nodes:
        if node.leaf is not None and node.leaf not in variables:
            alike.setdefault(frozenset(users.get(node.id, ())), []).append(node.id)
    many = {leaf: above for above, leaves in alike.items() if len(leaves) > _LEAVES for leaf in leaves[_FIRST_LEAVES:]}
    return _contract(graph, many, {}) if many else graph


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

    Modules inside modules are folded only if more than `LIMIT` nodes would be left without it. One module alone is not
    folded, because one box is no picture.
    """
    part, best = owners(graph, _below(graph), _beside(graph)), graph
    for depth in range(max((len(path) for path in part.values()), default=0), 0, -1):
        groups = _pieces(graph, {node: path[depth - 1] for node, path in part.items() if len(path) >= depth})
        sizes = Counter(groups.values())
        groups = {node: piece for node, piece in groups.items() if sizes[piece] > 1}
        if len({*groups.values()}) > 1:
            best = _contract(graph, groups, {piece: {"label": piece[0]} for piece in groups.values()})
            if _steps(best) <= LIMIT:
                break
    return best


def _pieces(graph: Graph, part: Mapping[int, str]) -> dict[int, tuple[str, int]]:
    """Return a dict from node id to the piece of its module: the module's name and a number.

    `part` is a dict from node id to module. The nodes of a piece hang together, or have an input in common. No way
    between two of them leads through another module: boxes for the pieces form no cycle.
    """
    below = _below(graph)
    far: dict[int, int] = {}  # the number of changes of module on the longest way from an output
    for node in graph.nodes:
        for child in below.get(node.id, ()):
            changes = node.id not in part or part[node.id] != part.get(child)
            far[child] = max(far.get(child, 0), far.get(node.id, 0) + changes)
    whole = {node: node for node in part}  # a forest: from a node to another one of its piece

    def first(node: int) -> int:
        while whole[node] != node:
            whole[node] = node = whole[whole[node]]
        return node

    ends = {node.id for node in graph.nodes if node.leaf is not None} | _beside(graph).keys()
    seen = {(node, name, far.get(node, 0)): node for node, name in part.items()}
    for edge in graph.edges:
        if edge.source in part and edge.target is not None and edge.target not in ends:
            place = edge.target, part[edge.source], far.get(edge.source, 0)
            whole[first(edge.source)] = first(seen.setdefault(place, edge.source))
    return {node: (name, first(node)) for node, name in part.items()}


def _nearest(graph: Graph) -> Graph:
    """Keep the nodes nearest to the outputs, and fold all others into one node.

    A node is kept only if all nodes that send it gradients are: no gradient leaves the folded node for a kept one.
    """
    below = _below(graph)
    steps = {node.id for node in graph.nodes if node.leaf is None}
    records = {tensor.id: tensor for tensor in graph.tensors}
    users: dict[int, set[int]] = {}
    for edge in graph.edges:
        if edge.target is not None:
            users.setdefault(edge.target, set()).add(edge.source)
    made = [node for output in graph.outputs if (node := records[output].node) is not None]
    front, near = [node for node in made if node not in users], dict[int, None]()
    while front and len(near) < _NEAREST:
        front = [*dict.fromkeys(front)][: min(WIDE - 1, _NEAREST - len(near))]
        near.update(dict.fromkeys(front))
        front = [c for node in front for c in below.get(node, ()) if c in steps and users[c] <= near.keys()]
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
