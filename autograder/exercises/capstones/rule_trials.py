"""Trials of an engine's rules one by one, and of gradients that meet.

A trial is a small program. Its gradients are compared with torch's, so that engines with one fault show the same,
however they are built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught, kind_of
from autograder.checking.labels import Entries
from autograder.language import Text

from .engine_runs import Make, Walk, backward
from .random_programs import Shape


@dataclass(frozen=True)
class Trial:
    """Programs that try one thing, over leaves of the given shapes."""

    name: Text
    shapes: tuple[Shape, ...]
    programs: tuple[Callable[..., Any], ...]
    broadcasts: bool = False
    passes: int = 1


@dataclass(frozen=True)
class Truth:
    """The leaves of a trial, and torch's first and second derivatives for each program."""

    leaves: list[Tensor]
    first: list[list[Tensor]]
    second: list[list[Tensor]]


Truths = Mapping[Trial, Truth]


def _trial(en: str, ru: str, shapes: tuple[Shape, ...], *programs: Callable[..., Any], **more: Any) -> Trial:
    return Trial(Text(en, ru), shapes, programs, **more)


def _rule(op: str, shapes: tuple[Shape, ...], program: Callable[..., Any]) -> Trial:
    return _trial(f"the rule of `{op}`", f"правило для `{op}`", shapes, program)


def _used_by_two(a: Any) -> Any:
    x = a.exp()
    return x.exp() + x.tanh()


def _short_first(a: Any) -> Any:
    x = a.exp()
    return x + x.tanh().tanh()


def _long_first(a: Any) -> Any:
    x = a.exp()
    return x.tanh().tanh() + x


def _square_first(a: Any) -> Any:
    x = a.exp()
    return x * x + x.tanh()


def _square_last(a: Any) -> Any:
    x = a.exp()
    return x.tanh() + x * x


def _added_inside(a: Any, b: Any) -> Any:
    x = a.exp()
    return ((x + b) + x).sum()


def _added_outside(a: Any, b: Any) -> Any:
    x = a.exp()
    return (x + (b + x)).sum()


_SUM = _rule("+", ((), ()), lambda a, b: a + b)
_SUM_BEHIND_EXP = _rule("+", ((), ()), lambda a, b: (a + b).exp())
_MET = _trial("gradients that meet", "градиенты, которые сходятся", ((),), _used_by_two)
_TWICE = _trial("the sum over two passes", "сумма за два прохода", ((),), lambda a: a.exp(), passes=2)
# A trial uses only operations of trials above it.
_ALONE = (
    _rule("*", ((), ()), lambda a, b: a * b),
    _rule("tanh", ((),), lambda a: a.tanh().tanh()),
    _rule("exp", ((),), lambda a: a.exp().exp()),
)
_OF_TENSORS = (
    _rule("sum", ((2, 3),), lambda a: a.sum().exp()),
    _rule("t", ((2, 3),), lambda a: a.t().exp().sum()),
    _rule("reshape", ((2, 3),), lambda a: a.reshape((3, 2)).exp().sum()),
    _rule("@", ((2, 3), (3, 4)), lambda a, b: (a @ b).exp().sum()),
    _trial(
        "an input with fewer dimensions than the result",
        "вход, у которого измерений меньше, чем у результата",
        ((3,), (2, 3)),
        lambda a, b: (a + b).exp().sum(),
        lambda a, b: (b * a).exp().sum(),
        broadcasts=True,
    ),
    _trial(
        "an input with a dimension that was stretched from 1",
        "вход с измерением, которое растянуто от 1",
        ((2, 1), (2, 3)),
        lambda a, b: (a + b).exp().sum(),
        lambda a, b: (b * a).exp().sum(),
        broadcasts=True,
    ),
    _rule("expand", ((2, 1),), lambda a: a.expand((2, 3)).exp().sum()),
)
RULES = (_SUM, *_ALONE, *_OF_TENSORS)
_SECOND = (*_ALONE, _SUM_BEHIND_EXP, *_OF_TENSORS, _MET, _TWICE)
MEETINGS = (
    _trial(
        "a value that one operation uses twice", "значение, которое операция использует дважды", ((),), lambda a: a * a
    ),
    _trial("a value that two operations use", "значение, которое используют две операции", ((),), _used_by_two),
    _trial(
        "a value with a short and a long way to the root",
        "значение, от которого к корню ведут короткий и длинный пути",
        ((),),
        _short_first,
        _long_first,
    ),
    _trial(
        "a value used twice by one operation and once by another",
        "значение, которое одна операция использует дважды, а другая один раз",
        ((),),
        _square_first,
        _square_last,
    ),
    _trial(
        "a value that is added twice",
        "значение, которое прибавлено дважды",
        ((1,), (1,)),
        _added_inside,
        _added_outside,
    ),
)


