"""Folding of graphs that are too large or too wide to draw.

To fold is to draw one node in place of several. Modules of a model are folded first, then repeated nodes, then nodes
far from the outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace

from ...language import Note
from .contract import children, contract, variables_of
from .model import Graph
from .modules import owners, part_sizes

LIMIT = 32  # boxes in a picture: its text is one screen
WIDE = 4  # nodes side by side; with more, the picture is wider than a page
_WIDE_LEAVES = 6  # leaves side by side
_MOST = 64  # boxes of a picture that can be made no smaller
_OPENED = 120  # boxes in a picture of one module, which the learner asked for
_NEAREST = 10  # nodes kept next to the outputs of a graph without repetitions or modules
_LEAVES = 12  # leaves side by side
_FIRST_LEAVES = 3  # of more than so many
_LONGEST = 64  # longest pattern in nodes; a longer one is a part of a model and has a name


def fold(graph: Graph, opened: str = "") -> Graph:
    """Return a graph that is small enough to draw.

    The result is `graph` itself, or a copy with folded nodes and a note that says so. `opened` is the name of a module
    whose nodes stay as they are, if there is room, while the modules beside it are folded.
    """
    whole, graph = graph, _with_few_leaves(_around(graph, opened) if opened else graph)
    if _fits(graph) and not opened:
        return graph
    folded = graph if opened and len(graph.nodes) <= _OPENED else _smallest(_smaller(graph))
    if not opened and not _is_bearable(folded):
        folded = _with_few_leaves(_by_module(folded, whole=True))
    if not opened and not _is_bearable(folded):
        folded = _nearest(graph)
        notes = [Note("note.cut", {"size": graph.size, "shown": _steps(folded) - 1})]
    else:
        shown: dict[str, object] = {"size": graph.size, "shown": len(folded.nodes)}
        part = _part_to_open(folded, part_sizes(whole), opened)
        notes = [Note("note.folded.parts", {**shown, "part": part}) if part else Note("note.folded", shown)]
    if len(folded.outputs) < len(graph.outputs):
        notes.append(Note("note.outputs", {"count": len(graph.outputs), "shown": len(folded.outputs)}))
    return replace(folded, notes=(*folded.notes, *notes))


def _part_to_open(folded: Graph, sizes: Mapping[str, int], opened: str) -> str:
    """Return the name of the folded module to look into: one that backward will refuse, or the largest."""
    boxes = [node for node in folded.nodes if "." in node.label and not opened.startswith(node.label)]
    if boxes:
        return max(boxes, key=lambda node: (node.is_refused, node.count)).label
    inner = {name: size for name, size in sizes.items() if "." in name and not opened}
    return max(inner, key=lambda name: inner[name], default="")


def _around(graph: Graph, opened: str) -> Graph:
    """Fold the modules beside the module `opened`."""
    part = owners(graph)
    outside = {
        node: next((name for name in path if not f"{opened}.".startswith(f"{name}.")), "")
        for node, path in part.items()
        if opened not in path
    }
    groups = _pieces(graph, {node: name for node, name in outside.items() if name})
    return contract(graph, groups, {piece: {"label": piece[0]} for piece in groups.values()})


def _smaller(graph: Graph) -> Iterator[Graph]:
    """Yield folded graphs: by modules, by repetitions of them, by repetitions, by modules of what is left."""
    parts = _with_few_leaves(_by_module(graph))
    yield parts
    yield _without_repetitions(parts)
    repeated = _without_repetitions(graph)
    yield repeated
    yield _with_few_leaves(_by_module(repeated))


def _smallest(graphs: Iterable[Graph]) -> Graph:
    """Return the first graph that fits, or else the smallest: boxes side by side count more than others."""
    seen = []
    for graph in graphs:
        if _fits(graph):
            return graph
        seen.append(graph)
    return min(seen, key=lambda graph: len(graph.nodes) * max(_width(graph)[0], WIDE))


def _with_few_leaves(graph: Graph) -> Graph:
    """Fold the leaves that the same nodes use, but for the first, if there are more than `_LEAVES`.

    Leaves that are variables of the caller stay and do not count.
    """
    variables, users = variables_of(graph), dict[int, set[int]]()
    for edge in graph.edges:
        if edge.target is not None:
            users.setdefault(edge.target, set()).add(edge.source)
    alike: dict[frozenset[int], list[int]] = {}
    for node in graph.nodes:
        if node.leaf is not None and node.leaf not in variables:
            alike.setdefault(frozenset(users.get(node.id, ())), []).append(node.id)
    many = {leaf: above for above, leaves in alike.items() if len(leaves) > _LEAVES for leaf in leaves[_FIRST_LEAVES:]}
    return contract(graph, many, {}) if many else graph


def _fits(graph: Graph) -> bool:
    steps, leaves = _width(graph)
    return len(graph.nodes) <= LIMIT and steps <= WIDE and leaves <= _WIDE_LEAVES


def _is_bearable(graph: Graph) -> bool:
    """Return whether a graph can be shown, if it can be made no smaller."""
    return len(graph.nodes) <= _MOST and _width(graph)[0] <= WIDE


def _width(graph: Graph) -> tuple[int, int]:
    """Return the largest number of steps at the same distance from the outputs, and that of leaves.

    Nodes that only pass a gradient on to a leaf do not count.
    """
    beside, below = graph.passing, children(graph)
    far: dict[int, int] = {}
    for node in graph.nodes:
        for child in below.get(node.id, ()):
            far[child] = max(far.get(child, 0), far.get(node.id, 0) + 1)
    steps = Counter(far.get(node.id, 0) for node in graph.nodes if node.leaf is None and node.id not in beside)
    leaves = Counter(far.get(node.id, 0) for node in graph.nodes if node.leaf is not None)
    return max(steps.values(), default=0), max(leaves.values(), default=0)


def _steps(graph: Graph) -> int:
    return sum(node.leaf is None for node in graph.nodes)


def _without_repetitions(graph: Graph) -> Graph:
    """Fold repeated patterns of nodes until the graph fits, those first that save the most nodes.

    The first repetition of a pattern is kept, and one node replaces the others. As many patterns as are needed are
    folded at once: one at a time, a random graph of 6,000 nodes takes a minute in place of 0.4 s.
    """
    while not _fits(graph):
        beside = graph.passing
        steps = [node for node in graph.nodes if node.leaf is None and node.id not in beside]
        again: dict[int, Hashable] = {}
        says: dict[Hashable, Mapping[str, int]] = {}
        left = len(graph.nodes)
        for start, period, times in _repetitions([(n.name, n.outputs, len(n.saved), n.count) for n in steps]):
            again.update({node.id: start for node in steps[start + period : start + period * times]})
            says[start] = {"repeats": times - 1}
            left -= period * (times - 1) - 1
            if left <= LIMIT:
                break
        if not again:
            return graph
        graph = contract(graph, again, says)
    return graph


def _repetitions(signs: list[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Yield patterns that stand in `signs` three times or more in a row: start, length, repetitions.

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


def _by_module(graph: Graph, *, whole: bool = False) -> Graph:
    """Fold the nodes of each module of a model into one node.

    Modules around modules are folded only if the graph does not fit without it. The only model is folded as a whole
    only if `whole`, because one box says little.
    """
    part, best = owners(graph), graph
    outermost = 0 if whole or len({path[0] for path in part.values() if path}) > 1 else 1
    for depth in range(max((len(path) for path in part.values()), default=0), outermost, -1):
        groups = _pieces(graph, {node: path[depth - 1] for node, path in part.items() if len(path) >= depth})
        sizes = Counter(groups.values())
        groups = {node: piece for node, piece in groups.items() if sizes[piece] > 1}
        made = contract(graph, groups, {piece: {"label": piece[0]} for piece in groups.values()})
        if _steps(made) > 1:
            best = made
        if _fits(best):
            break
    return best


def _pieces(graph: Graph, part: Mapping[int, str]) -> dict[int, tuple[str, int]]:
    """Return a dict from node id to the piece of its module: the module's name and a number.

    `part` is a dict from node id to module. The nodes of a piece hang together, or have an input in common. No way
    between two of them leads through another module: boxes for the pieces form no cycle.
    """
    below = children(graph)
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

    ends = {node.id for node in graph.nodes if node.leaf is not None} | graph.passing.keys()
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
    below = children(graph)
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
    return contract(graph, {node: "rest" for node in steps if node not in near}, {"rest": {}})
