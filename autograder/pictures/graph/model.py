"""Plain-data model of graphs and of backward passes.

No object here refers to a tensor or a node of torch. A record therefore keeps no memory alive and never changes.
`read.read_graph` makes a Graph, `record.run_backward` makes a Run; renderers and tests read them. Ids of nodes and
tensors are positions in the tuples of the graph as read, and folding keeps them.
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
    """A tensor that is named by the caller, drawn, or a leaf.

    An output that is a leaf or a constant itself keeps that kind. A "number" is a Python number in the graph, such as
    `2` in `2 * x`. `value` is None with more than three numbers. `grad` is at most three numbers, else the norm; None
    if there is no gradient. `grad_kept`: backward would leave a `.grad` here. `view_of` is the base of a view, or None
    if it has no name. `hooks` are the functions given to `register_hook`, `post_hooks` those that run after
    accumulation into `.grad`. `node` made the tensor, as its output `output`.
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
        """The caller's names for it, at most three; empty if there is none. A number is its own name."""
        if self.kind == "number":
            return self.value or ""
        return " = ".join(self.names[:3]) + (" = …" if len(self.names) > 3 else "")


@dataclass(frozen=True)
class Saved:
    """A tensor that a node keeps for its backward.

    `bytes` is the size of its whole storage, None if unknown. `counted` is the place where the total counts them:
    "here", or "elsewhere" at another row with the same storage. A "number" does not count. An "input" (a leaf, or a
    constant that a variable names) is alive anyway and does not count, either. `versions` are those of a modified
    tensor when saved and now. `packed_by` names the unpack hook. `attribute`: the tensor was put on `ctx` by hand,
    without `save_for_backward`.
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
    """Shape, dtype and device of a node's output, and of its gradient."""

    shape: tuple[int, ...]
    dtype: str
    device: str


@dataclass(frozen=True)
class Node:
    """One step of backward.

    `leaf` is the tensor with the `.grad` that an AccumulateGrad node adds to. `lane` is set if several outputs were
    drawn and only one leads to the node: it is that output. With `draw(loss, grad)` after `create_graph=True`, `grad`
    is the lane of the nodes that only the gradient needs. A folded node replaces `count` nodes and lists their names in
    `inside`. `repeats` is the number of repetitions of the nodes drawn before it, and `label` names the part of the
    model.
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
    """The path of one gradient between two nodes.

    It leads from node `source`, as the gradient of its input `slot`, to output `output` of node `target`. `target` is
    None if the gradient stops: the input is a constant, or not a tensor. `tensor` is the record of the tensor in
    between, if there is one. `count` is the number of parallel edges after folding.
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
    """The whole graph, outputs first, users before their inputs.

    `notes` are the sentences of its caption: why there is no graph, that it was freed, how it was folded. `size` counts
    its nodes before any folding. `alone` is filled if several outputs have graphs. It holds pairs of an output and the
    bytes that its graph would keep by itself.
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
        """All tensors saved for backward, node by node."""
        return tuple(saved for node in self.nodes for saved in node.saved)

    @property
    def saved_bytes(self) -> int:
        """Bytes that the graph itself keeps alive for backward: each storage once, without those of inputs."""
        return sum(saved.bytes or 0 for saved in self.saved if saved.counted == "here")

    @property
    def multiple(self) -> frozenset[int]:
        """Nodes with several outputs. Their edges name the output they belong to."""
        return frozenset(node.id for node in self.nodes if len(node.outputs) > 1)

    def arriving_at(self, tensor: Tensor) -> int:
        """Return the number of gradients that are summed for `tensor`."""
        return sum(edge.count for edge in self.edges if edge.tensor == tensor.id and edge.target is not None)

    def adds_up_at(self, node: Node) -> int:
        """Return the largest number of gradients summed at an output of `node` that has no tensor record.

        It is 0 for a folded node: gradients may go on to different nodes inside.
        """
        counts: dict[int, int] = {}
        for edge in self.edges:
            if edge.target == node.id and edge.tensor is None and node.count == 1:
                counts[edge.output] = counts.get(edge.output, 0) + edge.count
        return max(counts.values(), default=0)


@dataclass(frozen=True)
class Gradient:
    """A snapshot of a gradient.

    `said` is at most three numbers, else the norm.
    """

    shape: tuple[int, ...]
    said: str


@dataclass(frozen=True)
class Sent:
    """A gradient sent to output `output` of node `target`.

    It is the gradient of input `slot` of the node that ran. `before` and `after` are the sums waiting at the target.
    `before` is None for the first of the `count` gradients that can arrive there; `number` counts them from 1.
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
    """An accumulation into a leaf's `.grad`.

    `kept` is its content after the learner's hooks, if they changed it.
    """

    before: Gradient | None
    increment: Gradient
    after: Gradient
    changed: bool = False
    kept: Gradient | None = None


@dataclass(frozen=True)
class Change:
    """A hook's change of a gradient that had arrived for output `output`."""

    output: int
    before: Gradient
    after: Gradient


@dataclass(frozen=True)
class Frame:
    """One step of the engine: `node` ran with the gradients `arrived`.

    `arrived` holds one gradient per output of the node. `hooks` are the learner's hooks that ran with it, and `changes`
    their changes of the gradients. `freed` is the number of bytes that a plain backward() frees here: storages that no
    later node needs, without those of inputs. `retained` holds pairs of an output and the gradient that retain_grad()
    left in `.grad`.
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
    """A backward pass: its frames, and the error that ended it.

    `error` is None if it ran to the end. `stopped_at` is the node that was running at the error.
    """

    frames: tuple[Frame, ...]
    error: str | None = None
    stopped_at: int | None = None
