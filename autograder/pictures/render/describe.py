"""Descriptions of a graph in words, for picture and text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...language import grouped
from ...messages.drawing import word
from ..graph.model import Edge, Graph, Node, Saved, Tensor
from ..graph.torch_objects import LEAF
from ..text_form import shape

_PARTS = 8  # outputs for which the caption states the bytes of their own graph
_UNREACHED = 8  # parts of models in their box
_TROUBLES = {"note.modified", "note.unreached"}
_NAME = 60  # characters; a longer name makes a box too wide


class SavedLine(NamedTuple):
    """A tensor saved for backward, described in words.

    A part that is unknown is "". `colour` is the saved tensor's state, such as "held", by which the picture chooses a
    colour.
    """

    what: str
    kind: str
    bytes: str
    state: str
    colour: str


class Telling:
    """Descriptions of all parts of `graph`, as short lines in `language`.

    If `saved` is False, they leave out what a first look does not need: what nodes keep for backward, the shape of a
    single number, and `.grad` of tensors that get none. `opening` is a title and sentences that begin the caption. If
    `opening` is empty, the caption begins with the names of the drawn outputs.
    """

    def __init__(self, graph: Graph, language: str, opening: tuple[str, ...] = (), *, saved: bool = True) -> None:
        self.graph = graph
        self.language = language
        self.opening = opening
        self.with_saved = saved
        self.tensors = {tensor.id: tensor for tensor in graph.tensors}
        self.nodes = {node.id: node for node in graph.nodes}
        joined = {*graph.outputs, *(edge.tensor for edge in graph.edges), *(t.view_of for t in graph.tensors)}
        joined |= {node.leaf for node in graph.nodes}
        # A constant that is only saved, such as a running mean, has a row at the node. It needs no box.
        self.shown = [tensor for tensor in graph.tensors if tensor.id in joined or tensor.node is not None]

    def say(self, id: str, **parameters: object) -> str:
        """Return the sentence `id` in this language, with `parameters` filled in."""
        return word(id, self.language, **parameters)

    def number(self, value: int) -> str:
        """Return an integer as text, with digit groups as usual in this language."""
        return grouped(value, self.language)

    # -- tensors ------------------------------------------------------------------------------------------------

    def name(self, tensor: int) -> str:
        """Return the caller's name of a tensor. A very long name is cut."""
        name = self.tensors[tensor].name or f"({self.say('unnamed')})"
        return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"

    def kind(self, tensor: Tensor) -> str:
        asks = "requires_grad" if tensor.kind == "leaf" and tensor.requires_grad else ""
        return " · ".join(part for part in (self.say(f"kind.{tensor.kind}"), asks) if part)

    def facts(self, tensor: Tensor) -> list[str]:
        """Return lines on a tensor: shape, value, version, view and hooks.

        Name, kind and gradient are left out. Returns [] for a Python number.
        """
        if tensor.kind == "number":
            return []
        device = "" if tensor.device == "cpu" else f" {tensor.device}"
        number = tensor.shape == () and tensor.value is not None and not device
        lines = [] if number and not self.with_saved else [f"{shape(tensor.shape)} {tensor.dtype}{device}"]
        if tensor.value is not None:
            lines.append(f"= {tensor.value}")
        if tensor.version:  # a leaf's version counts its initialisation, or the steps of an optimizer
            changed = "version" if tensor.node is None else "version.changed"
            lines.append(self.say(changed, version=tensor.version))
        if tensor.view_of is not None and tensor.view_of in self.tensors:
            lines.append(self.say("view_of", base=self.name(tensor.view_of)))
        elif tensor.view and tensor.node is not None:  # for a leaf it is irrelevant
            lines.append(self.say("view"))
        if tensor.retains_grad:
            lines.append(self.say("retains_grad"))
        if tensor.hooks:
            lines.append(self.say("hook", names=", ".join(tensor.hooks)))
        if tensor.post_hooks:
            lines.append(self.say("post_hook", names=", ".join(tensor.post_hooks)))
        return lines

    def gradient(self, tensor: Tensor) -> list[str]:
        """Return lines on a tensor's `.grad`, and on how many gradients are added up for the tensor.

        Returns [] for a constant.
        """
        if tensor.grad is None and tensor.kind in ("constant", "number"):
            return []
        lines = []
        if tensor.grad is not None:
            lines.append(f".grad = {tensor.grad}")
        elif tensor.grad_kept:
            lines.append(".grad –")
        elif self.with_saved:
            lines.append(f".grad {self.say('grad.not_kept')}")
        if tensor.grad_has_graph:
            lines.append(self.say("grad.has_graph"))
        arriving = self.graph.arriving_at(tensor)
        if arriving > 1:
            lines.append(self.say("adds_up", count=arriving))
        return lines

    def lanes(self) -> list[int | None]:
        """Return the lanes in which nodes are drawn.

        A lane is an output whose graph alone contains some nodes. The last lane, None, is for all other nodes.
        """
        lanes = {node.lane for node in self.graph.nodes}
        return [*(output for output in dict.fromkeys(self.graph.outputs) if output in lanes), None]

    # -- nodes --------------------------------------------------------------------------------------------------

    def title(self, node: Node) -> list[str]:
        if node.count == 1:
            return [node.name] + ([self.say("custom")] if node.custom else [])
        lines = [self.say("folded", count=node.count)]
        if node.repeats:
            lines.insert(0, self.say("folded.repeats", repeats=node.repeats))
        else:
            leaves = [name for name, _ in node.inside] == [LEAF]
            lines.insert(0, node.label or self.say("folded.leaves" if leaves else "folded.rest"))
        return lines

    def inside(self, node: Node) -> list[str]:
        """Return the names of the nodes that a folded node stands for, with their numbers, the most frequent first."""
        most = [f"{self.number(count)} × {name}" for name, count in node.inside[:6]]
        return most + (["…"] if len(node.inside) > 6 else [])

    def saved(self, node: Node) -> list[SavedLine]:
        """Return a line for each tensor that a node saved. A first look shows only those that backward will refuse.

        For a folded node, return a line for each state of its saved tensors.
        """
        shown = [row for row in node.saved if self.with_saved or row.state == "modified"]
        if node.count == 1:
            return [self._row(row) for row in shown]
        rows = []
        for state in dict.fromkeys(row.state for row in shown):
            same = [row for row in shown if row.state == state]
            size = sum(row.bytes or 0 for row in same if row.counted == "here")
            known = any(row.counted != "unknown" for row in same)
            bytes = self.say("counted.here", bytes=size) if known else ""
            said = self.say("state.modified.unknown") if state == "modified" else self._state(same[0])
            rows.append(SavedLine(f"{self.number(len(same))} × {self.say('saved')}", "", bytes, said, state))
        return rows

    def _row(self, row: Saved) -> SavedLine:
        name, state = row.name or self.say("saved.all"), self._state(row)
        if row.tensor is not None and row.tensor in self.tensors and self.tensors[row.tensor].name:
            name += f" = {self.name(row.tensor)}"
        if row.counted == "number":
            return SavedLine(name, "", self.say("counted.number"), state, row.state)
        bytes = "" if row.state == "freed" else self.say(f"counted.{row.counted}", bytes=row.bytes or 0)
        kind = "" if row.shape is None else f"{shape(row.shape)} {row.dtype}"
        return SavedLine(name, kind, bytes, state, row.state)

    def _state(self, row: Saved) -> str:
        if row.state == "modified" and row.versions is None:
            return self.say("state.modified.unknown")
        if row.attribute:
            return self.say("state.attribute")
        before, now = row.versions or (0, 0)
        return self.say(f"state.{row.state}", saved=before, now=now, hook=row.packed_by)

    # -- the whole graph ----------------------------------------------------------------------------------------

    def caption(self) -> list[str]:
        """Return the title and the sentences of the caption."""
        title, *sentences = self.opening or self._opening()
        notes = [self.say(note.id, **note.parameters) for note in self.graph.notes if note.id not in _TROUBLES]
        return [title, *self.troubles(), *sentences, *notes]

    def troubles(self) -> list[str]:
        """Return the sentences of the caption on what is wrong in the graph."""
        return [f"✗ {self.say(note.id, **note.parameters)}" for note in self.graph.notes if note.id in _TROUBLES]

    def unreached(self) -> list[str]:
        """Return lines on the parts of models that no gradient reaches."""
        parts = self.graph.unreached
        lines = [self.say("unreached.part", name=each.name, count=each.parameters) for each in parts[:_UNREACHED]]
        return lines + ([self.say("unreached.more", count=len(parts) - _UNREACHED)] if parts[_UNREACHED:] else [])

    def _opening(self) -> list[str]:
        graph = self.graph
        if not graph.nodes:
            return [self.say("title.none")]
        names = ", ".join(self.name(output) for output in graph.outputs if self.tensors[output].name)
        if names and any(id not in self.tensors for id, _ in graph.alone):  # some outputs are in folded boxes
            names += ", …"
        plain, full = ("title.plain.of", "title.of") if names else ("title.plain", "title")
        whose = self.say(full if self.with_saved else plain, names=names, nodes=graph.size)
        factors = [self.say("factors")] if any(edge.factor for edge in graph.edges) else []
        return [whose, self.say("arrows"), *factors, *(self._total() if self.with_saved else ())]

    def _total(self) -> list[str]:
        rows = self.graph.saved
        if not rows or all(row.state == "freed" for row in rows):
            return []
        total = self.graph.saved_bytes
        said = [self.say("total" if total else "total.nothing", bytes=total)]
        if total and self.graph.alone:
            drawn = [(id, size) for id, size in self.graph.alone if id in self.tensors][:_PARTS]
            parts = [f"{self.name(id)} {self.say('counted.here', bytes=size)}" for id, size in drawn]
            end = ", …" if len(drawn) < len(self.graph.alone) else "."
            said.append(self.say("total.alone", parts=", ".join(parts) + end))
        return said + ([self.say("total.packed")] if any(row.state == "packed" for row in rows) else [])


