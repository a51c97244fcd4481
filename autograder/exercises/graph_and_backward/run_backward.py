"""Exercise: write a backward pass that calls the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import another
from autograder.checking.counting.eager_mode import EagerMode
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import counting_backward_runs

from .common import leaves_behind

_SINES = 7


class _CosineRecorder(EagerMode):
    """A dispatch mode that records the arguments of cosines.

    The node of a sine computes one cosine each time it is called.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.arguments: list[float] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name == "aten::cos":
            self.arguments.append(args[0].item())
        return func(*args, **(kwargs or {}))


def _count_calls(backward: Callable[[Tensor], object], rng: torch.Generator) -> tuple[list[int], list[Tensor | None]]:
    """Count a learner's calls of each node in a backward pass; return the leaves' gradients as well.

    First come the numbers for seven nodes of sines, in ascending order, then the numbers for two leaves. A leaf without
    a call counts as 1. In the graph, each sine is taken of the product of the previous two results. Many paths
    therefore lead to the same node.
    """
    before, root = leaves = [(x + leaf(rng).detach() / 25).requires_grad_() for x in (1.2, 1.0)]
    arrived: list[Tensor] = []
    for each in leaves:
        each.register_post_accumulate_grad_hook(arrived.append)
    for _ in range(_SINES):
        before, root = root, (before * root).sin()
    with _CosineRecorder() as cosines:
        backward(root)
    at_sines = sorted(cosines.arguments.count(x) for x in set(cosines.arguments))
    calls = at_sines + [max(1, sum(each is other for other in arrived)) for each in leaves]
    return calls, [each.grad for each in leaves]


@exercise(
    title=Text("Torch's graph, walked by you", "Ваш обход графа torch"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect(
            "engine_runs",
            0,
            en="The nodes are called by your own code, not by a backward pass of autograd. The check counts such passes.",
            ru="Узлы вызывает ваш собственный код, а не обратный проход autograd. Считаются обратные проходы autograd.",
            measured=Text("Backward passes of autograd", "Обратных проходов autograd"),
        ),
        aspect(
            "gradients",
            2,
            en="`.grad` of every leaf is what `root.backward()` would leave there.",
            ru="В `.grad` каждого листа лежит то же, что оставил бы `root.backward()`.",
        ),
        aspect(
            "own",
            1,
            en="Each leaf has a `.grad` of its own, without a graph: it shares no memory.",
            ru="У каждого `.grad` собственная память, и графа у него нет.",
            after=("engine_runs", "gradients"),
        ),
        aspect(
            "calls",
            2,
            en="Each node is called once, however many paths lead to it. The check counts the calls in a graph of 9 nodes.",
            ru="Каждый узел вызван один раз, сколько бы путей к нему ни вело. Считаются вызовы 9 узлов.",
            after=("engine_runs", "gradients"),
            measured=Text("Calls of nodes", "Вызовов узлов"),
        ),
    ],
    hints=[
        Text(
            "Two paths lead to one node and bring 6 and 5. What should the node be called with, and when do you know "
            "it?",
            "К одному узлу ведут два пути, по ним приходят 6 и 5. С каким градиентом вызвать узел и когда это "
            "становится известно?",
        ),
        Text(
            "First put the nodes into an order in which each stands after all nodes that lead to it. Then go through "
            "it once.",
            "Сначала расположите узлы так, чтобы каждый стоял после всех, из которых к нему ведут рёбра. Затем пройдите "
            "по ним один раз.",
        ),
        Text.same(
            "def visit(node):  # fills `order`: a node after everything that it leads to\n    ...\nvisit(root.grad_fn)\n"
            "gradient_of = {root.grad_fn: torch.ones_like(root)}\nfor node in reversed(order):\n    ..."
        ),
    ],
)
def run_backward(answer: Any, case: Case) -> dict[str, object]:
    leaves = leaves_behind(case.root)
    with counting_backward_runs() as runs:
        answer.run_backward(case.root)
    gradients = [each.grad for each in leaves if each.grad is not None]
    calls, found = _count_calls(answer.run_backward, case.rng)
    return {
        "engine_runs": AtMost(limit=0, used=runs.times),
        "gradients": {f"leaf {i}": each.grad for i, each in enumerate(leaves, 1)},
        "own": {
            "shared": len({g.data_ptr() for g in gradients}) < len(gradients)
            or any(0 in g.stride() and g.numel() > 1 for g in gradients),
            "requires_grad": any(g.requires_grad for g in gradients),
        },
        "calls": AtMost(limit=_SINES + 2, used=sum(calls), of=found),
        "calls_of_sines": calls[:-2],
    }


@run_backward.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = leaf(rng)
    h = 2 * x
    yield Case(root=h * h + 5 * h, rng=another(rng))
    a, b = leaf(rng, 3), leaf(rng, 3)
    h = a * b
    k = h.sin()
    # The node of a sum gives one tensor to both operands. Adding to it in place for one operand changes both.
    c, d, e, f = (leaf(rng, 3) for _ in range(4))
    sums = a.sin() + (a + b) + b.cos() + (c + d + c.sin()) + (e + f)
    yield Case(root=(k * h + (k + a).exp() * h - b + sums).sum(), rng=another(rng))
    a, w1, w2, w3, w4 = (leaf(rng, 2, 2) for _ in range(5))
    b, c = w1 * a, w2 * a
    yield Case(root=(10 - (w3 * b + w4 * c) @ b).mean(), rng=another(rng))
    a, b = (leaf(rng, 1).detach().float().requires_grad_() for _ in range(2))
    yield Case(root=a + b.exp(), rng=another(rng))  # one element, but of shape (1,), and of another dtype
