"""Inputs of cases: float64 tensors, formulas, and lineups of programs.

Every random number comes from the generator that the case passes. Values are far from 0, because a wrong result could
otherwise be right by chance. But one of four or more is 0, because an answer may not divide by its inputs.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Module, Parameter

from ..cells import BrokenSource, execute, parse_cells

_CELLS = {"right", "wrong"}  # attributes of programs


class Formula:
    """A function of tensors with the text of its formula as `repr`.

    Cards show the formula among the inputs of a case.
    """

    def __init__(self, text: str, function: Callable[..., Tensor]) -> None:
        self.text = text
        self.function = function

    def __call__(self, *arguments: Tensor) -> Tensor:
        return self.function(*arguments)

    def __repr__(self) -> str:
        return self.text


def uniform(rng: torch.Generator, *shape: int) -> Tensor:
    """Draw a float64 tensor of this shape, uniform in [0.5, 2.5).

    Of four entries or more, the one in the middle is 0. No other is near 0, and a forgotten term therefore changes
    every other entry.
    """
    drawn = torch.rand(shape, generator=rng, dtype=torch.float64) * 2 + 0.5
    if drawn.numel() >= 4:
        drawn.view(-1)[drawn.numel() // 2] = 0
    return drawn


def signed(rng: torch.Generator, *shape: int) -> Tensor:
    """Draw a float64 tensor of this shape, with magnitudes as `uniform` draws them and random signs."""
    sign = torch.randint(0, 2, shape, generator=rng) * 2 - 1
    return uniform(rng, *shape) * sign


def leaf(rng: torch.Generator, *shape: int) -> Tensor:
    """Draw a float64 tensor, as `uniform` does, that requires grad. Its `.grad` is None."""
    return uniform(rng, *shape).requires_grad_()


def with_old_gradient(tensor: Tensor) -> Tensor:
    """Fill `.grad` of `tensor` with values, as after an earlier backward pass, and return `tensor`.

    The values are `tensor` plus 100.
    """
    tensor.grad = 100 + tensor.detach()
    return tensor


def with_old_gradients(module: Module) -> Module:
    """Fill `.grad` of each trainable parameter as `with_old_gradient` does, and return `module`."""
    for parameter in module.parameters():
        if parameter.requires_grad:
            with_old_gradient(parameter)
    return module


def linear_layer(weight: Tensor, bias: Tensor | None = None) -> Linear:
    """Return a linear layer with this weight, of shape (outputs, inputs).

    `bias` has shape (outputs,), or is None for a layer without bias.
    """
    outputs, inputs = weight.shape
    layer = Linear(inputs, outputs, bias=bias is not None, dtype=weight.dtype)
    layer.weight = Parameter(weight)
    if bias is not None:
        layer.bias = Parameter(bias)
    return layer


@dataclass(frozen=True)
class Programs:
    """The programs that a learner's test must accept or refuse.

    They are cells of the file `programs/EXERCISE.py` in a lesson's package:

        # %% right="by_backward"
        def accumulate(parameter, micro_batches): ...

        # %% wrong="catches_old_gradient"
        def accumulate(parameter, micro_batches): ...

    The last definition of a cell is the program. The attribute `wrong` names the aspect that is right if a test refuses
    the program. Some programs would be right answers to other exercises. A child therefore gets them after all other
    answers have been observed.
    """

    right: Sequence[Any] = ()
    wrong: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_text(cls, text: str) -> Programs:
        """Return the programs that the cells of a text define.

        Cells without an attribute are shared by those below.
        Raises BrokenSource if a cell is malformed, raises, or does not end with a definition.
        """
        path = Path("<programs>")
        shared: dict[str, Any] = {"__name__": "__main__"}
        right, wrong = [], {}
        for cell in parse_cells(text, path, _CELLS):
            if not cell.metadata:
                execute(path, cell, shared)
                continue
            namespace = dict(shared)
            execute(path, cell, namespace)
            body = ast.parse(cell.source).body
            last = body[-1] if body else None
            if not isinstance(last, ast.FunctionDef | ast.ClassDef):
                raise BrokenSource(path, cell.line, "a program is the last definition of its cell: end with it")
            program = namespace[last.name]
            program.__doc__ = None  # it tells right from wrong, and the learner's test could read it
            for function in filter(inspect.isfunction, [program, *vars(program).values()]):
                function.__code__ = _at_line_one(function.__code__)  # right programs stand above wrong ones
            if "right" in cell.metadata:
                right.append(program)
            else:
                wrong[cell.metadata["wrong"]] = program
        return cls(tuple(right), wrong)


class Lineup:
    """Right and wrong programs in a seeded random order.

    In some exercises the answer is itself a test: it must accept right programs and reject wrong ones.
    """

    def __init__(self, rng: torch.Generator, programs: Programs) -> None:
        self._programs = [*programs.right, *programs.wrong.values()]
        self._right, self._names = len(programs.right), list(programs.wrong)
        self._order = torch.randperm(len(self._programs), generator=rng).tolist()

    @property
    def right(self) -> list[Any]:
        return self._programs[: self._right]

    def wrong(self, name: str) -> Any:
        """Return the wrong program `name`, or None if there is none."""
        return dict(zip(self._names, self._programs[self._right :])).get(name)

    def tried(self, accepts: Callable[[Any, bool], object]) -> tuple[list[object], dict[str, bool]]:
        """Call `accepts(program, is_right)` for each program, in the random order of the lineup.

        Returns a list and a dict. The list holds the results for the right programs. The dict maps the name of each
        wrong program to whether the program was rejected.
        """
        said = {index: accepts(self._programs[index], index < self._right) for index in self._order}
        right = [said[index] for index in range(self._right)]
        return right, {name: not said[self._right + index] for index, name in enumerate(self._names)}


def _at_line_one(code: CodeType) -> CodeType:
    """Return code, and all code in it, as if it began in the first line of its file."""
    inside = (_at_line_one(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_firstlineno=1, co_consts=tuple(inside))


def nameless(function: Any, name: str) -> Any:
    """Return a copy of `function` with the name `name`.

    A neutral name does not tell the learner's code whether the function is right or wrong. Nor do lines.
    """
    code = _at_line_one(function.__code__).replace(co_name=name, co_qualname=name)
    made = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    made.__annotations__, made.__module__ = function.__annotations__, "__main__"
    return made
