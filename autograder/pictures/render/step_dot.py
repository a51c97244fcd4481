"""Pictures of single steps of a backward pass.

Each picture shows the graph as `draw` does. Marked are the running node, the nodes that have run, and the gradients.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from ...messages.drawing import word
from ..graph.model import Edge, Frame, Graph, Saved
from ..graph.saved import Storages
from .describe import Telling
from .dot import Moment, dot, step_box, tensor_box
from .style import INK

Rows = dict[int, tuple[Saved, ...]]  # by node id
BESIDE = 5  # neighbours on one side of the running node
WHOLE = 10  # nodes up to which a step shows the whole graph

_NOW = {"fillcolor": "#ffd166", "color": "#92400e", "penwidth": "3"}
_DONE = {"fillcolor": "#dcebdd", "color": "#166534"}
_STOPPED = {"fillcolor": "#fee2e2", "color": "#b91c1c", "penwidth": "3"}
_GRADIENT = "#1e40af"


def step_dot(
    graph: Graph,
    frames: tuple[Frame, ...],
    storages: Storages,
    titles: Mapping[int, str],
    language: str,
    stopped_at: int | None = None,
) -> str:
    """Return the picture of a backward pass as DOT source, right after the last step in `frames`.

    Of a large graph only the neighbours of the running node are drawn. `frames` are all steps up to this one.
    `titles` are those of the nodes. `stopped_at` is the id of the node that failed next, or None.
    """
    done, now = {frame.node for frame in frames}, frames[-1].node
    near = _window(graph, now)
    rows = _rows(graph, {node.id for node in near.nodes}, done - {stopped_at}, storages)
    graph = _at(near, frames, stopped_at, rows, titles)
    gradients = _gradients(graph, frames, language).items()
    lines_at = {box: [(line, _GRADIENT) for line in lines] for box, lines in gradients}
    for node in graph.nodes:
        if node.leaf is not None:
            lines_at.setdefault(step_box(node), []).append((node.name, INK))
    looks = {step_box(node): _NOW if node.id == now else _DONE for node in graph.nodes if node.id in done}
    looks |= {step_box(node): _STOPPED for node in graph.nodes if node.id == stopped_at}
    return dot(Telling(graph, language), Moment(lines_at, looks, _beyond(graph)))


def _window(graph: Graph, now: int) -> Graph:
    """Return the part of a graph with the node `now` and its neighbours.

    Of more than `BESIDE` neighbours on one side, only the first are in it. The other nodes are replaced by one box
    above and one box below each node that is connected to them.
    """
    if len(graph.nodes) <= WHOLE:
        return graph
    below = [edge.target for edge in graph.edges if edge.source == now and edge.target is not None]
    above = [edge.source for edge in graph.edges if edge.target == now]
    near = {now, *[*dict.fromkeys(below)][:BESIDE], *[*dict.fromkeys(above)][:BESIDE]}
    edges: dict[Edge, int] = {}
    for edge in graph.edges:
        if edge.source not in near and edge.target in near:
            edge = replace(edge, source=graph.size + edge.target, slot=0, factor=None)
        elif edge.source in near and edge.target is not None and edge.target not in near:
            edge = Edge(edge.source, 0, 2 * graph.size + edge.source)
        elif edge.source not in near:
            continue
        edges[edge] = edges.get(edge, 0) + 1
    nodes = tuple(node for node in graph.nodes if node.id in near)
    joined = {edge.tensor for edge in edges} | {node.leaf for node in nodes}
    joined |= {tensor.id for tensor in graph.tensors if tensor.node in near}
    rows = {row.tensor for node in nodes for row in node.saved}
    return replace(
        graph,
        nodes=nodes,
        edges=tuple(replace(edge, count=count) for edge, count in edges.items()),
        tensors=tuple(
            tensor if tensor.id in joined else replace(tensor, node=None, view_of=None)
            for tensor in graph.tensors
            if tensor.id in joined | rows
        ),
        outputs=tuple(output for output in graph.outputs if output in joined),
    )


def _beyond(graph: Graph) -> list[int]:
    """Return the numbers that stand for nodes outside the drawn part of a graph."""
    ends = {edge.source for edge in graph.edges} | {edge.target for edge in graph.edges if edge.target is not None}
    return sorted(end for end in ends if end >= graph.size)


def _at(
    graph: Graph, frames: tuple[Frame, ...], stopped_at: int | None, rows: Rows, titles: Mapping[int, str]
) -> Graph:
    """Return `graph` as it is after the steps `frames`: titles, saved tensors and `.grad` at that moment."""
    marks = {frame.node: "✓" for frame in frames} | {frames[-1].node: "▶", stopped_at: "✗"}
    nodes = [
        replace(node, name=f"{marks.get(node.id, '▷')} {titles[node.id]}", saved=rows[node.id]) for node in graph.nodes
    ]
    leaves = {node.id: node.leaf for node in graph.nodes}
    landed = {leaves.get(frame.node): frame.landed for frame in frames if frame.landed is not None}
    retained = {(frame.node, output): gradient for frame in frames for output, gradient in frame.retained}
    tensors = []
    for tensor in graph.tensors:
        if tensor.node is not None and (kept := retained.get((tensor.node, tensor.output))) is not None:
            tensor = replace(tensor, grad=kept.said)
        if (landing := landed.get(tensor.id)) is not None:
            after = landing.kept if landing.changed else landing.after
            tensor = replace(tensor, grad=None if after is None else after.said)
        tensors.append(tensor)
    return replace(graph, nodes=tuple(nodes), tensors=tuple(tensors), notes=())


def _rows(graph: Graph, drawn: Set[int], done: Set[int], storages: Storages) -> Rows:
    """Return the saved tensors of the nodes `drawn`, as they are when the nodes `done` have run."""
    rows: Rows = {}
    seen: set[int] = set()
    for node in graph.nodes:
        if node.id in drawn:
            pairs = zip(node.saved, storages[node.id])
            rows[node.id] = tuple(_row(row, node.id in done, found, seen) for row, found in pairs)
        else:
            for row, found in zip(node.saved, storages[node.id]):
                if not _is_freed(row, node.id in done):
                    seen.update(key for key, _ in found)
    return rows


def _row(row: Saved, done: bool, found: list[tuple[int, int]], seen: set[int]) -> Saved:
    """Return `row`, the description of a saved tensor, as it is at one step.

    If its node has run (`done`), the result is marked as freed. Otherwise the first remaining tensor with a storage
    counts the storage's bytes. `found` holds the storages of this tensor, and `seen` the storages counted before.
    """
    if _is_freed(row, done):
        return replace(row, state="freed", bytes=None, counted="number" if row.counted == "number" else "unknown")
    if not found:
        return row
    keys = {key for key, _ in found}
    counted = "elsewhere" if keys <= seen else "here"
    seen |= keys
    return replace(row, bytes=sum(size for _, size in found), counted=counted)  # type: ignore[arg-type]


def _is_freed(row: Saved, done: bool) -> bool:
    return done and row.state in ("held", "packed") and not row.attribute


def _gradients(graph: Graph, frames: tuple[Frame, ...], language: str) -> dict[str, list[str]]:
    """Return a dict from the name of a box to lines on the gradients that have arrived there.

    The box is that of the tensor, or of the node if the tensor is not recorded.
    """
    nodes = {node.id: node for node in graph.nodes}
    tensors: dict[tuple[int | None, int], int | None] = {
        (edge.target, edge.output): edge.tensor for edge in graph.edges if edge.target is not None
    }
    tensors.update(((t.node, t.output), t.id) for t in graph.tensors if t.id in graph.outputs)
    tensors.update({(node.id, 0): node.leaf for node in graph.nodes if node.leaf is not None})
    # Boxes have these lines from the first step on. Otherwise they would grow and move from step to step.
    said = {place: word("steps.here", language, said="–") for place in tensors if place[0] in nodes}
    for frame in frames:
        for output, gradient in enumerate(frame.arrived):
            if gradient is not None and frame.node in nodes:
                said[frame.node, output] = word("steps.here", language, said=gradient.said)
        for sent in frame.sent:
            if sent.target in nodes:
                id = "steps.here" if sent.number == sent.count else "steps.so_far"
                parts = {"said": sent.after.said, "number": sent.number, "count": sent.count}
                said[sent.target, sent.output] = word(id, language, **parts)
    rows: dict[str, list[str]] = {}
    for (node, output), line in said.items():
        tensor = tensors.get((node, output))
        box = tensor_box(tensor) if tensor is not None else step_box(nodes[node])  # type: ignore[index]
        rows.setdefault(box, []).append(line)
    return rows
