"""A graph as DOT: what kind of thing a box is can be told by its shape, by a word in it, and by its colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import graphviz  # type: ignore[import-untyped]

from .cells import caption, columns, escaped, landing, row, table
from .model import Edge, Node, Tensor
from .saying import shape
from .style import ARROW, BOX, FAINT, FOLDED, GREEN, LANE, PAGE, SIGN, STATES, STEP, STOP, TENSORS, VIEW
from .telling import Telling


@dataclass(frozen=True)
class Moment:
    """What is laid over a graph for one step of backward, in place of its caption.

    `rows` are lines at the end of boxes (as `step_box` and `tensor_box` name these), each with its colour; `looks`
    replace attributes of boxes. `beyond` are ids that edges lead to or from and that no node has: more of the graph.
    """

    rows: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    looks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    beyond: Sequence[int] = ()


def step_box(node: Node) -> str:
    """The name of the box of a node; one that adds to a leaf has none of its own, but that of the leaf."""
    return f"n{node.id}" if node.leaf is None else tensor_box(node.leaf)


def tensor_box(tensor: int) -> str:
    """The name of the box of the tensor with this id."""
    return f"t{tensor}"


def dot(tell: Telling, moment: Moment | None = None) -> str:
    """The picture of a graph as DOT source, in the words of `tell`."""
    return _Drawing(tell, moment).source()


class _Drawing:
    def __init__(self, tell: Telling, moment: Moment | None) -> None:
        self.tell, self.graph = tell, tell.graph
        self.moment = moment or Moment()
        label = {"label": caption(tell.caption())} if moment is None else {}
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
        for id in self.moment.beyond:
            self.dot.node(f"n{id}", "…", **SIGN)
        return str(self.dot.source)

    def _homes(self) -> dict[int, int | None]:
        """For each tensor the lane that it stands in: of the node that made it, of its leaf's, or of all its users."""
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
            rows.insert(0, row("", size=4))  # the lid of the cylinder takes this room
        rows += [row(line, size=9) for line in tell.facts(tensor)]
        if gradient := tell.gradient(tensor):
            first, *more = gradient
            chip = tensor.grad_kept or tensor.grad is not None
            rows.append(landing(first, tensor.grad is not None) if chip else row(first, FAINT, 9))
            rows += [row(line, GREEN, 9) for line in more]
        self._box(where, tensor_box(tensor.id), rows, {**TENSORS[tensor.kind], "tooltip": tell.kind(tensor)})

    def _step(self, where: graphviz.Digraph, node: Node) -> None:
        tell, folded = self.tell, node.count > 1
        title, *more = tell.title(node)
        rows = [row(title, bold=True, wide=True)]
        if folded:
            rows.insert(0, row("", size=4, wide=True))  # the edge of the block takes this room
        rows += [row(line, FAINT, wide=True) for line in more]
        rows += [row(line, FAINT, 9, wide=True) for line in tell.inside(node)]
        if (arriving := self.graph.adds_up_at(node)) > 1:
            rows.append(row(tell.say("adds_up", count=arriving), GREEN, 9, wide=True))
        for line in tell.saved(node):
            what = line.what if folded else f"{tell.say('saved')} {line.what}"
            rows.append(columns((what, line.kind, line.bytes, line.state), STATES[line.colour]))
        self._box(where, step_box(node), rows, FOLDED if folded else STEP)

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
        if edge.tensor is not None:
            self.dot.edge(source, tensor_box(edge.tensor), _beside(times + number))
            return
        label = ", ".join(part for part in (number, "" if edge.shape is None else shape(edge.shape)) if part)
        self.dot.edge(source, f"n{edge.target}", _beside(times + label))

    def _stop(self, edge: Edge) -> str:
        """The box where an edge without a target ends: the constant, if it is known, or a small sign."""
        if edge.tensor is not None:
            return tensor_box(edge.tensor)
        name = f"s{edge.source}_{edge.slot}"
        self.dot.node(name, self.tell.say("stop"), fontsize="10", **SIGN)
        return name

    def _tensor_edges(self) -> None:
        """From a tensor to the node that made it, from a view to its base."""
        for tensor in self.tell.shown:
            if tensor.node in self.tell.nodes:
                self.dot.edge(tensor_box(tensor.id), f"n{tensor.node}")
            if tensor.view_of is not None and tensor.view_of in self.tell.tensors:
                said = _beside(self.tell.say("view_edge"))
                self.dot.edge(tensor_box(tensor.id), tensor_box(tensor.view_of), said, **VIEW)


def _beside(label: str) -> str | None:
    """The label of an arrow, a little away from its line."""
    return f"  {escaped(label)}" if label else None
