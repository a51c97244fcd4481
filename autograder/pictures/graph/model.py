"""The graph behind one or several tensors, as plain data: `Graph` and what it consists of.

Nothing here refers to a tensor or a node of torch, so that a record neither keeps memory alive nor changes later.
`reading.read_graph` makes a Graph; renderers and tests read it. Ids of nodes and tensors are positions in the tuples
of a graph that was read, and stay what they were when the graph is folded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...language import Note

Kind = Literal["leaf", "constant", "number", "intermediate", "output"]
State = Literal["held", "freed", "modified", "packed", "unreadable"]
Counted = Literal["here", "elsewhere", "input", "number", "unknown"]


@dataclass(frozen=True)
class Tensor:
    """A tensor that a variable of the caller names, that is drawn, or that is a leaf of the graph.

    An output that is a leaf or a constant itself keeps that kind. A number is what Python's `2` in `2 * x` becomes.
    `value` is None with more than three numbers;
    `grad` is at most three numbers, else the norm, and None where there is none. `grad_kept`: would backward leave a
    `.grad` here? `view_of` is the base of a view, None when it has no name. `hooks` are the functions given to
    `register_hook`, `post_hooks` those that run after `.grad` was added to. `node` made it, as its output `output`.
    """

    id: int
    names: tuple[str, ...]
    kind: Kind
    shape: tuple[int, ...]
    dtype: str
    device: str
    requires_grad: bool
    retains_grad: bool
    value: str | None
    grad: str | None
    grad_kept: bool
    grad_has_graph: bool
    version: int | None
    view: bool
    view_of: int | None
    hooks: tuple[str, ...]
    post_hooks: tuple[str, ...]
    node: int | None
    output: int

    @property
    def name(self) -> str:
        """All names that the caller has for it, at most three; empty without one, but a number is its own name."""
        if self.kind == "number":
            return self.value or ""
        return " = ".join(self.names[:3]) + (" = …" if len(self.names) > 3 else "")


@dataclass(frozen=True)
class Saved:
    """A tensor that a node keeps for its backward.

    `bytes` is the size of its whole storage, None when it cannot be known; `counted` says where the total counts
    them: here, at another row with the same storage, or nowhere, because it is a number, or because the storage
    belongs to an input (a leaf, or a constant that a variable names) that is alive anyway. `versions` are those when
    saved and now, of a modified one. `packed_by` names the unpack hook. `attribute`: put on `ctx` by hand, without
    `save_for_backward`.
    """

    name: str
    state: State
    tensor: int | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    bytes: int | None = None
    counted: Counted = "unknown"
    versions: tuple[int, int] | None = None
    packed_by: str | None = None
    attribute: bool = False


@dataclass(frozen=True)
class Output:
    """What a node made: the gradient that arrives for it has the same shape and dtype."""

    shape: tuple[int, ...]
    dtype: str
    device: str


@dataclass(frozen=True)
class Node:
    """One step of backward. `leaf` is the tensor into whose `.grad` an AccumulateGrad node adds.

    `lane` is the output that alone leads to it, of several that were drawn: with `draw(loss, grad)` after
    `create_graph=True` that is `grad` for what only the gradient needs. A folded node stands for `count` nodes, whose
    names it lists in `inside`; `repeats` says how often they repeat the ones drawn before it, and `label` which part of
    a model they are.
    """

    id: int
    name: str
    outputs: tuple[Output, ...]
    saved: tuple[Saved, ...]
    leaf: int | None = None
    custom: bool = False
    lane: int | None = None
    count: int = 1
    inside: tuple[tuple[str, int], ...] = ()
    repeats: int = 0
    label: str = ""


@dataclass(frozen=True)
class Edge:
    """The way of one gradient: from node `source`, as the gradient of its input `slot`, to `target`'s output `output`.

    `target` is None where the gradient stops: the input is a constant, or not a tensor. `tensor` is the record of the
    tensor in between, where there is one. `count` edges run side by side, when nodes are folded.
    """

    source: int
    slot: int
    target: int | None
    output: int = 0
    tensor: int | None = None
    shape: tuple[int, ...] | None = None
    count: int = 1


@dataclass(frozen=True)
class Graph:
    """The whole graph, outputs first, every node before those that its gradients go to.

    `notes` are the sentences to say about it (why there is none, that it was freed, how it was folded); `size` counts
    its nodes before any folding. `alone` are pairs of an output and the bytes that its graph would keep by itself, when
    several outputs have graphs.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    tensors: tuple[Tensor, ...]
    outputs: tuple[int, ...]
    notes: tuple[Note, ...] = ()
    size: int = 0
    alone: tuple[tuple[int, int], ...] = ()

    @property
    def saved(self) -> tuple[Saved, ...]:
        """What all nodes keep for backward, node by node."""
        return tuple(saved for node in self.nodes for saved in node.saved)

    @property
    def saved_bytes(self) -> int:
        """Bytes that the graph itself keeps alive for backward: each storage once, those of inputs not at all."""
        return sum(saved.bytes or 0 for saved in self.saved if saved.counted == "here")

    @property
    def multiple(self) -> frozenset[int]:
        """Nodes with several outputs: their edges say which output they belong to."""
        return frozenset(node.id for node in self.nodes if len(node.outputs) > 1)

    def arriving_at(self, tensor: Tensor) -> int:
        """How many gradients add up to that of `tensor`."""
        return sum(edge.count for edge in self.edges if edge.tensor == tensor.id and edge.target is not None)

    def adds_up_at(self, node: Node) -> int:
        """The most gradients that add up at an output of `node` for which there is no record of a tensor.

        0 for a folded node: what arrives there may go on to different nodes inside.
        """
        counts: dict[int, int] = {}
        for edge in self.edges:
            if edge.target == node.id and edge.tensor is None and node.count == 1:
                counts[edge.output] = counts.get(edge.output, 0) + edge.count
        return max(counts.values(), default=0)