def text(tell: Telling) -> str:
    """Return the text version of a picture.

    Each node is listed with its saved tensors and the nodes that get its gradients. Leaves and constants follow.
    """
    return "\n".join(_lines(tell))


def _lines(tell: Telling) -> Iterator[str]:
    graph = tell.graph
    caption, *more = tell.caption()
    yield caption
    yield from (f"  {line}" for line in more)
    ways: dict[int, list[Edge]] = {}
    for edge in graph.edges:
        ways.setdefault(edge.source, []).append(edge)
    made: dict[int, list[Tensor]] = {}
    for tensor in tell.shown:
        if tensor.node is not None:
            made.setdefault(tensor.node, []).append(tensor)
    lanes = tell.lanes()
    for lane in lanes:
        inside = [node for node in graph.nodes if node.lane == lane]
        if len(lanes) > 1 and any(node.leaf is None for node in inside):
            says = tell.say("lane.shared") if lane is None else tell.say("lane", name=tell.name(lane))
            yield f"--- {says} ---"
        for node in inside:
            for tensor in made.get(node.id, []):
                yield from _tensor(tell, tensor)
            if node.leaf is None or node.count > 1:
                yield from _node(tell, node, ways.get(node.id, []))
    for tensor in tell.shown:
        if tensor.node is None or tensor.node not in tell.nodes:
            yield from _tensor(tell, tensor)