def _named(*names: Text) -> Entries:
    return Entries(names, Text("trials", "проб"))


SECOND = 1 + len(_SECOND)  # entries
OF_RULES = _named(*(trial.name for trial in RULES))
OF_SECOND = _named(Text("all rules", "все правила"), *(trial.name for trial in _SECOND))
OF_MEETINGS = _named(*(trial.name for trial in MEETINGS))


def truths(start: float) -> Truths:
    """Return torch's derivatives for all trials. `start` shifts the numbers in the leaves."""
    return {trial: _truth(trial, start) for trial in {*RULES, *_SECOND, *MEETINGS}}


def _truth(trial: Trial, start: float) -> Truth:
    leaves = []
    for number, shape in enumerate(trial.shapes, 1):
        entries = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).view(shape)
        leaves.append((entries * number + start + number).cos() / 2)
    first, second = [], []
    for program in trial.programs:
        variables = [leaf.clone().requires_grad_() for leaf in leaves]
        found = torch.autograd.grad(program(*variables), variables, create_graph=True)
        first.append([each.detach() for each in found])
        total = trial.passes * sum(each.sum() for each in found)
        if total.requires_grad:
            second.append(list(torch.autograd.grad(total, variables, materialize_grads=True)))
    return Truth(leaves, first, second)


def rules(make: Make, known: Truths) -> list[object]:
    """Return True for each rule whose first derivatives are right, up to a wrong one.

    Behind a wrong entry everything is True: nothing else was tried.
    """
    return _up_to_a_wrong_one([_first(make, backward, trial, known[trial]) for trial in RULES])


def second_rules(make: Make, known: Truths) -> list[object]:
    """Return True for all trials whose second derivatives are right, up to a wrong one.

    The first entry is about all rules: it is wrong if each of them is.
    """
    found = [_second(make, trial, known[trial]) for trial in _SECOND]
    nothing = all(each is not True for each in found)
    return _up_to_a_wrong_one([found[0] if nothing else True, *found])


def meetings(make: Make, known: Truths, walk: Walk = backward) -> list[object]:
    """Return True for each trial in which the gradients that meet are right. `walk` makes a pass from a root."""
    return [_first(make, walk, trial, known[trial]) for trial in MEETINGS]


def _up_to_a_wrong_one(found: Sequence[object]) -> list[object]:
    wrong = next((number for number, each in enumerate(found) if each is not True), len(found))
    return [each if number <= wrong else True for number, each in enumerate(found)]


def _first(make: Make, walk: Walk, trial: Trial, truth: Truth) -> object:
    for program, wanted in zip(trial.programs, truth.first):
        leaves = [make(leaf.clone()) for leaf in truth.leaves]
        try:
            walk(program(*leaves))
        except Exception as error:
            return _shown(error)
        if (found := _compared(leaves, wanted, trial)) is not True:
            return found
    return True


def _second(make: Make, trial: Trial, truth: Truth) -> object:
    for program, wanted in zip(trial.programs, truth.second):
        leaves = [make(leaf.clone()) for leaf in truth.leaves]
        try:
            root = program(*leaves)
            for _ in range(trial.passes):
                root.backward(create_graph=True)
            first, *others = (leaf.grad.sum() for leaf in leaves)
            for each in others:
                first = first + each
            for leaf in leaves:
                leaf.grad = None
            first.backward()
        except Exception as error:
            return _shown(error)
        if _compared(leaves, wanted, trial) is not True:
            return False
    return True


def _compared(leaves: Sequence[Any], wanted: Sequence[Tensor], trial: Trial) -> object:
    """Return True for right gradients, None for a missing one, and else what is wrong with them."""
    found = [None if leaf.grad is None else leaf.grad.data for leaf in leaves]
    if any(each is None for each in found):
        return None
    if trial.broadcasts and any(each.shape != right.shape for each, right in zip(found, wanted)):
        return "another shape"
    near = (each.shape == right.shape and torch.allclose(each.double(), right) for each, right in zip(found, wanted))
    return all(near)


def _shown(error: Exception) -> object:
    """Return an exception as a value.

    A visit to a value without a gradient ends in a LookupError, or computes with nothing: both are a wrong order.
    A TypeError is compared with its message, which says what a rule should not have done.
    """
    if isinstance(error, LookupError):
        return False
    return Caught.of(error, None if isinstance(error, TypeError) else kind_of(error))
