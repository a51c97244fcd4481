"""A backward pass as plain data: one `Frame` for each step of the engine, in the order in which they ran."""

from __future__ import annotations

from dataclasses import dataclass


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