def _tensor(tell: Telling, tensor: Tensor) -> Iterator[str]:
    number = tell.say("output_number", number=tensor.output) if tensor.node in tell.graph.multiple else ""
    parts = [tell.kind(tensor), number, *tell.facts(tensor), *tell.gradient(tensor)]
    yield f"{_SIGNS[tensor.kind]} {tell.name(tensor.id)}: {'; '.join(part for part in parts if part)}"


def _node(tell: Telling, node: Node, ways: list[Edge]) -> Iterator[str]:
    goals = ", ".join(_goal(tell, edge) for edge in ways)
    yield f"[{node.id}] {' · '.join(tell.title(node))}{f' → {goals}' if goals else ''}"
    if node.count > 1:
        yield f"      {', '.join(tell.inside(node))}"
    if node.leaf is None and (arriving := tell.graph.adds_up_at(node)) > 1:
        yield f"      {tell.say('adds_up', count=arriving)}"
    for line in tell.saved(node):
        parts = (line.what, line.kind, line.bytes, line.state)
        yield f"      {tell.say('saved')} {' · '.join(part for part in parts if part)}"


def _goal(tell: Telling, edge: Edge) -> str:
    times = f"{tell.number(edge.count)} × " if edge.count > 1 else ""
    if edge.target is None:
        stop = tell.say("stop")
        return times + (stop if edge.tensor is None else f"{tell.name(edge.tensor)} ({stop})")
    target, factor = tell.nodes[edge.target], f" (× {edge.factor})" if edge.factor else ""
    if target.leaf is not None and target.count == 1:
        return times + tell.name(target.leaf) + factor
    number = f", {tell.say('output_number', number=edge.output)}" if edge.target in tell.graph.multiple else ""
    return f"{times}[{edge.target}]{number}{factor}"


_SIGNS = {"leaf": "◆", "constant": "◇", "number": "◇", "intermediate": "○", "output": "●"}
