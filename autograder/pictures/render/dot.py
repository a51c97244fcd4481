"""Graphs as source text in Graphviz's DOT language.

The kind of a box is shown three times: by its shape, by a word and by its colour. A reader who cannot see one of the
three still has the other two.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..graph.model import Edge, Node, Tensor
from ..text_form import shape
from .describe import Telling
from .style import (
    ARROW,
    BOX,
    FAINT,
    FOLDED,
    GREEN,
    INK,
    LANE,
    PAGE,
    RED,
    SIGN,
    STATES,
    STEP,
    STOP,
    TENSORS,
    VIEW,
    WRONG,
)

if TYPE_CHECKING:
    import graphviz  # type: ignore[import-untyped]

_LINE = 32  # characters of shape and value in one line
_COLUMNS = 4  # columns in the box of a node: saved tensor, shape, bytes, state


def table(rows: list[str]) -> str:
    """Return a DOT label: a table with these rows."""
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{"".join(rows)}</table>>'


def row(
    says: str, colour: str = INK, size: int = 10, *, bold: bool = False, wide: bool = False, aside: str = ""
) -> str:
    """Return the DOT source of one row of the table in a box.

    If `wide` is True, the row spans all columns of a node's box. `aside` is small, faint text after `says`.
    """
    inside = f"<b>{escaped(says)}</b>" if bold else escaped(says)
    inside += f'  <font point-size="9" color="{FAINT}">{escaped(aside)}</font>' if aside else "&#160;" if bold else ""
    return f"<tr>{_cell(inside, colour, size, span=_COLUMNS if wide else 1)}</tr>"


def columns(cells: tuple[str, ...], colour: str) -> str:
    """Return the HTML-like Graphviz markup of one table row in a node's box, with a text in each column."""
    return "<tr>" + "".join(_cell(escaped(cell), colour, 9, left=True) for cell in cells) + "</tr>"


def landing(says: str, landed: bool) -> str:
    """Return the DOT source of the row of a leaf's box that shows `.grad`.

    The row is filled if `landed`, when a gradient has been accumulated.
    """
    ink, paper = ("#ffffff", GREEN) if landed else (GREEN, "#ffffff")
    chip = f'<font color="{ink}" point-size="10"><b>&#160;{escaped(says)}&#160;&#160;</b></font>'
    return f'<tr><td border="1" color="{GREEN}" bgcolor="{paper}" style="rounded">{chip}</td></tr>'


def caption(says: list[str], troubles: Sequence[str] = ()) -> str:
    """Return the caption of a picture as a DOT label: a title and sentences on a light background.

    Those of the sentences that are in `troubles` are red.
    """
    title, *sentences = says
    cells = [_cell(f"&#160;<b>{escaped(line)}</b>", INK, 12, left=True) for line in _wrapped(title, 70)]
    for sentence in sentences:
        colour = RED if sentence in troubles else INK
        for line in _wrapped(
            sentence, 88
        ):  # the padding grows with the line, because the difference between fonts does
            cells.append(_cell(f"&#160;{escaped(line)}{'&#160;' * (len(line) // 16)}", colour, 10, left=True))
    rows = "".join(f"<tr>{cell}</tr>" for cell in cells)
    frame = 'border="0" cellborder="0" cellspacing="1" cellpadding="2" bgcolor="#f1f3f6" style="rounded"'
    return f"<<table {frame}>{rows}</table>>"


def _wrapped(text: str, width: int) -> list[str]:
    """Return `text` as lines of at most `width` characters: as few lines as possible, of similar length."""
    fewest = len(textwrap.wrap(text, width))
    evenly = len(text) // max(fewest, 1)
    tried = (textwrap.wrap(text, each) for each in range(max(evenly, 1), width + 1))
    return next((lines for lines in tried if len(lines) <= fewest), [])


def _cell(inside: str, colour: str, size: int, *, span: int = 1, left: bool = False) -> str:
    align = ' align="left"' if left else ""
    columns = f' colspan="{span}"' if span > 1 else ""
    # Spaces leave room for a browser's font that is wider than the layout's. They also keep the cell from being empty:
    # Graphviz sometimes crashes on a line of text without a character.
    before = "" if left else "&#160;"
    return f'<td{align}{columns}><font color="{colour}" point-size="{size}">{before}{inside}&#160;</font></td>'


