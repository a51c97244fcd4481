"""A graph as DOT: what kind of thing a box is can be told by its shape, by a word in it, and by its colour."""

from __future__ import annotations

import html
from collections.abc import Iterator

import graphviz  # type: ignore[import-untyped]

from .model import Edge, Graph, Node, Tensor
from .telling import Telling, shape

# Layout with a wide font: the browser's own may be as wide, and text that is wider than its box is cut off.
_FONT = "DejaVu Sans,Verdana,Arial,sans-serif"
_INK, _FAINT = "#1f2937", "#4b5563"  # on the light boxes
_OUTSIDE = "#7a808c"  # for what stands on the page itself, which may be white or nearly black
_GRADIENT, _ADDED = "#4a85e8", "#166534"
_STYLES = {
    "leaf": {"shape": "cylinder", "fillcolor": "#d9f2e0", "color": "#15803d", "penwidth": "2.4"},
    "constant": {"shape": "box", "style": "filled,dashed", "fillcolor": "#f1f2f4", "color": "#6b7280"},
    "intermediate": {"shape": "box", "style": "filled,rounded", "fillcolor": "#e1ecfd", "color": "#3b6fc4"},
    "output": {"shape": "box", "peripheries": "2", "fillcolor": "#fdf0c8", "color": "#b45309", "penwidth": "1.4"},
}
_STYLES["number"] = _STYLES["constant"]
_STATES = {"held": "#7c3a00", "freed": _FAINT, "modified": "#b91c1c", "packed": "#6d28d9", "unreadable": "#b91c1c"}


def dot(graph: Graph, language: str) -> str:
    """The picture of `graph` as DOT source, its words in `language`."""
    return _Drawing(graph, language).source()


class _Drawing:
    def __init__(self, graph: Graph, language: str) -> None:
        self.tell = Telling(graph, language)
        self.graph = graph
        self.dot = graphviz.Digraph(
            graph_attr={
                "bgcolor": "transparent",
                "rankdir": "TB",
                "fontname": _FONT,
                "nodesep": "0.25",
                "ranksep": "0.28",
                "label": _caption(self.tell),
                "labelloc": "t",
                "labeljust": "l",
            },
            node_attr={
                "fontname": _FONT,
                "fontsize": "11",
                "fontcolor": _INK,
                "style": "filled",
                "margin": "0.08,0.03",
                "height": "0.3",
                "width": "0.5",
            },
            edge_attr={
                "fontname": _FONT,
                "fontsize": "9",
                "fontcolor": _OUTSIDE,
                "color": _GRADIENT,
                "penwidth": "1.4",
                "arrowsize": "0.8",
            },
        )

    def source(self) -> str:
        graph = self.graph
        lanes = {node.lane for node in graph.nodes}
        for lane in sorted(lanes):
            members = [node for node in graph.nodes if node.lane == lane]
            if lane == 0:
                self._lane(self.dot, members)
                continue
            name = self.tell.name(graph.outputs[lane])
            with self.dot.subgraph(name=f"cluster{lane}") as cluster:
                cluster.attr(label=_escaped(self.tell.say("lane", name=name)), labelloc="t", style="dashed,rounded")
                cluster.attr(color=_OUTSIDE, fontcolor=_OUTSIDE, fontsize="11")
                self._lane(cluster, members)
        for tensor in self.tell.shown:
            if tensor.node not in self.tell.nodes and not self._is_in_a_lane(tensor):
                self._tensor(self.dot, tensor)
        for edge in graph.edges:
            self._edge(edge)
        self._tensor_edges()
        return str(self.dot.source)

    def _is_in_a_lane(self, tensor: Tensor) -> bool:
        return any(node.leaf == tensor.id for node in self.graph.nodes)

    def _lane(self, where: graphviz.Digraph, members: list[Node]) -> None:
        ids = {node.id for node in members}
        for tensor in self.tell.shown:
            if tensor.node in ids:
                self._tensor(where, tensor)
        for node in members:
            if node.leaf is None:
                where.node(f"n{node.id}", self._step(node), **_step_style(node))
            else:
                self._tensor(where, self.tell.tensors[node.leaf])

    # -- boxes --------------------------------------------------------------------------------------------------

    def _tensor(self, where: graphviz.Digraph, tensor: Tensor) -> None:
        tell = self.tell
        kind = f'<font point-size="9" color="{_FAINT}">{_escaped(tell.kind(tensor))}</font>'
        rows = [_row(f"<b>{_escaped(tell.name(tensor.id))}</b>  {kind}", size=12)]
        if tensor.kind == "leaf":
            rows.insert(0, _row("", size=4))  # the lid of the cylinder takes this room
        rows += [_row(_escaped(line), size=9) for line in tell.facts(tensor)]
        if gradient := tell.gradient(tensor):
            first, *more = gradient
            chip = tensor.grad_kept or tensor.grad is not None
            rows.append(_landing(first, tensor.grad is not None) if chip else _row(_escaped(first), _FAINT, 9))
            rows += [_row(_escaped(line), _ADDED, 9) for line in more]
        where.node(f"t{tensor.id}", _table(rows), tooltip=tell.kind(tensor), **_STYLES[tensor.kind])

    def _step(self, node: Node) -> str:
        tell = self.tell
        title, *more = tell.title(node)
        rows = [_row(f"<b>{_escaped(title)}</b>", span=4)]
        if node.count > 1:
            rows.insert(0, _row("", size=4, span=4))  # the edge of the block takes this room
        rows += [_row(_escaped(line), _FAINT, span=4) for line in more]
        if node.count > 1:
            rows += [_row(_escaped(line), _FAINT, 9, span=4) for line in tell.inside(node)]
        if (arriving := self.graph.adds_up_at(node)) > 1:
            rows.append(_row(_escaped(tell.say("adds_up", count=arriving)), _ADDED, 9, span=4))
        for (name, kind, size, state), colour in zip(tell.saved(node), _colours(node)):
            cells = [f"{tell.say('saved')} {name}" if node.count == 1 else name, kind, size, state]
            rows.append("<tr>" + "".join(_cell(_escaped(cell), colour, 9, left=True) for cell in cells) + "</tr>")
        return _table(rows)

    # -- lines --------------------------------------------------------------------------------------------------

    def _edge(self, edge: Edge) -> None:
        times = f"{edge.count} × " if edge.count > 1 else ""
        source = f"n{edge.source}"
        if edge.target is None:
            goal, word = self._stop(edge)
            self.dot.edge(source, goal, word or None, color=_OUTSIDE, arrowhead="tee", style="dashed")
            return
        number = self.tell.say("output_number", number=edge.output) if edge.target in self.graph.multiple else ""
        if edge.tensor is not None:
            self.dot.edge(source, f"t{edge.tensor}", _beside(times + number))
            return
        label = ", ".join(part for part in (number, "" if edge.shape is None else shape(edge.shape)) if part)
        self.dot.edge(source, f"n{edge.target}", _beside(times + label))

    def _stop(self, edge: Edge) -> tuple[str, str]:
        """Where an edge without a target ends: at the constant, if it is known, or at a small sign."""
        if edge.tensor is not None:
            return f"t{edge.tensor}", ""
        name = f"s{edge.source}_{edge.slot}"
        self.dot.node(name, self.tell.say("stop"), shape="plaintext", style="", fontcolor=_OUTSIDE, fontsize="9")
        return name, ""

    def _tensor_edges(self) -> None:
        """From a tensor to the node that made it, from a view to its base."""
        for tensor in self.tell.shown:
            if tensor.node in self.tell.nodes:
                self.dot.edge(f"t{tensor.id}", f"n{tensor.node}")
            if tensor.view_of in self.tell.tensors:
                said = self.tell.say("view_edge")
                self.dot.edge(
                    f"t{tensor.id}", f"t{tensor.view_of}", said, color=_OUTSIDE, style="dotted", constraint="false"
                )


