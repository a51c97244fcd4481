"""The picture of one step of backward: the graph of `draw`, with what has run, what runs and where gradients are."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from .dot import dot
from .frames import Frame
from .model import Edge, Graph, Node, Saved
from .recording import Storages
from .step_text import titles
from .words import word

WHOLE = 10  # nodes of a graph that is drawn whole in every step

_NOW = 'fillcolor="#ffd166", color="#92400e", penwidth="3"'
_DONE = 'fillcolor="#dcebdd", color="#166534"'
_OUTSIDE = "#7a808c"
_GRADIENT, _INK = "#1e40af", "#1f2937"


def step_dot(graph: Graph, frames: tuple[Frame, ...], storages: Storages, language: str) -> str:
    """DOT source of `graph` right after the last of `frames`, the others before it; of a large graph what is near."""
    done = {frame.node for frame in frames}
    now = frames[-1].node
    graph = _window(_at(graph, frames, done, storages), now)
    source = dot(graph, language)
    for box, lines in _gradients(graph, frames, language).items():
        source = _with_rows(source, box, lines, _GRADIENT)
    for node in graph.nodes:
        if node.leaf is not None:
            source = _with_rows(source, _box(node), [node.name], _INK)
    styles = [f"\t{_box(node)} [{_NOW if node.id == now else _DONE}]" for node in graph.nodes if node.id in done]
    styles += [f'\tn{end} [label="…", shape="plaintext", style="", fontcolor="{_OUTSIDE}"]' for end in _outside(graph)]
    bare = 'label=""'  # the page says once what the caption of `draw` says
    return "\n".join([source.rstrip().removesuffix("}"), *styles, bare, "}"])


def _window(graph: Graph, now: int) -> Graph:
    """The node `now`, where its gradients come from and where they go; what else is joined to these is one box each."""
    if len(graph.nodes) <= WHOLE:
        return graph
    near = {now}
    for edge in graph.edges:
        if edge.source == now and edge.target is not None:
            near.add(edge.target)
        elif edge.target == now:
            near.add(edge.source)
    edges: dict[Edge, int] = {}
    for edge in graph.edges:
        if edge.source not in near and edge.target in near:
            edge = replace(edge, source=graph.size + edge.target, slot=0)
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


def _outside(graph: Graph) -> set[int]:
    """The boxes that stand for what a window leaves out."""
    ends = {edge.source for edge in graph.edges} | {edge.target for edge in graph.edges if edge.target is not None}
    return {end for end in ends if end >= graph.size}


def _mark(node: Node, done: set[int], now: int) -> str:
    return "▶" if node.id == now else "✓" if node.id in done else "▷"


def _box(node: Node) -> str:
    return f"n{node.id}" if node.leaf is None else f"t{node.leaf}"


def _at(graph: Graph, frames: tuple[Frame, ...], done: set[int], storages: Storages) -> Graph:
    """`graph` with the titles, saved rows and `.grad` of that moment."""
    now, seen, titled = frames[-1].node, set[int](), titles(graph)
    nodes = []
    for node in graph.nodes:
        saved = tuple(_row(row, node.id in done, found, seen) for row, found in zip(node.saved, storages[node.id]))
        nodes.append(replace(node, name=f"{_mark(node, done, now)} {titled[node.id]}", saved=saved))
    leaves = {node.id: node.leaf for node in graph.nodes}
    landed = {leaves[frame.node]: frame.landed for frame in frames if frame.landed is not None}
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


def _row(row: Saved, done: bool, found: list[tuple[int, int]], seen: set[int]) -> Saved:
    """Freed once its node has run; before that its bytes count where the first of those still to run holds them."""
    if done and row.state in ("held", "packed") and not row.attribute:
        return replace(row, state="freed", bytes=None, counted="unknown")
    if not found:
        return row
    keys = {key for key, _ in found}
    counted = "elsewhere" if keys <= seen else "here"
    seen |= keys
    return replace(row, bytes=sum(size for _, size in found), counted=counted)  # type: ignore[arg-type]


def _gradients(graph: Graph, frames: tuple[Frame, ...], language: str) -> dict[str, list[str]]:
    """What has arrived where, as lines for the boxes of tensors and, where these have no record, of nodes."""
    lines: dict[tuple[str, int], str] = {}
    boxes = {node.id: _box(node) for node in graph.nodes}
    places: dict[tuple[int | None, int], int | None] = {
        (edge.target, edge.output): edge.tensor for edge in graph.edges if edge.target is not None
    }
    places.update(((t.node, t.output), t.id) for t in graph.tensors if t.id in graph.outputs)
    places.update({(node.id, 0): node.leaf for node in graph.nodes if node.leaf is not None})
    for (node, output), tensor in places.items():  # rows for all from the start keep boxes where they are
        if node in boxes:
            lines[boxes[node] if tensor is None else f"t{tensor}", output] = word("steps.here", language, said="–")
    for frame in frames:
        for output, gradient in enumerate(frame.arrived):
            if gradient is not None and frame.node in boxes:
                tensor = places.get((frame.node, output))
                box = boxes[frame.node] if tensor is None else f"t{tensor}"
                lines[box, output] = word("steps.here", language, said=gradient.said)
        for sent in frame.sent:
            if sent.target not in boxes:
                continue
            tensor = places.get((sent.target, sent.output))
            box = boxes[sent.target] if tensor is None else f"t{tensor}"
            id = "steps.here" if sent.number == sent.count else "steps.so_far"
            said = word(id, language, said=sent.after.said, number=sent.number, count=sent.count)
            lines[box, sent.output] = said
    rows: dict[str, list[str]] = {}
    for (box, _), line in lines.items():
        rows.setdefault(box, []).append(line)
    return rows


def _with_rows(source: str, box: str, lines: list[str], colour: str) -> str:
    """DOT source with more rows at the end of the table of one box."""
    escaped = [html.escape(line, quote=False).replace("\\", "\\\\") for line in lines]
    columns = ' colspan="4"' if box.startswith("n") else ""  # a step has four columns for what it saved
    cells = "".join(
        f'<tr><td{columns}><font color="{colour}" point-size="10"><b>{line}&#160;</b></font></td></tr>'
        for line in escaped
    )
    pattern = rf"^(\s*{box} \[label=<<table .*?)(</table>>)"
    return re.sub(pattern, lambda found: found[1] + cells + found[2], source, count=1, flags=re.MULTILINE)
