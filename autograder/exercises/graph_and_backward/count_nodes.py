"""Core exercise: count the nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, uniform
from autograder.checking.values import AtMost, canonical, compare, number
from autograder.language import Text
from autograder.measure import graph_nodes

from .common import FLOAT64, leaves_behind


class _Twice(torch.autograd.Function):
    """A custom Function that returns a + b.

    Its nodes have a class of their own. `_count_reads` can therefore change the attribute `next_functions` for these
    nodes alone.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return gradient, gradient


_reads: list[None] = []


def _count_reads() -> None:
    """Make every node of `_Twice` record each read of its `next_functions`. A read appends to the list `_reads`."""
    kind: Any = _Twice._backward_cls  # type: ignore[attr-defined]
    plain = kind.next_functions

    def counted(node: Any) -> Any:
        _reads.append(None)
        return plain.__get__(node)

    kind.next_functions = property(counted)


_count_reads()


_DOUBLINGS = 10


def _measure_reads(count: Callable[[Tensor], object]) -> AtMost:
    """Return the number of reads of `next_functions` that an answer needs, with a limit.

    The graph has 10 nodes and 2047 paths from the result. An answer that remembers visited nodes reads each node once.
    The limit is 8 reads per node.
    """
    doubled = torch.ones((), dtype=FLOAT64, requires_grad=True)
    for _ in range(_DOUBLINGS):
        doubled = _Twice.apply(doubled, doubled)  # type: ignore[no-untyped-call]
    _reads.clear()
    count(doubled)
    return AtMost(limit=8 * _DOUBLINGS, used=len(_reads))


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
            ru="Второй вызов считает заново: в двух одинаково устроенных графах узлов поровну.",
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
            en="The walk does not go again through a node where it has been. Counted are the reads of `next_functions` "
            "on a chain of ten doublings.",
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
        Text(
            "seen, todo = set(), [tensor.grad_fn]\nwhile todo:\n    node = todo.pop()\n    if ...:\n        continue\n    ...\nreturn len(seen)",
            "seen, todo = set(), [tensor.grad_fn]\nwhile todo:\n    node = todo.pop()\n    if ...:\n        continue\n    ...\nreturn len(seen)",
        ),
    ],
)
def count_nodes(answer: Any, case: Case) -> dict[str, object]:
    nodes = answer.count_nodes(case.tensor)
    first, second = (canonical(answer.count_nodes(torch.ones((), requires_grad=True).exp().sin())) for _ in range(2))
    return {
        "forgets": compare(first, second) is None,
        "nodes": number(nodes),
        "reads": _measure_reads(answer.count_nodes),
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


@count_nodes.mistake(
    en="The nodes were counted as those of a tree: a node counts once for every path that leads to it.",
    ru="Узлы сосчитаны как в дереве: каждый столько раз, сколько путей к нему ведёт.",
)
def walks_a_tree(tensor: Tensor) -> int:
    def visits(node: Any) -> int:
        return 1 + sum(visits(child) for child, _ in node.next_functions if child is not None)

    return visits(tensor.grad_fn)


@count_nodes.mistake(
    en="The first node, the tensor's own `grad_fn`, was left out.",
    ru="Пропущен первый узел — `grad_fn` самого тензора.",
)
def forgets_the_root(tensor: Tensor) -> int:
    return len(graph_nodes(tensor)) - 1


@count_nodes.mistake(
    en="The nodes of the leaves were left out. `AccumulateGrad` is a node too.",
    ru="Пропущены узлы листьев. Но `AccumulateGrad` — тоже узел.",
)
def leaves_out_leaves(tensor: Tensor) -> int:
    return len(graph_nodes(tensor)) - len(leaves_behind(tensor))


@count_nodes.mistake(
    en="Only the leaves were counted.",
    ru="Сосчитаны только листья.",
)
def counts_leaves(tensor: Tensor) -> int:
    return len(leaves_behind(tensor))


@count_nodes.mistake(
    en="The walk goes down the first input only, as `next_functions[0][0]` does. The other inputs have nodes too.",
    ru="Обход идёт только по первому входу, как `next_functions[0][0]`. У других входов тоже есть узлы.",
)
def follows_first_inputs(tensor: Tensor) -> int:
    node: Any = tensor.grad_fn
    count = 0
    while node is not None:
        count += 1
        node = node.next_functions[0][0] if node.next_functions else None
    return count


@count_nodes.mistake(
    en="Nodes of the same name were taken for one. Two multiplications are two nodes.",
    ru="Узлы с одинаковым именем приняты за один. Два умножения — это два узла.",
)
def counts_names(tensor: Tensor) -> int:
    return len({node.name() for node in graph_nodes(tensor)})


@count_nodes.mistake(
    en="None was counted. It stands for an input that no gradient goes to, and it is no node.",
    ru="Сосчитано значение None. Оно стоит на месте входа, к которому градиент не идёт, и узлом не является.",
)
def counts_none(tensor: Tensor) -> int:
    nodes = graph_nodes(tensor)
    return len({*nodes} | {child for node in nodes for child, _ in node.next_functions})


@count_nodes.mistake(
    en="Edges were counted: every entry of `next_functions`. Two edges may lead to one node.",
    ru="Сосчитаны рёбра: каждая запись в `next_functions`. К одному узлу могут вести два ребра.",
)
def counts_edges(tensor: Tensor) -> int:
    return sum(child is not None for node in graph_nodes(tensor) for child, _ in node.next_functions)


@count_nodes.mistake(
    en="The number is right, but every path was walked: a node is not looked up before the next step. With each "
    "doubling the walk takes twice as long.",
    ru="Число верно, но пройден каждый путь: перед следующим шагом не проверяется, был ли узел уже посещён. С каждым "
    "удвоением обход становится вдвое длиннее.",
)
def collects_along_every_path(tensor: Tensor) -> int:
    seen: set[Any] = set()

    def visit(node: Any) -> None:
        seen.add(node)
        for child, _ in node.next_functions:
            if child is not None:
                visit(child)

    visit(tensor.grad_fn)
    return len(seen)


@count_nodes.mistake(
    en="Nothing was returned: the number was printed, or `return` is missing.",
    ru="Ничего не возвращается: число напечатано или забыт `return`.",
)
def returns_nothing(tensor: Tensor) -> None:
    return None


@count_nodes.mistake(
    en="The nodes themselves were returned in a set. Their number is asked for.",
    ru="Возвращено множество самих узлов, а нужно их число.",
)
def returns_the_set(tensor: Tensor) -> set[Any]:
    return {*graph_nodes(tensor)}


_remembered: set[Any] = set()


@count_nodes.mistake(
    en="The function remembers the nodes of earlier calls: a set outside the function, or one that is the default of "
    "an argument, is made once and never emptied.",
    ru="В функции остались узлы из прежних вызовов: множество вне функции или в значении аргумента по умолчанию "
    "создаётся один раз и заново не очищается.",
)
def remembers_earlier_calls(tensor: Tensor) -> int:
    _remembered.update(graph_nodes(tensor))
    return len(_remembered)


@count_nodes.mistake(
    en="A node was counted for each edge that leads to it.",
    ru="Узел сосчитан столько раз, сколько рёбер к нему ведёт.",
)
def counts_arrivals(tensor: Tensor) -> int:
    return 1 + sum(child is not None for node in graph_nodes(tensor) for child, _ in node.next_functions)


@count_nodes.mistake(
    en="The children of one node are told apart, but a node that two different nodes lead to is still counted for "
    "every path.",
    ru="Повторы убраны только среди соседей одного узла: узел, к которому ведут разные узлы, по-прежнему сосчитан "
    "столько раз, сколько к нему путей.",
)
def compares_siblings_only(tensor: Tensor) -> int:
    def visits(node: Any) -> int:
        return 1 + sum(visits(child) for child in {child for child, _ in node.next_functions} if child is not None)

    return visits(tensor.grad_fn)


@count_nodes.mistake(
    en="A node is looked up only when it is put on the list. Before its turn comes, a second edge can put it there "
    "again.",
    ru="Узел проверяется, только когда попадает в список. Пока до него дойдёт очередь, он может попасть туда ещё раз, "
    "по второму ребру.",
)
def looks_up_too_early(tensor: Tensor) -> int:
    seen: set[Any] = set()
    todo: list[Any] = [tensor.grad_fn]
    count = 0
    while todo:
        node = todo.pop()
        count += 1
        seen.add(node)
        todo += [child for child, _ in node.next_functions if child is not None and child not in seen]
    return count


@count_nodes.mistake(
    en="A pair of node and number was taken for a node. Two results of `unbind` share one node.",
    ru="За узел принята пара из узла и номера. У двух результатов `unbind` узел общий.",
)
def counts_pairs(tensor: Tensor) -> int:
    nodes = graph_nodes(tensor)
    edges = {(child, n) for node in nodes for child, n in node.next_functions if child is not None}
    return len(edges | {(tensor.grad_fn, tensor.output_nr)})


@count_nodes.mistake(
    en="A node whose name has been met before is passed over, with everything behind it. Nodes of one name are "
    "different nodes.",
    ru="Узел, имя которого уже встречалось, пропущен вместе со всеми следующими за ним. Узлы с одинаковым именем — "
    "разные узлы.",
)
def skips_known_names(tensor: Tensor) -> int:
    names: set[str] = set()
    todo: list[Any] = [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node.name() not in names:
            names.add(node.name())
            todo += [child for child, _ in node.next_functions]
    return len(names)


@count_nodes.mistake(*count_nodes.mistakes["looks_up_too_early"].says)
def looks_up_too_early_in_a_queue(tensor: Tensor) -> int:
    seen: set[Any] = set()
    queue: list[Any] = [tensor.grad_fn]
    count = 0
    while queue:
        node = queue.pop(0)
        count += 1
        seen.add(node)
        queue += [child for child, _ in node.next_functions if child is not None and child not in seen]
    return count