def escaped(text: str) -> str:
    """Return `text` escaped for DOT tables and plain labels."""
    return html.escape(text, quote=False).replace("\\", "\\\\")  # Graphviz interprets backslashes even in HTML


@dataclass(frozen=True)
class Moment:
    """Additions to the picture of a graph for one step of backward.

    A picture with these additions has no caption. `rows` is a dict from a box to extra lines, each with a colour.
    `looks` is a dict from a box to its DOT attributes. Boxes have the names that `step_box` and `tensor_box` return.
    `beyond` holds numbers that edges name in place of nodes outside the picture.
    """

    rows: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    looks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    beyond: Sequence[int] = ()


def step_box(node: Node) -> str:
    """Return the name of a node's box in DOT. A node that accumulates into a leaf has the leaf's box."""
    return f"n{node.id}" if node.leaf is None else tensor_box(node.leaf)


def tensor_box(tensor: int) -> str:
    """Return the name in DOT of the box of the tensor with the id `tensor`."""
    return f"t{tensor}"


def dot(tell: Telling, moment: Moment | None = None) -> str:
    """Return the picture of a graph as DOT source, with the texts of `tell`.

    `moment` holds additions for one step of backward.
    Raises ModuleNotFoundError if the package graphviz is not installed.
    """
    return _Drawing(tell, moment).source()