@dataclass(frozen=True)
class Gradient:
    """A gradient as it was at one moment: `said` is at most three numbers, else the norm."""

    shape: tuple[int, ...]
    said: str


@dataclass(frozen=True)
class Sent:
    """A gradient on its way to node `target`, for its output `output`: what waited there, and what waits there now.

    It is that of input `slot` of the node that ran. `before` is None for the first of the `count` gradients that can
    arrive at this place; `number` counts them from 1.
    """

    slot: int
    target: int
    output: int
    before: Gradient | None
    increment: Gradient
    after: Gradient
    number: int
    count: int


@dataclass(frozen=True)
class Landed:
    """What happened to a leaf's `.grad`. `kept` is what it held after the learner's hooks, where these changed it."""

    before: Gradient | None
    increment: Gradient
    after: Gradient
    changed: bool = False
    kept: Gradient | None = None


@dataclass(frozen=True)
class Change:
    """What a hook made of a gradient that had arrived for output `output` of the node."""

    output: int
    before: Gradient
    after: Gradient


@dataclass(frozen=True)
class Frame:
    """One step of the engine: `node` ran with the gradients `arrived`, one for each of its outputs.

    `hooks` are the learner's own that ran with it, and `changes` what they made of the gradients that arrived. `freed`
    is the number of bytes that a plain backward() lets go of here: storages that no later node needs, those of inputs
    not counted. `retained` is what retain_grad() has left in `.grad`: output and gradient.
    """

    node: int
    arrived: tuple[Gradient | None, ...]
    sent: tuple[Sent, ...] = ()
    landed: Landed | None = None
    hooks: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    freed: int = 0
    retained: tuple[tuple[int, Gradient], ...] = ()


@dataclass(frozen=True)
class Run:
    """A backward pass: its frames, and the error that ended it (with the node that was running), if one did."""

    frames: tuple[Frame, ...]
    error: str | None = None
    stopped_at: int | None = None