def _colours(node: Node) -> Iterator[str]:
    """One colour for each line that Telling.saved gives."""
    states = [row.state for row in node.saved]
    yield from (_STATES[state] for state in (states if node.count == 1 else dict.fromkeys(states)))


def _step_style(node: Node) -> dict[str, str]:
    if node.count > 1:
        return {"shape": "box3d", "fillcolor": "#eceaf6", "color": "#6d5bb0"}
    return {"shape": "box", "fillcolor": "#f6f7f9", "color": "#6b7280"}


def _caption(tell: Telling) -> str:
    title, *more = tell.caption()
    rows = [_row(f"<b>{_escaped(title)}</b>", size=12, left=True)]
    rows += [_row(_escaped(line) + "&#160;" * 3, size=10, left=True) for text in more for line in _wrapped(text)]
    frame = 'border="0" cellborder="0" cellspacing="2" cellpadding="3" bgcolor="#f1f3f6" style="rounded"'
    return f"<<table {frame}>{''.join(rows)}</table>>"


def _wrapped(text: str, width: int = 88) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _beside(label: str) -> str | None:
    """The label of an arrow, a little away from its line."""
    return f"  {_escaped(label)}" if label else None


def _landing(says: str, landed: bool) -> str:
    """The row where a gradient lands: filled once it has."""
    ink, paper = ("#ffffff", _ADDED) if landed else (_ADDED, "#ffffff")
    chip = f'<font color="{ink}" point-size="10"><b> {_escaped(says)}  </b></font>'
    return f'<tr><td border="1" color="{_ADDED}" bgcolor="{paper}" style="rounded">{chip}</td></tr>'


def _table(rows: list[str]) -> str:
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{"".join(rows)}</table>>'


def _row(inside: str, colour: str = _INK, size: int = 10, *, span: int = 1, left: bool = False) -> str:
    return f"<tr>{_cell(inside, colour, size, span=span, left=left)}</tr>"


def _cell(inside: str, colour: str, size: int, *, span: int = 1, left: bool = False) -> str:
    align = ' align="left"' if left else ""
    columns = f' colspan="{span}"' if span > 1 else ""
    # The space is room for a browser's font that is wider than the one of the layout, and keeps the cell from being
    # empty: Graphviz crashes, now and then, on a line of text without a character.
    return f'<td{align}{columns}><font color="{colour}" point-size="{size}">{inside}&#160;</font></td>'


def _escaped(text: str) -> str:
    return html.escape(text, quote=False).replace("\\", "\\\\")  # Graphviz reads a backslash even in HTML
