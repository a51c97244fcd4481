"""Core exercise: count the nodes of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.comparison import compare
from autograder.checking.counted_run import number_from
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, uniform
from autograder.checking.values import canonical, number
from autograder.language import Text

from .counted_reads import measure_reads


@exercise(
    title=Text("How many nodes", "Сколько узлов"),
    kind="complete",
    core=True,
    minutes=10,
    aspects=[
        aspect(
            "forgets",
            0,
            en="A second call begins anew: two graphs of the same form have as many nodes as each other.",
            ru="При втором вызове подсчёт начинается заново: в двух одинаково устроенных графах узлов поровну.",
        ),
        aspect(
            "nodes",
            2,
            en="Every node of the graph is counted, and counted once.",
            ru="Каждый узел графа сосчитан ровно один раз.",
        ),
        aspect(
            "reads",
            1,
            en="The walk does not go again through a node where it has been. The check counts the reads of "
            "`next_functions` on a chain of ten doublings.",
            ru="Обход не проходит повторно через узел, в котором уже был. Считаются чтения `next_functions` на "
            "цепочке из десяти удвоений.",
            after=("forgets", "nodes"),
            measured=Text("Reads of `next_functions`", "Чтений `next_functions`"),
        ),
    ],
    hints=[
        Text(
            "How do you notice that you have reached a node for the second time, by another path?",
            "Как заметить, что вы пришли в узел во второй раз, по другому пути?",
        ),
        Text(
            "Nodes can be put into a `set`. See whether a node is in it before you go on to its `next_functions`; skip "
            "None.",
            "Узлы можно класть в `set`. Проверьте, нет ли узла в множестве, прежде чем идти по его `next_functions`; "
            "None пропускайте.",
        ),
        Text.same(
            "seen, todo = set(), [tensor.grad_fn]\nwhile todo:\n    node = todo.pop()\n    if ...:\n        continue\n    ...\nreturn len(seen)"
        ),
    ],
    why=Why(
        Text(
            "Why do fifteen doublings give 17 nodes, but tens of thousands of paths?",
            "Почему после пятнадцати удвоений узлов всего 17, а путей — десятки тысяч?",
        ),
        Text(
            "In `t + t` both edges lead to the same node. Each line adds one node and doubles the number of ways "
            "to every earlier node.",
            "В `t + t` оба ребра ведут к одному и тому же узлу. Каждая строка добавляет один узел и удваивает "
            "число путей к каждому из прежних.",
        ),
    ),
)
def count_nodes(answer: Any, case: Case) -> dict[str, object]:
    start = number_from(case.tensor)
    nodes = answer.count_nodes(case.tensor)
    first, second = (canonical(answer.count_nodes(torch.ones((), requires_grad=True).exp().sin())) for _ in range(2))
    return {
        "forgets": compare(first, second) is None,
        "nodes": number(nodes),
        "reads": measure_reads(lambda root: number(answer.count_nodes(root)), round(6 * start)),
    }


@count_nodes.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = leaf(rng)
    h = 2 * x
    yield Case(tensor=h * h + 5 * h)
    doubled = leaf(rng, 2).exp()
    for _ in range(int(torch.randint(4, 7, (), generator=rng))):
        doubled = doubled + doubled
    yield Case(tensor=doubled)
    a, b, w = leaf(rng, 2, 3), leaf(rng, 3, 2), uniform(rng, 2, 2)
    yield Case(tensor=a.mean() + (10 - (a @ b + w).tanh() * (a @ b)).sum())
    first, second = leaf(rng, 2, 3).unbind()
    yield Case(tensor=(first * second).sum())
