"""Extra exercise: a segment that a walk computes again."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import or_error
from autograder.checking.containment.garbage import older_objects_frozen
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import Entries
from autograder.checking.observe import unmarked
from autograder.checking.values import AtMost
from autograder.language import Text

from ..shared.nodes import Node

_RUNS = Entries(
    (Text("after the forward pass", "после прямого прохода"), Text("after the walk", "после обхода")),
    Text("runs", "запусков"),
)
_OF_INPUTS = Entries(Text("gradient of input {n}", "градиент входа {n}"), Text("gradients", "градиентов"))
_KEPT = 1  # the result that leaves the segment


class Recorded(Node):
    """A value made as in the lesson's engine, with a walk."""

    made: list[weakref.ref[Any]] | None = None  # the results that are made, while somebody counts them

    def __init__(self, data: Tensor, inputs: tuple[Any, ...] = (), rule: Any = None, op: str = "") -> None:
        super().__init__(data, Counter(), tuple(inputs), rule)
        if Recorded.made is not None:
            Recorded.made.append(weakref.ref(self))

    def _made(self, data: Tensor, inputs: tuple[Any, ...], *parts: Callable[[Tensor], Tensor]) -> Recorded:
        def rule(gradient: Tensor) -> tuple[Tensor, ...]:
            return tuple(part(gradient).sum_to_size(each.data.shape) for part, each in zip(parts, inputs))

        return Recorded(data, inputs, rule)

    def backward(self) -> None:
        waits: dict[Any, int] = {self: 0}
        found: list[Any] = [self]
        for value in found:  # grows while it is walked
            for each in value.inputs:
                if each not in waits:
                    found.append(each)
                waits[each] = waits.get(each, 0) + 1
        arrived: dict[Any, Any] = {self: torch.ones_like(self.data)}
        ready: list[Any] = [self]
        while ready:
            value = ready.pop()
            gradient = arrived.pop(value)
            if value.rule is None:
                value.grad = gradient.clone() if value.grad is None else value.grad + gradient
                continue
            for each, part in zip(value.inputs, value.rule(gradient)):
                arrived[each] = arrived[each] + part if each in arrived else part
                waits[each] -= 1
                if waits[each] == 0:
                    ready.append(each)


def one_input(x: Any) -> Any:
    return (x.tanh() * x).tanh() + x


def two_inputs(x: Any, w: Any) -> Any:
    return ((x @ w).tanh() @ w).tanh()


def one_unused(x: Any, w: Any, unused: Any) -> Any:
    return (x @ w).tanh() * (x @ w)


@exercise(
    title=Text("Compute again", "Вычислить ещё раз"),
    kind="design",
    difficulty=2,
    minutes=15,
    aspects=[
        aspect(
            "value", 0.25, en="The result has the segment's numbers.", ru="Числа результата такие же, как у отрезка."
        ),
        aspect(
            "gradients",
            0.5,
            en="The gradients are those of the segment without it: of results and of leaves, and zeros for an unused input.",
            ru="Градиенты такие же, как без повторного вычисления: у результатов, у листьев и нули у неиспользованного входа.",
            entries=(_OF_INPUTS,),
        ),
        aspect(
            "kept",
            1.5,
            en="Between forward pass and walk nothing from inside the segment is in memory. The check counts results.",
            ru="Между прямым проходом и обходом в памяти нет ничего, что лежит внутри отрезка. Считаются результаты.",
            after=("value", "gradients"),
            measured=Text("Results in memory", "Результатов в памяти"),
        ),
        aspect(
            "runs",
            0.75,
            en="The segment runs once in the forward pass and once in the walk.",
            ru="Отрезок выполняется один раз в прямом проходе и один раз при обходе.",
            after=("value", "gradients"),
            entries=(_RUNS,),
        ),
    ],
    hints=[
        Text(
            "What does a rule need to know in order to make everything inside the segment again?",
            "Что нужно знать правилу, чтобы заново получить всё, что внутри отрезка?",
        ),
        Text(
            "Run the segment on fresh leaves with the inputs' data, and keep its `data` alone. The rule runs it on fresh leaves "
            "once more and walks there: multiply the result by the arriving gradient and sum, then the walk starts right.",
            "Выполните отрезок на новых листьях с данными входов и оставьте только `data` результата. Правило выполняет его "
            "ещё раз на новых листьях и обходит этот граф: умножьте результат на пришедший градиент и сложите, тогда обход "
            "начнётся правильно.",
        ),
        Text.same(
            "def rule(gradient):\n"
            "    leaves = [Value(each.data) for each in inputs]\n"
            "    (segment(*leaves) * ...).sum().backward()\n"
            "    return [... for each in leaves]\n"
            "return Value(..., inputs, rule)"
        ),
    ],
)
def compute_again(answer: Any, case: Case) -> dict[str, object]:
    with older_objects_frozen():
        again, segment, tensors = unmarked(answer.compute_again), case.segment, case.inputs
        out = answer.compute_again(Recorded, segment, *_leaves(tensors))
        return {
            "value": getattr(out, "data", out),
            "gradients": or_error(_gradients, again, segment, tensors),
            "kept": or_error(_kept, again, segment, tensors),
            "runs": or_error(_runs, again, segment, tensors),
        }


def _leaves(tensors: list[Tensor]) -> list[Recorded]:
    return [Recorded(each.clone()) for each in tensors]


def _gradients(again: Any, segment: Any, tensors: list[Tensor]) -> list[Tensor | None]:
    """Return the gradients of the inputs in two passes: where they are leaves, and where they are results.

    The root weighs the entries of the segment's result, and the inputs are used outside of the segment, too.
    """
    found = []
    for are_results in (False, True):
        leaves = _leaves(tensors)
        inputs = [leaf.tanh() if are_results else leaf for leaf in leaves]
        out = again(Recorded, segment, *inputs)
        weights = Recorded(torch.linspace(1.0, 2.0, out.data.numel(), dtype=torch.float64).view(out.data.shape))
        root = (out * weights).sum()
        for each in inputs:
            root = root + (each * each).sum()
        root.backward()
        found += [leaf.grad for leaf in leaves]
    return found


def _kept(again: Any, segment: Any, tensors: list[Tensor]) -> AtMost:
    """Return the number of new results in memory after the forward pass, with the value of the result."""
    leaves = _leaves(tensors)
    Recorded.made = []
    try:
        out = again(Recorded, segment, *leaves)
        alive = sum(each() is not None for each in Recorded.made)
    finally:
        Recorded.made = None
    return AtMost(limit=_KEPT, used=alive, of=out.data)


def _runs(again: Any, segment: Any, tensors: list[Tensor]) -> list[int]:
    runs: Counter[str] = Counter()

    def counted(*values: Any) -> Any:
        runs["all"] += 1
        return segment(*values)

    out = again(Recorded, counted, *_leaves(tensors))
    before = runs["all"]
    out.sum().backward()
    return [before, runs["all"] - before]


@compute_again.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(segment=one_input, inputs=[signed(rng, 2, 3) / 2])
    yield Case(segment=two_inputs, inputs=[signed(rng, 2, 3) / 2, signed(rng, 3, 3) / 2])
    yield Case(segment=one_unused, inputs=[signed(rng, 3, 2) / 2, signed(rng, 2, 2) / 2, signed(rng, 4)])
