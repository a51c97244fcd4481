"""Exercise: a segment that a walk computes again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught, error_kind, or_error
from autograder.checking.containment.garbage import older_objects_frozen
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import Entries
from autograder.checking.observe import unmarked
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import CountedCalls

from .segments import Recorded, one_input, one_unused, results_counted, two_inputs

_RUNS = Entries(
    (Text("after the forward pass", "после прямого прохода"), Text("after the walk", "после обхода")),
    Text("runs", "запусков"),
)
_WALKS = Entries(
    (
        Text("inputs that are leaves", "входы — листья"),
        Text("inputs that are results", "входы — результаты"),
        Text("two walks, one after the other", "два обхода подряд"),
    ),
    Text("walks", "обходов"),
)
_OF_INPUTS = Entries(Text("gradient of input {n}", "градиент входа {n}"), Text("gradients", "градиентов"))
_KEPT = 1  # the result that leaves the segment


@exercise(
    title=Text("Compute again", "Вычислить ещё раз"),
    kind="design",
    difficulty=2,
    aspects=[
        aspect(
            "value", 0.25, en="The result has the segment's numbers.", ru="Числа результата такие же, как у сегмента."
        ),
        aspect(
            "gradients",
            0.5,
            en="The gradients are those of the segment without it: of results and of leaves, and zeros for an unused input.",
            ru="Градиенты такие же, как без повторного вычисления: у результатов, у листьев и нули у неиспользованного входа.",
            entries=(_WALKS, _OF_INPUTS),
        ),
        aspect(
            "kept",
            1.5,
            en="Before the walk, and after it, nothing from inside the segment is in memory. The check counts results.",
            ru="Ни до обхода, ни после него в памяти нет ничего, что лежит внутри сегмента. Считаются результаты.",
            after=("value", "gradients"),
            measured=Text("Results in memory", "Результатов в памяти"),
        ),
        aspect(
            "runs",
            0.75,
            en="The segment runs once in the forward pass and once in a walk.",
            ru="Сегмент выполняется один раз в прямом проходе и один раз при обходе.",
            after=("value", "gradients"),
            entries=(_RUNS,),
        ),
    ],
    hints=[
        Text(
            "What does a rule need to know in order to make everything inside the segment again?",
            "Что нужно знать правилу, чтобы заново получить всё, что внутри сегмента?",
        ),
        Text(
            "Run the segment on fresh leaves with the inputs' data, and keep its `data` alone. The rule runs it on fresh leaves "
            "once more and walks there: multiply the result by the arriving gradient and sum, then the walk starts right.",
            "Выполните сегмент на новых листьях с данными входов и оставьте только `data` результата. Правило выполняет его "
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
        again, segment = unmarked(answer.compute_again), case.segment
        if case.nested:

            def segment(*values: Any) -> Any:
                return again(Recorded, case.segment, *values).tanh()

        _, inputs = _given(case)
        out = answer.compute_again(Recorded, segment, *inputs)
        return {
            "value": getattr(out, "data", out),
            "gradients": or_error(_gradients, again, segment, case),
            **_kept(again, segment, case),
            "runs": or_error(_runs, again, segment, case),
        }


def _given(case: Case, are_results: bool = False) -> tuple[list[Any], list[Any]]:
    """Return leaves, and the inputs that are made of them."""
    leaves = [Recorded(each.clone()) for each in case.inputs]
    inputs = [leaf.tanh() if are_results else leaf for leaf in leaves]
    return leaves, inputs * 2 if case.twice else inputs


def _gradients(again: Any, segment: Any, case: Case) -> list[list[Tensor | None]]:
    """Return the leaves' gradients: where they are the inputs, where results are, and after two walks.

    Each root weighs the entries of the segment's result, and uses the inputs outside of the segment, too.
    """
    found = []
    for are_results, walks in ((False, 1), (True, 1), (False, 2)):
        leaves, inputs = _given(case, are_results)
        out = again(Recorded, segment, *inputs)
        for walk in range(walks):
            weights = torch.linspace(1.0, 2.0 + walk, out.data.numel(), dtype=torch.float64)
            root = (out * Recorded(weights.view(out.data.shape))).sum()
            for each in inputs:
                root = root + (each * each).sum()
            root.backward()
        found.append([leaf.grad for leaf in leaves])
    return found


def _kept(again: Any, segment: Any, case: Case) -> dict[str, object]:
    """Return the larger number of new results in memory, before and after the walk, with the result."""
    try:
        with results_counted() as alive:
            _, inputs = _given(case)
            out = again(Recorded, segment, *inputs)
            before = alive()
            out.sum().backward()
            after = alive()
    except Exception as error:
        return {"kept": Caught.of(error, error_kind(error)), "moments": None}
    kept = AtMost(limit=_KEPT, used=max(before, after), of=out.data)
    return {"kept": kept, "moments": [before > _KEPT, after > _KEPT]}


def _runs(again: Any, segment: Any, case: Case) -> list[int]:
    counted = CountedCalls(segment)
    _, inputs = _given(case)
    out = again(Recorded, counted.function, *inputs)
    before = counted.times
    out.sum().backward()
    return [before, counted.times - before]


@compute_again.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(segment: Any, *shapes: tuple[int, ...], twice: bool = False, nested: bool = False) -> Case:
        inputs = [signed(rng, *shape) / 2 for shape in shapes]
        return Case(segment=segment, inputs=inputs, twice=twice, nested=nested)

    yield case(one_input, (2, 3))
    yield case(two_inputs, (2, 3), (3, 3))
    yield case(one_unused, (3, 2), (2, 2), (4,))
    yield case(two_inputs, (3, 3), twice=True)  # one value as both inputs
    yield case(two_inputs, (2, 3), (3, 3), nested=True)  # a segment that has a segment inside
