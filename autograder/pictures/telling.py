"""A graph in words: what the picture and its text twin say of tensors, nodes and the whole."""

from __future__ import annotations

from .model import Graph, Node, Saved, Tensor
from .words import word


class Telling:
    """The facts of `graph` as short lines in `language`; both renderers lay out these."""

    def __init__(self, graph: Graph, language: str) -> None:
        self.graph = graph
        self.language = language
        self.tensors = {tensor.id: tensor for tensor in graph.tensors}
        self.nodes = {node.id: node for node in graph.nodes}
        joined = {*graph.outputs, *(edge.tensor for edge in graph.edges), *(t.view_of for t in graph.tensors)}
        joined |= {node.leaf for node in graph.nodes}
        # A constant that is only saved, such as a running mean, has its row at the node and needs no box.
        self.shown = [tensor for tensor in graph.tensors if tensor.id in joined or tensor.node is not None]

    def say(self, id: str, **parameters: object) -> str:
        return word(id, self.language, **parameters)

    # -- tensors ------------------------------------------------------------------------------------------------

    def name(self, tensor: int) -> str:
        return self.tensors[tensor].name or f"({self.say('unnamed')})"

    def kind(self, tensor: Tensor) -> str:
        asks = "requires_grad" if tensor.kind == "leaf" else ""
        return " · ".join(part for part in (self.say(f"kind.{tensor.kind}"), asks) if part)

    def facts(self, tensor: Tensor) -> list[str]:
        """Shape, value, version, view, hooks; everything but name, kind and gradient. A number is only a number."""
        if tensor.kind == "number":
            return []
        device = "" if tensor.device == "cpu" else f" {tensor.device}"
        lines = [f"{shape(tensor.shape)} {tensor.dtype}{device}"]
        if tensor.value is not None:
            lines.append(f"= {tensor.value}")
        if tensor.version:  # of a leaf: its initialisation, or the steps of an optimizer
            changed = "version" if tensor.node is None else "version.changed"
            lines.append(self.say(changed, version=tensor.version))
        if tensor.view_of is not None and tensor.view_of in self.tensors:
            lines.append(self.say("view_of", base=self.name(tensor.view_of)))
        elif tensor.view and tensor.node is not None:  # of a leaf it would only tell how it was written down
            lines.append(self.say("view"))
        if tensor.retains_grad:
            lines.append(self.say("retains_grad"))
        if tensor.hooks:
            lines.append(self.say("hook", names=", ".join(tensor.hooks)))
        if tensor.post_hooks:
            lines.append(self.say("post_hook", names=", ".join(tensor.post_hooks)))
        return lines

    def gradient(self, tensor: Tensor) -> list[str]:
        """What `.grad` holds, and how many gradients are added up for it; nothing for a constant."""
        if tensor.grad is None and not tensor.requires_grad:
            return []
        lines = []
        if tensor.grad is not None:
            lines.append(f".grad = {tensor.grad}")
        elif tensor.grad_kept:
            lines.append(".grad –")
        else:
            lines.append(f".grad {self.say('grad.not_kept')}")
        if tensor.grad_has_graph:
            lines.append(self.say("grad.has_graph"))
        arriving = self.graph.arriving_at(tensor)
        if arriving > 1:
            lines.append(self.say("adds_up", count=arriving))
        return lines

    # -- nodes --------------------------------------------------------------------------------------------------

    def title(self, node: Node) -> list[str]:
        if node.count == 1:
            return [node.name] + ([self.say("custom")] if node.custom else [])
        lines = [self.say("folded", count=node.count)]
        if node.repeats:
            lines.insert(0, self.say("folded.repeats", repeats=node.repeats))
        else:
            lines.insert(0, node.label or self.say("folded.rest"))
        return lines

    def inside(self, node: Node) -> list[str]:
        """The nodes that a folded one stands for, the most frequent first."""
        most = [f"{count} × {name}" for name, count in node.inside[:6]]
        return most + (["…"] if len(node.inside) > 6 else [])

    def saved(self, node: Node) -> list[tuple[str, str, str, str]]:
        """What, shape, bytes and state for each saved tensor; a folded node has one line for each state."""
        if node.count == 1:
            return [self._row(row) for row in node.saved]
        rows = []
        for state in dict.fromkeys(row.state for row in node.saved):
            same = [row for row in node.saved if row.state == state]
            size = sum(row.bytes or 0 for row in same if row.counted == "here")
            known = any(row.counted != "unknown" for row in same)
            bytes = self.say("counted.here", bytes=f"{size:,}") if known else ""
            said = self.say("state.modified.unknown") if state == "modified" else self._state(same[0])
            rows.append((f"{len(same)} × {self.say('saved')}", "", bytes, said))
        return rows

    def _row(self, row: Saved) -> tuple[str, str, str, str]:
        name = row.name or self.say("saved.all")
        if row.counted == "number" and row.tensor in self.tensors:
            return f"{name} = {self.name(row.tensor)}", "", self.say("counted.number"), self._state(row)
        if row.tensor is not None and row.tensor in self.tensors and self.tensors[row.tensor].name:
            name += f" = {self.name(row.tensor)}"
        bytes = "" if row.state == "freed" else self.say(f"counted.{row.counted}", bytes=f"{row.bytes or 0:,}")
        return name, "" if row.shape is None else f"{shape(row.shape)} {row.dtype}", bytes, self._state(row)

    def _state(self, row: Saved) -> str:
        if row.state == "modified" and row.versions is None:
            return self.say("state.modified.unknown")
        if row.attribute:
            return self.say("state.attribute")
        before, now = row.versions or (0, 0)
        return self.say(f"state.{row.state}", saved=before, now=now, hook=row.packed_by)

    # -- the whole ----------------------------------------------------------------------------------------------

    def caption(self) -> list[str]:
        """The title, then sentences."""
        graph = self.graph
        names = ", ".join(name for output in graph.outputs if (name := self.tensors[output].name))
        if not graph.nodes:
            title = [self.say("title.none")]
        else:
            whose = self.say("title.of" if names else "title", names=names, nodes=f"{graph.size:,}")
            title = [whose, self.say("arrows"), *self._total()]
        return title + [self.say(note.id, **note.parameters) for note in graph.notes]

    def _total(self) -> list[str]:
        rows = self.graph.saved
        if not rows or all(row.state == "freed" for row in rows):
            return []
        total = self.graph.saved_bytes
        said = self.say("total" if total else "total.nothing", bytes=f"{total:,}")
        return [said] + ([self.say("total.packed")] if any(row.state == "packed" for row in rows) else [])


def shape(sizes: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
