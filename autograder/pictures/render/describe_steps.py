"""Descriptions of a backward pass in words, for pictures and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..graph.model import BackwardRun, Frame, Gradient, Graph, Landed
from ..text_form import shape
from .describe import Telling


def titles(graph: Graph) -> dict[int, str]:
    """Return a dict from node id to the node's title.

    The title is the node's name, with the node's number if several nodes without a named result have that name.
    """
    named = {tensor.node for tensor in graph.tensors if tensor.name}
    often = Counter(node.name for node in graph.nodes if node.id not in named and node.leaf is None)
    return {
        node.id: f"{node.name} [{node.id}]" if often[node.name] > 1 and node.id not in named else node.name
        for node in graph.nodes
    }


class StepTelling:
    """Descriptions of a recorded backward pass, as short lines in `language`.

    The first `shown` steps are described in full, the later steps only by the `.grad` that they leave.
    """

    def __init__(self, graph: Graph, run: BackwardRun, shown: int, language: str) -> None:
        self.tell = Telling(graph, language)
        self.graph, self.run, self.language = graph, run, language
        self.frames = run.frames[:shown]
        self.titles = titles(graph)
        self.edges = {(edge.source, edge.slot): edge for edge in graph.edges}

    def text(self) -> str:
        lines = [self.title(), *(f"  {note}" for note in self.notes())]
        for number, frame in enumerate(self.frames):
            lines += ["", self.heading(number), *(f"  {line}" for line in self.lines(frame))]
        if rest := self.rest():
            lines += ["", *rest]
        return "\n".join(lines)

    # -- the whole pass -----------------------------------------------------------------------------------------

    def title(self) -> str:
        if not self.frames:
            return self.tell.say("steps.none")
        name = self.tell.name(self.graph.outputs[0])
        return self.tell.say("steps.title", name=name, steps=len(self.run.frames))

    def stopped(self) -> list[str]:
        """Return a sentence that says where and why the pass failed, in a list.

        The list is empty if the pass did not fail.
        """
        if self.run.error is None:
            return []
        if self.run.stopped_at is None:
            return [self.tell.say("steps.stopped.start", error=self.run.error)]
        return [self.tell.say("steps.stopped", node=self._node(self.run.stopped_at), error=self.run.error)]

    def notes(self) -> list[str]:
        say, run = self.tell.say, self.run
        lines = self.stopped()
        lines += [say(note.id, **note.parameters) for note in self.graph.notes]
        if len(run.frames) > len(self.frames):
            lines.append(say("steps.first", steps=len(run.frames), shown=len(self.frames)))
        if self.frames:
            lines.append(say("steps.kept"))
            if names := dict.fromkeys(name for frame in run.frames for name in frame.hooks):
                lines.append(say("steps.hooks", names=", ".join(names)))
            if any(_is_norm(sent.after) for frame in self.frames for sent in frame.sent if sent.before):
                lines.append(say("steps.norms"))
        return lines

    def rest(self) -> list[str]:
        """Return lines on the `.grad` that the steps after the first `shown` ones leave."""
        landed = [(frame.node, frame.landed) for frame in self.run.frames[len(self.frames) :] if frame.landed]
        if not landed:
            return []
        lines = [f"  {line}" for node, landing in landed[:20] for line in self._landed(node, landing)]
        more = [f"  {self.tell.say('steps.left.more', count=len(landed) - 20)}"] if len(landed) > 20 else []
        return [self.tell.say("steps.left"), *lines, *more]

    # -- one step -----------------------------------------------------------------------------------------------

    def heading(self, number: int) -> str:
        frame = self.frames[number]
        return f"{number + 1}. {self._node(frame.node)}"

    def lines(self, frame: Frame) -> list[str]:
        return [*self._came_in(frame), *self._went_out(frame), *self._freed(frame)]

    def _came_in(self, frame: Frame) -> Iterator[str]:
        say = self.tell.say
        for change in frame.changes:
            yield say("steps.changed", before=_said(change.before), after=_said(change.after))
        yield from (say("steps.hook", name=name) for name in frame.hooks)
        several = len(frame.arrived) > 1
        for output, gradient in enumerate(frame.arrived):
            name = self._made(frame.node, output)
            if gradient is None:
                yield say("steps.in.none", output=output)
            elif name or several:
                of = name or say("output_number", number=output)
                yield say("steps.in.of", name=of, said=_said(gradient))
            else:
                yield say("steps.in", said=_said(gradient))
        for output, kept in frame.retained:
            yield say("steps.retained", name=self._target(frame.node, output), said=_said(kept))

    def _went_out(self, frame: Frame) -> Iterator[str]:
        say = self.tell.say
        sent = {one.slot: one for one in frame.sent}
        for (source, slot), edge in self.edges.items():
            if source != frame.node:
                continue
            if slot not in sent:
                if edge.tensor is not None and self.tell.tensors[edge.tensor].kind != "number":
                    yield say("steps.out.stop", name=self.tell.name(edge.tensor))
                continue
            one = sent[slot]
            name = self._target(one.target, one.output)
            if one.before is not None:
                parts = {"before": one.before, "increment": one.increment, "after": one.after}
                said = {key: _said(gradient) for key, gradient in parts.items()}
                yield say("steps.out.sum", name=name, number=one.number, count=one.count, **said)
            else:
                id = "steps.out.first" if one.count > 1 else "steps.out"
                yield say(id, name=name, said=_said(one.increment), count=one.count)
        if frame.landed is not None:
            yield from self._landed(frame.node, frame.landed)

    def _landed(self, node: int, landed: Landed) -> Iterator[str]:
        name = self._target(node, 0)
        before, increment, after = _said(landed.before), _said(landed.increment), _said(landed.after)
        yield self.tell.say("steps.landed", name=name, before=before, increment=increment, after=after)
        if landed.changed:
            yield self.tell.say("steps.landed.changed", name=name, kept=_said(landed.kept))

    def _freed(self, frame: Frame) -> Iterator[str]:
        node = self.tell.nodes[frame.node]
        rows = [
            f"{line.what} {line.kind}".rstrip()
            for row, line in zip(node.saved, self.tell.saved(node))
            if row.state in ("held", "packed") and not row.attribute and row.counted != "number"
        ]
        if rows:
            yield self.tell.say("steps.frees", rows=", ".join(rows))
        if frame.freed:
            yield self.tell.say("steps.frees.bytes", bytes=frame.freed)

    # -- names --------------------------------------------------------------------------------------------------

    def _node(self, id: int) -> str:
        """Return the title of a node with the name of a tensor.

        The tensor is the one that the node made, or the leaf to whose `.grad` it adds.
        """
        node = self.tell.nodes[id]
        made = (
            self._target(id, 0)
            if node.leaf is not None
            else ", ".join(name for output in range(len(node.outputs)) if (name := self._made(id, output)))
        )
        return f"{self.titles[id]} ({made})" if made else self.titles[id]

    def _made(self, node: int, output: int) -> str:
        """Return the caller's name of output number `output` of a node, or ""."""
        return next((t.name for t in self.graph.tensors if t.node == node and t.output == output), "")

    def _target(self, node: int, output: int) -> str:
        """Return a name for the place to which a gradient goes.

        It is the name of the tensor, or else the title of the node that made the tensor.
        """
        target = self.tell.nodes[node]
        if target.leaf is not None:
            return self.tell.name(target.leaf)
        number = f", {self.tell.say('output_number', number=output)}" if len(target.outputs) > 1 else ""
        return self._made(node, output) or f"{self.titles[node]}{number}"


def _said(gradient: Gradient | None) -> str:
    """Return a gradient as text: its numbers, or its shape and norm. Returns "–" for None."""
    if gradient is None:
        return "–"
    shaped = _is_norm(gradient) or gradient.said == "?"  # numbers that cannot be read, as on meta
    return f"{shape(gradient.shape)} {gradient.said}" if shaped else gradient.said


def _is_norm(gradient: Gradient) -> bool:
    return gradient.said.startswith("‖")
