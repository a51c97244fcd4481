"""Data classes for graphs and for backward passes.

No object of these classes refers to a tensor or a node of torch. A graph therefore keeps no memory alive and never
changes. `read.read_graph` makes a `Graph`, `record.run_backward` makes a `Run`. The id of a node or tensor is its
position in the tuples of the graph before folding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ...language import Note
from ..text_form import shape

Kind = Literal["leaf", "constant", "number", "intermediate", "output"]
State = Literal["held", "freed", "modified", "packed", "unreadable"]
Counted = Literal["here", "elsewhere", "input", "number", "unknown"]


@dataclass(frozen=True)
class Tensor:
    """A tensor of a graph, described by plain data.

    Described are leaves, outputs, tensors with a name, and tensors saved by nodes. `kind` is "output" for a tensor
    passed to `draw`, unless it is a leaf or a constant. A "number" is a Python number in the graph, such as `2` in `2 *
    x`. `value` is the text of up to three numbers, None for larger tensors. `grad` is the text of up to three numbers
    or the norm, None without a gradient. `grad_kept` is True if backward would store a gradient in `.grad`. `view_of`
    is the id of the tensor of which this one is a view, or None. `hooks` are the names of functions given to
    `register_hook`. `post_hooks` are the names of the functions that run after accumulation into `.grad`. `node` is the
    id of the node that made the tensor, and `output` the number of that node's output.
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
        """The caller's names for the tensor, at most three, or "" if there are none.

        The name of a Python number is the number.
        """
        if self.kind == "number":
            return self.value or ""
        return " = ".join(self.names[:3]) + (" = …" if len(self.names) > 3 else "")


@dataclass(frozen=True)
class Saved:
    """A tensor that a node keeps for its backward.

    `bytes` is the size of its whole storage, None if unknown. `counted` says how the bytes enter the graph's total.
    "here" means that they are added; "elsewhere" that another `Saved` with the same storage adds them. A Python
    "number" adds nothing. An "input" (a leaf, or a constant held by a variable) adds nothing because it is alive
    anyway. `versions` are the version counters of an edited tensor, when saved and now. `packed_by` is the name of the
    unpack hook. `attribute` is True if the forward of a custom Function put the tensor on `ctx` without
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
    """Shape, dtype and device of one output of a node."""

    shape: tuple[int, ...]
    dtype: str
    device: str


@dataclass(frozen=True)
class Node:
    """A node of a graph, which is one step of backward.

    For an AccumulateGrad node, `leaf` is the id of the tensor whose `.grad` the node adds to. If several outputs were
    drawn, `lane` is the id of the only output whose graph contains the node. `lane` is None if the graphs of several
    outputs contain the node.
    To keep a picture small, several nodes are folded into one. It stands for `count` nodes. `inside` lists them as
    pairs: a name, and the number of nodes with this name. If it stands for a module, `label` is the module's name. If
    it stands for repetitions of the part that is drawn just before, `repeats` is their number.
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

    @property
    def is_refused(self) -> bool:
        """True if backward will stop here, because a saved tensor was changed in place."""
        return any(saved.state == "modified" for saved in self.saved)


@dataclass(frozen=True)
class Edge:
    """The path of one gradient between two nodes.

    The gradient goes from node `source`, for its input number `slot`, to output number `output` of node `target`.
    `target` is None if the input is a constant or no tensor: the gradient is not used. `tensor` is the id of the tensor
    between the nodes, if known. `count` is the number of parallel edges that folding merged. `factor` is the number by
    which the node multiplies the gradient on this way, as text, if both are single numbers.
    """

    source: int
    slot: int
    target: int | None
    output: int = 0
    tensor: int | None = None
    shape: tuple[int, ...] | None = None
    count: int = 1
    factor: str | None = None


@dataclass(frozen=True)
class Unreached:
    """A part of a model that no gradient reaches.

    `parameters` is the number of its parameters that require grad.
    """

    name: str
    parameters: int


