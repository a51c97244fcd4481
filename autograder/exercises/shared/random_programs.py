"""Seeded random programs, for torch's tensors and a learner's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product
from typing import Any

import torch
from torch import Tensor

from autograder.checking.inputs import Formula, signed

Shape = tuple[int, ...]

_LEAVES: tuple[Shape, ...] = ((2, 3), (3,), (), (3, 2), (2, 1))
_WIDE: Shape = (2, 3)  # of an expanded result
_MOST_ENTRIES, _LARGEST, _STEEPEST = 12, 8.0, 1.5
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Op(StrEnum):
    """An operation of a program."""

    ADD = "{} + {}"
    MUL = "{} * {}"
    MATMUL = "{} @ {}"
    SUM = "{}.sum()"
    EXP = "{}.exp()"
    TANH = "{}.tanh()"
    RESHAPE = "{}.reshape({shape})"
    EXPAND = "{}.expand({shape})"
    T = "{}.t()"

    def run(self, inputs: list[Any], shape: Shape) -> Any:
        one, other = inputs[0], inputs[-1]
        match self:
            case Op.ADD:
                return one + other
            case Op.MUL:
                return one * other
            case Op.MATMUL:
                return one @ other
            case Op.RESHAPE:
                return one.reshape(shape)
            case Op.EXPAND:
                return one.expand(shape)
            case Op.SUM:
                return one.sum()
            case Op.EXP:
                return one.exp()
            case Op.TANH:
                return one.tanh()
            case Op.T:
                return one.t()

    @property
    def is_binary(self) -> bool:
        return self in (Op.ADD, Op.MUL, Op.MATMUL)


@dataclass(frozen=True)
class Step:
    """One operation; `inputs` are numbers of leaves and earlier results, counted together."""

    op: Op
    inputs: tuple[int, ...]
    shape: Shape = ()


@dataclass(frozen=True)
class _Made:
    """The shape of a leaf or result, and its bound."""

    shape: Shape
    bound: float

    @property
    def entries(self) -> int:
        return int(torch.Size(self.shape).numel())


class Program(Formula):
    """Leaves and steps; the last result is the root, of shape ()."""

    def __init__(self, leaves: list[Tensor], steps: list[Step]) -> None:
        self.leaves, self.steps = leaves, steps
        super().__init__(self._text(), self.run)  # type: ignore[arg-type]

    def run(self, make: Callable[[Tensor], Any]) -> list[Any]:  # type: ignore[override]
        """Return the leaves and all results in order. `make` makes a leaf of a plain tensor."""
        values = [make(tensor.clone()) for tensor in self.leaves]
        for step in self.steps:
            values.append(step.op.run([values[number] for number in step.inputs], step.shape))
        return values

    def _text(self) -> str:
        names = [_LETTERS[number] if number < 26 else f"{_LETTERS[number - 26]}2" for number in range(52)]
        made = [f"{names[i]}: {tuple(leaf.shape)}" for i, leaf in enumerate(self.leaves)]
        for number, step in enumerate(self.steps, len(self.leaves)):
            said = step.op.format(*(names[each] for each in step.inputs), shape=step.shape)
            made.append(f"{names[number]} = {said}")
        return "; ".join(made)


class _Writer:
    """A program while it is written.

    Bounds keep the numbers small: a saturated tanh would hide a wrong gradient.
    """

    def __init__(self, rng: torch.Generator, shapes: tuple[Shape, ...]) -> None:
        self._rng = rng
        self.leaves = [signed(rng, *shape) / 2.5 for shape in shapes]
        self.made = [_Made(shape, 1.0) for shape in shapes]
        self.steps: list[Step] = []

    def add(self, op: Op, *inputs: int, shape: Shape = ()) -> int:
        """Append a step, and return the number of its result."""
        self.made.append(_result(op, [self.made[each] for each in inputs], shape))
        self.steps.append(Step(op, inputs, shape))
        return len(self.made) - 1

    def add_any(self, op: Op) -> None:
        """Append a step with drawn inputs, if some leaf or result suits."""
        numbers = range(len(self.made))
        candidates = [each for each in product(numbers, repeat=1 + op.is_binary) if self._suits(op, each)]
        if candidates:
            inputs = candidates[self.draw(len(candidates))]
            self.add(op, *inputs, shape=_target(op, self.made[inputs[0]].shape))

    def _suits(self, op: Op, inputs: tuple[int, ...]) -> bool:
        if any(number == len(self.leaves) - 1 for number in inputs):
            return False  # the last leaf stays unused
        made = [self.made[number] for number in inputs]
        one, other = made[0].shape, made[-1].shape
        if op == Op.MATMUL and not (len(one) == len(other) == 2 and one[1] == other[0]):
            return False
        if op == Op.T and len(one) != 2:
            return False
        if op == Op.EXPAND and not (one != _WIDE and _fits(one, _WIDE)):
            return False
        if op in (Op.RESHAPE, Op.SUM) and len(one) == 0:
            return False
        if op in (Op.ADD, Op.MUL) and not _agree(one, other):
            return False
        result = _result(op, made, _target(op, one))
        steep = op in (Op.EXP, Op.TANH) and made[0].bound > _STEEPEST
        return result.bound <= _LARGEST and result.entries <= _MOST_ENTRIES and not steep

    def draw(self, below: int) -> int:
        return int(torch.randint(below, (), generator=self._rng))

    def loose_ends(self) -> list[int]:
        """Return the results that no step uses."""
        used = {number for step in self.steps for number in step.inputs}
        return [number for number in range(len(self.leaves), len(self.made)) if number not in used]

    def finish(self) -> Program:
        """Sum the squares of all loose ends; a large one is summed as it is."""
        total: int | None = None
        for number in self.loose_ends():
            square = self.add(Op.MUL, number, number) if self.made[number].bound <= _LARGEST / 2 else number
            end = self.add(Op.SUM, square)
            total = end if total is None else self.add(Op.ADD, total, end)
        return Program(self.leaves, self.steps)


def _result(op: Op, made: list[_Made], shape: Shape) -> _Made:
    one, other = made[0], made[-1]
    match op:
        case Op.ADD:
            return _Made(_broadcast(one.shape, other.shape), one.bound + other.bound)
        case Op.MUL:
            return _Made(_broadcast(one.shape, other.shape), one.bound * other.bound)
        case Op.MATMUL:
            return _Made((one.shape[0], other.shape[1]), one.shape[1] * one.bound * other.bound)
        case Op.SUM:
            return _Made((), one.entries * one.bound)
        case Op.EXP:
            return _Made(one.shape, 4.5)
        case Op.TANH:
            return _Made(one.shape, 1.0)
        case Op.T:
            return _Made(one.shape[::-1], one.bound)
        case _:
            return _Made(shape, one.bound)


@cache  # a check of `walk_nodes` asks a thousand times
def _broadcast(one: Shape, other: Shape) -> Shape:
    return tuple(torch.broadcast_shapes(one, other))


def _agree(one: Shape, other: Shape) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other)))


def _fits(one: Shape, wide: Shape) -> bool:
    """Return whether a tensor of shape `one` can be expanded to the shape `wide`."""
    return _agree(one, wide) and len(one) <= len(wide) and _broadcast(one, wide) == wide


def _target(op: Op, shape: Shape) -> Shape:
    """Return the shape that a drawn step asks for: the flattened shape, or the wide one."""
    if op == Op.EXPAND:
        return _WIDE
    return (int(torch.Size(shape).numel()), 1) if op == Op.RESHAPE else ()


def random_program(rng: torch.Generator, repeats: int = 1) -> Program:
    """Draw a program in which each operation is tried `repeats` times, some twice as often.

    Results are used again, also twice by one step. The last leaf is unused.
    """
    writer = _Writer(rng, (*_LEAVES, (2,)))
    often = [*Op, Op.ADD, Op.MUL, Op.TANH] * repeats
    for index in torch.randperm(len(often), generator=rng).tolist():
        writer.add_any(often[index])
    return writer.finish()


def many_programs(rng: torch.Generator, number: int) -> Iterator[Program]:
    for _ in range(number):
        yield random_program(rng)


def tiny_program(rng: torch.Generator) -> Program:
    """Draw the numbers of a program of three operations.

    A card shows it for what is wrong in every program.
    """
    writer = _Writer(rng, ((2,), (2,), (2,)))
    writer.add(Op.ADD, 0, 1)
    return writer.finish()


def small_program(rng: torch.Generator) -> Program:
    """Draw the numbers of a short program.

    It has a square, two kinds of broadcasting, and results that are used twice.
    """
    writer = _Writer(rng, ((2, 3), (3,), (2, 1), (2,)))
    a, b, c = range(3)
    square = writer.add(Op.MUL, a, a)
    total = writer.add(Op.ADD, square, b)
    scaled = writer.add(Op.MUL, total, writer.add(Op.EXP, c))
    writer.add(Op.ADD, square, scaled)
    writer.add(Op.MUL, square, scaled)
    for op, inputs in ((Op.MUL, (total, total)), (Op.TANH, (total,)), (Op.TANH, (square,)), (Op.MUL, (square, square))):
        writer.add(op, *inputs)  # beside a square another use, in both orders
    return writer.finish()
