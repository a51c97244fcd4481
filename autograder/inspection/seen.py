"""Facts that were seen in one training step."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .places import Place


class How(StrEnum):
    """A way in which a result loses its graph."""

    DETACH = "detach"
    DATA = "data"
    NO_GRAD = "no_grad"
    NUMBER = "number"  # item(), tolist(), numpy(): out of torch
    INDEX = "index"  # argmax, comparisons, rounding to integers: no derivative


@dataclass(frozen=True, eq=False)
class Cut:
    """An operation whose result has no graph, although an operand had one.

    `sources` are the nodes of these operands, or the operands themselves where they are leaves.
    """

    how: How
    place: Place | None
    sources: tuple[Any, ...]


@dataclass(frozen=True)
class Edit:
    """An edit in place.

    `shape` is that of the tensor, `version` its version afterwards, `node` the type of the node that had made it.
    """

    operation: str
    shape: tuple[int, ...]
    version: int
    node: str
    place: Place | None


@dataclass(eq=False)
class Mean:
    """A loss that is a mean over `count` samples.

    `factor` is the gradient that arrived at it in the backward pass, or None before.
    """

    count: int
    factor: float | None = None


@dataclass(eq=False)
class Backward:
    """One backward pass.

    `cuts` lie behind its loss. `means` are the means that it came through. `reached` holds names of parameters whose
    gradient has changed, `before` those of them that held numbers of an earlier step. `oldest` is the number of the
    oldest node with saved tensors that it walks through. `after_steps` counts the steps of optimizers before it.
    """

    place: Place | None
    cuts: frozenset[Cut] = frozenset()
    means: tuple[Mean, ...] = ()
    reached: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()
    oldest: int = sys.maxsize
    in_eval: bool = False
    after_steps: int = 0


@dataclass(frozen=True)
class Size:
    """The norm of a gradient at a step of the optimizer.

    `ndim` is the number of dimensions of the parameter.
    """

    name: str
    norm: float
    ndim: int
    is_finite: bool


@dataclass(eq=False)
class Update:
    """One step of an optimizer.

    `names` are its parameters, `reached` those whose gradient came since their last step. `since` is the number of the
    first node after its last step, `before_that` after the one before. `is_empty` is true if no parameter has a
    gradient. `cleared` are those whose gradient was set to zero or None between the backward pass and the step. `stale`
    counts its tensors that belong to no model and have no gradient. `is_scaled` is true if a loss scale is still in the
    gradients.
    """

    place: Place | None
    names: frozenset[str]
    since: int
    before_that: int = 0
    reached: frozenset[str] = frozenset()
    is_empty: bool = False
    cleared: frozenset[str] = frozenset()
    stale: int = 0
    sizes: tuple[Size, ...] = ()
    begins_with_zeros: bool = False  # some gradient is 0, and some parameter, too
    is_scaled: bool = False
    by_scaler: bool = False


@dataclass(eq=False)
class Seen:
    """All that was seen in one step."""

    backwards: list[Backward] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    scaled_reads: list[Place | None] = field(default_factory=list)  # a norm of scaled gradients was taken here
    loose: list[Cut] = field(default_factory=list)  # cuts out of torch, whose way onward is not known
    used: dict[str, Place | None] = field(default_factory=dict)  # where a parameter last took part in an operation
    error: BaseException | None = None