@dataclass(frozen=True)
class Graph:
    """A graph as data: nodes, edges, tensors, and the drawn outputs.

    A node comes before the nodes that made its inputs. `notes` are the sentences of the caption, for example why there
    is no graph. `size` is the number of nodes before folding. If several outputs were drawn, `alone` has a pair for
    each. It holds the id of the output, and the bytes that the output's graph alone would keep. `parameters` are in the
    order of registration. A parameter is a pair: the id of a tensor, and the names of the modules around it, the
    outermost first. `unreached` are the parts of the caller's models that are not in the graph. `end` is the id of
    the constant behind which the way to them may have gone on.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    tensors: tuple[Tensor, ...]
    outputs: tuple[int, ...]
    notes: tuple[Note, ...] = ()
    size: int = 0
    alone: tuple[tuple[int, int], ...] = ()
    parameters: tuple[tuple[int, tuple[str, ...]], ...] = ()
    unreached: tuple[Unreached, ...] = ()
    end: int | None = None

    @property
    def saved(self) -> tuple[Saved, ...]:
        """All tensors saved for backward, in the order of the nodes."""
        return tuple(saved for node in self.nodes for saved in node.saved)

    @property
    def saved_bytes(self) -> int:
        """Bytes that only the graph keeps alive for backward.

        Each storage counts once, and inputs do not count.
        """
        return sum(saved.bytes or 0 for saved in self.saved if saved.counted == "here")

    @property
    def multiple(self) -> frozenset[int]:
        """Ids of the nodes with several outputs. Their edges are labelled with the number of the output."""
        return frozenset(node.id for node in self.nodes if len(node.outputs) > 1)

    @cached_property
    def passing(self) -> dict[int, int]:
        """The nodes that only pass a gradient on to a leaf, such as the transposition of a weight.

        A dict from the id of such a node to the id of the node from which its gradient comes.
        """
        users: dict[int, list[int]] = {}
        ways: dict[int, list[int | None]] = {}
        for edge in self.edges:
            ways.setdefault(edge.source, []).append(edge.target)
            if edge.target is not None:
                users.setdefault(edge.target, []).append(edge.source)
        leaves = {node.id for node in self.nodes if node.leaf is not None}
        return {
            node.id: users[node.id][0]
            for node in self.nodes
            if not node.saved
            and len(users.get(node.id, ())) == 1
            and len(way := ways.get(node.id, [])) == 1
            and way[0] in leaves
        }

    def place_of(self, constant: int) -> str:
        """Return the shape of a constant, and the module and the node that use it."""
        user = next(edge.source for edge in self.edges if edge.tensor == constant)
        below = {edge.target: edge.tensor for edge in self.edges if edge.source == user}
        below |= {edge.target: edge.tensor for edge in self.edges if edge.source in below}
        names = [name for id in below.values() if id is not None for name in self.tensors[id].names if "." in name]
        module = names[0].rpartition(".")[0] if names else ""
        where = f"{module}, {self.nodes[user].name}" if module else self.nodes[user].name
        return f"{shape(self.tensors[constant].shape)} ({where})"

    def arriving_at(self, tensor: Tensor) -> int:
        """Return the number of gradients that are added up for `tensor`."""
        return sum(edge.count for edge in self.edges if edge.tensor == tensor.id and edge.target is not None)

    def adds_up_at(self, node: Node) -> int:
        """Return the largest number of gradients added up at one output of `node`.

        Only outputs without an entry in `tensors` count. Returns 0 for a folded node, because its gradients may go to
        different nodes inside.
        """
        counts: dict[int, int] = {}
        for edge in self.edges:
            if edge.target == node.id and edge.tensor is None and node.count == 1:
                counts[edge.output] = counts.get(edge.output, 0) + edge.count
        return max(counts.values(), default=0)


@dataclass(frozen=True)
class Gradient:
    """A snapshot of a gradient: its shape, and its values as text.

    `said` is up to three numbers, or else the norm.
    """

    shape: tuple[int, ...]
    said: str


@dataclass(frozen=True)
class Sent:
    """A gradient that a node sends to output `output` of node `target`.

    It is the gradient for input number `slot` of the sending node. `before` and `after` are the sums that wait at the
    target, without and with this gradient. This is gradient `number` (from 1) of `count` that can arrive there.
    `before` is None for the first gradient.
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
    """An accumulation into the `.grad` of a leaf.

    `before` and `after` are the content of `.grad`, `increment` is what was added. If the learner's hooks changed the
    result, `changed` is True and `kept` is the final content.
    """

    before: Gradient | None
    increment: Gradient
    after: Gradient
    changed: bool = False
    kept: Gradient | None = None


@dataclass(frozen=True)
class BackwardChange:
    """A change of an arrived gradient by a hook.

    `output` is the number of the node's output for which the gradient had arrived.
    """

    output: int
    before: Gradient
    after: Gradient


@dataclass(frozen=True)
class Frame:
    """One recorded step of a backward pass: one node ran.

    `node` is its id. `arrived` holds the gradient for each output of the node, `sent` the gradients for its inputs.
    `hooks` are the names of the learner's hooks that ran, and `changes` what they changed. `freed` is the number of
    bytes that a plain backward() would free at this step. `retained` holds pairs: the number of an output, and the
    gradient that `retain_grad()` kept for it.
    """

    node: int
    arrived: tuple[Gradient | None, ...]
    sent: tuple[Sent, ...] = ()
    landed: Landed | None = None
    hooks: tuple[str, ...] = ()
    changes: tuple[BackwardChange, ...] = ()
    freed: int = 0
    retained: tuple[tuple[int, Gradient], ...] = ()


@dataclass(frozen=True)
class BackwardRun:
    """A recorded backward pass: one `Frame` per node that ran.

    `error` is the text of the error that ended the pass, else None. `stopped_at` is the id of the node that was running
    at the error.
    """

    frames: tuple[Frame, ...]
    error: str | None = None
    stopped_at: int | None = None
