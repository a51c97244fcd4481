"""A graph as text, for terminals and screen readers: the same facts as in the picture."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Edge, Node, Tensor
from .telling import Telling


def text(tell: Telling) -> str:
    """Caption, then every node with what it saved and where its gradients go, then the leaves."""
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
    target = tell.nodes[edge.target]
    if target.leaf is not None and target.count == 1:
        return times + tell.name(target.leaf)
    number = f", {tell.say('output_number', number=edge.output)}" if edge.target in tell.graph.multiple else ""
    return f"{times}[{edge.target}]{number}"


_SIGNS = {"leaf": "◆", "constant": "◇", "number": "◇", "intermediate": "○", "output": "●"}