class _Drawing:
    def __init__(self, tell: Telling, moment: Moment | None) -> None:
        self.tell, self.graph = tell, tell.graph
        self.moment, self.is_step = moment or Moment(), moment is not None
        label = {"label": caption(tell.caption(), tell.troubles())} if moment is None else {}
        import graphviz

        self.dot = graphviz.Digraph(graph_attr={**PAGE, **label}, node_attr=BOX, edge_attr=ARROW)

    def source(self) -> str:
        graph, tell = self.graph, self.tell
        homes = self._homes()
        for lane in tell.lanes():
            if lane is None:
                self._lane(self.dot, lane, homes)
                continue
            with self.dot.subgraph(name=f"cluster{lane}") as cluster:
                cluster.attr(label=escaped(tell.say("lane", name=tell.name(lane))), **LANE)
                self._lane(cluster, lane, homes)
        for edge in graph.edges:
            self._edge(edge)
        self._tensor_edges()
        if graph.unreached and not self.is_step:
            self._unreached()
        for id in self.moment.beyond:
            self.dot.node(f"n{id}", "…", **SIGN)
        return str(self.dot.source)

    def _homes(self) -> dict[int, int | None]:
        """Return a dict from tensor id to the lane in which to draw the tensor.

        A lane is the id of the only output that needs a node, or None. A leaf has the lane of its AccumulateGrad node,
        another tensor the lane of the node that made it. A constant has the lane of the nodes that use it, if they all
        have the same.
        """
        lanes = {node.id: node.lane for node in self.graph.nodes}
        users: dict[int, set[int | None]] = {}
        for edge in self.graph.edges:
            if edge.tensor is not None and edge.source in lanes:
                users.setdefault(edge.tensor, set()).add(lanes[edge.source])
        homes: dict[int, int | None] = {tensor: of.pop() for tensor, of in users.items() if len(of) == 1}
        homes |= {tensor.id: lanes[tensor.node] for tensor in self.tell.shown if tensor.node in lanes}
        return homes | {node.leaf: node.lane for node in self.graph.nodes if node.leaf is not None}

    def _lane(self, where: graphviz.Digraph, lane: int | None, homes: Mapping[int, int | None]) -> None:
        for node in self.graph.nodes:
            if node.leaf is None and node.lane == lane:
                self._step(where, node)
        for tensor in self.tell.shown:
            if homes.get(tensor.id) == lane:
                self._tensor(where, tensor)

    # -- boxes --------------------------------------------------------------------------------------------------

    def _tensor(self, where: graphviz.Digraph, tensor: Tensor) -> None:
        tell = self.tell
        rows = [row(tell.name(tensor.id), size=12, bold=True, aside=tell.kind(tensor))]
        if tensor.kind == "leaf":
            rows.insert(0, row("", size=4))  # room for the lid of the cylinder
        rows += [row(line, size=9) for line in _joined(tell.facts(tensor))]
        if gradient := tell.gradient(tensor):
            first, *more = gradient
            if tensor.grad_kept or tensor.grad is not None:
                rows.append(landing(first, tensor.grad is not None))
            elif not self.moment.rows:  # a step says in this place which gradient has arrived
                rows.append(row(first, FAINT, 9))
            rows += [row(line, GREEN, 9) for line in more]
        look = TENSORS[tensor.kind] | (WRONG["end"] if tensor.id == self.graph.end else {})
        self._box(where, tensor_box(tensor.id), rows, {**look, "tooltip": tell.kind(tensor)})

    def _step(self, where: graphviz.Digraph, node: Node) -> None:
        tell, folded = self.tell, node.count > 1
        title, *more = tell.title(node)
        rows = [row(title, bold=True, wide=True)]
        if folded:
            rows.insert(0, row("", size=4, wide=True))  # room for the edge of the block
        rows += [row(line, FAINT, wide=True) for line in more]
        rows += [row(line, FAINT, 9, wide=True) for line in tell.inside(node)]
        if (arriving := self.graph.adds_up_at(node)) > 1:
            rows.append(row(tell.say("adds_up", count=arriving), GREEN, 9, wide=True))
        for line in tell.saved(node):
            what = line.what if folded else f"{tell.say('saved')} {line.what}"
            rows.append(columns((what, line.kind, line.bytes, line.state), STATES[line.colour]))
        look = (FOLDED if folded else STEP) | (WRONG["refused"] if node.is_refused else {})
        self._box(where, step_box(node), rows, look)

    def _unreached(self) -> None:
        """Draw a box for the parts of models that are not in the graph, below where the way to them may end."""
        with self.dot.subgraph(graph_attr={"rank": "sink"}) as below:
            rows = [row(self.tell.say("unreached"), RED, bold=True)]
            below.node(
                "unreached",
                table([*rows, *(row(line, size=9) for line in self.tell.unreached())]),
                **WRONG["unreached"],
            )
        end = self.graph.end
        if end is not None and end in self.tell.tensors:
            self.dot.edge(tensor_box(end), "unreached", "  ?", **WRONG["lost"])

    def _box(self, where: graphviz.Digraph, name: str, rows: list[str], look: Mapping[str, str]) -> None:
        wide = name.startswith("n")
        rows += [row(line, colour, bold=True, wide=wide) for line, colour in self.moment.rows.get(name, ())]
        where.node(name, table(rows), **{**look, **self.moment.looks.get(name, {})})

    # -- lines --------------------------------------------------------------------------------------------------

    def _edge(self, edge: Edge) -> None:
        times = f"{self.tell.number(edge.count)} × " if edge.count > 1 else ""
        source = f"n{edge.source}"
        if edge.target is None:
            self.dot.edge(source, self._stop(edge), **STOP)
            return
        number = self.tell.say("output_number", number=edge.output) if edge.target in self.graph.multiple else ""
        said = f"× {edge.factor}" if edge.factor else ""
        if edge.tensor is None and edge.shape is not None:
            said = said or shape(edge.shape)
        label = times + ", ".join(part for part in (number, said) if part)
        self.dot.edge(source, f"n{edge.target}" if edge.tensor is None else tensor_box(edge.tensor), _beside(label))

    def _stop(self, edge: Edge) -> str:
        """Return the box in which an edge without a target ends.

        If the constant is known, the edge ends in the constant's box, else in a small sign.
        """
        if edge.tensor is not None:
            return tensor_box(edge.tensor)
        name = f"s{edge.source}_{edge.slot}"
        self.dot.node(name, self.tell.say("stop"), fontsize="10", **SIGN)
        return name

    def _tensor_edges(self) -> None:
        """Draw edges from each tensor to the node that made it, and from each view to its base."""
        for tensor in self.tell.shown:
            if tensor.node in self.tell.nodes:
                self.dot.edge(tensor_box(tensor.id), f"n{tensor.node}")
            if tensor.view_of is not None and tensor.view_of in self.tell.tensors:
                said = _beside(self.tell.say("view_edge"))
                self.dot.edge(tensor_box(tensor.id), tensor_box(tensor.view_of), said, **VIEW)


def _joined(facts: list[str]) -> list[str]:
    """Return facts on a tensor with shape and value in one line if they are short. Pictures fit a page more often."""
    if len(facts) > 1 and facts[1].startswith("= ") and len(facts[0]) + len(facts[1]) <= _LINE:
        return [f"{facts[0]} {facts[1]}", *facts[2:]]
    return facts


def _beside(label: str) -> str | None:
    """Return the label of an edge, indented to keep a distance from the line. Returns None for ""."""
    return f"  {escaped(label)}" if label else None
