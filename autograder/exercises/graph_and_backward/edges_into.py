"""Core exercise: count the edges that lead to each node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.comparison import compare
from autograder.checking.counted_run import number_from
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, uniform
from autograder.checking.values import canonical, number
from autograder.language import Text
from autograder.measure import graph_nodes

from .counted_reads import measure_reads


def _numbers(found: object, root: Tensor) -> object:
    """Return an answer's numbers by place and name of the node, or what it returned in place of a dict."""
    if not isinstance(found, dict):
        return found
    nodes = enumerate(graph_nodes(root), 1)
    return {f"edges into node {place}, {node.name()}": number(found.get(node)) for place, node in nodes}


def _other_keys(found: object, root: Tensor) -> int | None:
    """Return the number of an answer's keys that are no nodes of the graph, or None if it is no dict."""
    return len({*found} - {*graph_nodes(root)}) if isinstance(found, dict) else None


@exercise(
    title=Text("For how many edges a node waits", "Скольких рёбер ждёт узел"),
    kind="complete",
    core=True,
    minutes=8,
    aspects=[
        aspect(
            "forgets",
            0,
            en="A second call begins anew: it returns the same numbers for the same tensor.",
            ru="Второй вызов считает заново: для того же тензора числа те же.",
        ),
        aspect(
            "edges",
            1,
            en="Each node has the number of edges that lead to it, and the node of `root` itself has 0.",
            ru="У каждого узла стоит число рёбер, которые к нему ведут, а у узла самого `root` — 0.",
        ),
        aspect(
            "others",
            0,
            en="The keys are nodes of the graph, and nothing else.",
            ru="Ключи словаря — только узлы графа.",
            measured=Text("Keys that are no nodes", "Ключей, которые не узлы"),
        ),
        aspect(
            "reads",
            1,
            en="The walk does not go again through a node where it has been. The check counts the reads of "
            "`next_functions` on a chain of ten doublings.",
            ru="Обход не проходит повторно через узел, в котором уже был. Считаются чтения `next_functions` на "
            "цепочке из десяти удвоений.",
            after=("forgets", "edges", "others"),
            measured=Text("Reads of `next_functions`", "Чтений `next_functions`"),
        ),
    ],
    hints=[
        Text(
            "`count_nodes` visits each node once. From there it looks at all edges that lead on. What has to happen at "
            "each of them?",
            "Функция `count_nodes` заходит в каждый узел один раз и видит там все рёбра, которые ведут дальше. Что нужно "
            "сделать с каждым из них?",
        ),
        Text(
            "Keep a dict, with 0 for `root.grad_fn`. A node that is not in it yet gets 0 and is put on the list of nodes "
            "to visit. Then its number grows by one, whether it is new or not.",
            "Заведите словарь, в котором у `root.grad_fn` стоит 0. Узла в нём ещё нет? Запишите 0 и добавьте узел в "
            "список тех, куда нужно зайти. Затем увеличьте его число на единицу, новый он или нет.",
        ),
        Text.same(
            "edges, todo = {root.grad_fn: 0}, [root.grad_fn]\nwhile todo:\n    for child, _ in todo.pop().next_functions:\n"
            "        if child is None:\n            continue\n        if child not in edges:\n            ...\n        ...\n"
            "return edges"
        ),
    ],
    why=Why(
        Text(
            "Why count the edges, and not the nodes that they come from?",
            "Почему узлу важно число рёбер, а не число узлов, из которых они выходят?",
        ),
        Text(
            "Along each edge a gradient arrives. In `h * h` one node sends two, and both belong to the sum that the node "
            "of `h` is called with.",
            "По каждому ребру приходит градиент. В `h * h` один узел посылает два, и оба входят в сумму, с которой "
            "вызывается узел тензора `h`.",
        ),
    ),
)
def edges_into(answer: Any, case: Case) -> dict[str, object]:
    start = number_from(case.root)
    found = answer.edges_into(case.root)
    first, others = _numbers(found, case.root), _other_keys(found, case.root)  # before the dict can be used again
    second = _numbers(answer.edges_into(case.root), case.root)
    return {
        "forgets": compare(canonical(first), canonical(second)) is None,
        "edges": first,
        "others": others,
        "reads": measure_reads(lambda root: _numbers(answer.edges_into(root), root), round(6 * start)),
    }


@edges_into.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = leaf(rng)
    h = 2 * x
    yield Case(root=h * h + 5 * h)
    a, b, w = leaf(rng, 2, 3), leaf(rng, 3, 2), uniform(rng, 2, 2)
    yield Case(root=a.mean() + (10 - (a @ b + w).tanh() * (a @ b)).sum())
    first, second = leaf(rng, 2, 3).unbind()
    yield Case(root=(first * second * first).sum())
    deep = leaf(rng, 2).exp()
    for _ in range(int(torch.randint(4, 7, (), generator=rng))):
        deep = deep + deep.sin()
    yield Case(root=deep)
