"""Exercises of lesson 02, the graph and the backward pass: probes, cases and mistakes (G8-G11, D7, N1, J15)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.checking.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, canonical, compare, entries, number
from autograder.language import Text
from autograder.measure import counting_backward_runs, graph_nodes, live_bytes

Batches = list[tuple[Tensor, Tensor]]
FLOAT64 = torch.float64


# --------------------------------------------------------------------------------------------- walks shared by probes


def _leaves(tensor: Tensor) -> list[Tensor]:
    """The leaves that a backward pass from `tensor` reaches, in an order that follows from the graph alone."""
    return [node.variable for node in graph_nodes(tensor) if hasattr(node, "variable")]


def _call(node: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """Run one node: what it gives back, one entry for each of its `next_functions`."""
    with torch.no_grad():
        gradients = node(gradient)
    return gradients if isinstance(gradients, tuple) else (gradients,)


# -------------------------------------------------------------------------------------------------- core: count nodes


_DOUBLINGS = 10


class _Twice(torch.autograd.Function):
    """a + b, as a node of its own class: the class that counts how often its `next_functions` are read."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return gradient, gradient


_reads: list[None] = []


def _count_reads() -> None:
    """Make every read of `next_functions` of a `_Twice` node append to `_reads`."""
    kind: Any = _Twice._backward_cls  # type: ignore[attr-defined]
    plain = kind.next_functions

    def counted(node: Any) -> Any:
        _reads.append(None)
        return plain.__get__(node)

    kind.next_functions = property(counted)


_count_reads()


def _reads_of(count: Callable[[Tensor], object]) -> AtMost:
    """How often an answer looks at the nodes of ten doublings: 10 nodes, 2047 paths that begin at the last of them.

    A walk that knows where it has been reads each node once; eight reads of a node are allowed.
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
        ),
    ],
    hints=[
        Text(
            "How do you notice that you have reached a node for the second time, by another path?",
            "Как заметить, что вы пришли в узел во второй раз, по другому пути?",
        ),
        Text(
            "Nodes can be put into a `set`. See whether a node is in it before you go on to its `next_functions`; skip None.",
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
        "reads": _reads_of(answer.count_nodes),
    }


@count_nodes.cases
def _(rng: torch.Generator) -> Iterator[Case]:
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
    en="It looks as if the graph is walked as a tree: a node is counted once for every path that leads to it.",
    ru="Похоже, что граф обходится как дерево: узел сосчитан столько раз, сколько путей к нему ведёт.",
)
def walks_a_tree(tensor: Tensor) -> int:
    def visits(node: Any) -> int:
        return 1 + sum(visits(child) for child, _ in node.next_functions if child is not None)

    return visits(tensor.grad_fn)


@count_nodes.mistake(
    en="It looks as if the first node, the tensor's own `grad_fn`, is left out.",
    ru="Похоже, что пропущен первый узел — `grad_fn` самого тензора.",
)
def forgets_the_root(tensor: Tensor) -> int:
    return len(graph_nodes(tensor)) - 1


@count_nodes.mistake(
    en="It looks as if the nodes of the leaves are left out. `AccumulateGrad` is a node, too.",
    ru="Похоже, что пропущены узлы листьев. `AccumulateGrad` — тоже узел.",
)
def leaves_out_leaves(tensor: Tensor) -> int:
    return len(graph_nodes(tensor)) - len(_leaves(tensor))


@count_nodes.mistake(
    en="It looks as if only the leaves are counted.",
    ru="Похоже, что сосчитаны только листья.",
)
def counts_leaves(tensor: Tensor) -> int:
    return len(_leaves(tensor))


@count_nodes.mistake(
    en="It looks as if the walk goes down the first input only, as `next_functions[0][0]` does. The other inputs have nodes, too.",
    ru="Похоже, что обход идёт только по первому входу, как `next_functions[0][0]`. У других входов тоже есть узлы.",
)
def follows_first_inputs(tensor: Tensor) -> int:
    node: Any = tensor.grad_fn
    count = 0
    while node is not None:
        count += 1
        node = node.next_functions[0][0] if node.next_functions else None
    return count


@count_nodes.mistake(
    en="It looks as if nodes of the same name are taken for one. Two multiplications are two nodes.",
    ru="Похоже, что узлы с одинаковым именем приняты за один. Два умножения — это два узла.",
)
def counts_names(tensor: Tensor) -> int:
    return len({node.name() for node in graph_nodes(tensor)})


@count_nodes.mistake(
    en="It looks as if None is counted. It stands for an input that no gradient goes to, and it is no node.",
    ru="Похоже, что сосчитан None. Он стоит на месте входа, к которому градиент не идёт, и узлом не является.",
)
def counts_none(tensor: Tensor) -> int:
    nodes = graph_nodes(tensor)
    return len({*nodes} | {child for node in nodes for child, _ in node.next_functions})


@count_nodes.mistake(
    en="It looks as if edges are counted: every entry of `next_functions`. Two edges may lead to one node.",
    ru="Похоже, что сосчитаны рёбра: каждая запись в `next_functions`. К одному узлу могут вести два ребра.",
)
def counts_edges(tensor: Tensor) -> int:
    return sum(child is not None for node in graph_nodes(tensor) for child, _ in node.next_functions)


@count_nodes.mistake(
    en="It looks as if the number is right but every path is walked: before a step nothing asks whether the node "
    "has been visited. With each doubling the walk takes twice as long.",
    ru="Похоже, что число верно, но пройден каждый путь: перед следующим шагом не проверяется, был ли узел уже "
    "посещён. С каждым удвоением обход становится вдвое длиннее.",
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
    en="It looks as if nothing is returned: the number is printed, or `return` is missing.",
    ru="Похоже, что ничего не возвращается: число напечатано или забыт `return`.",
)
def returns_nothing(tensor: Tensor) -> None:
    return None


@count_nodes.mistake(
    en="It looks as if the nodes themselves come back in a set. Their number is asked for.",
    ru="Похоже, что возвращается множество самих узлов. А нужно их число.",
)
def returns_the_set(tensor: Tensor) -> set[Any]:
    return {*graph_nodes(tensor)}


_remembered: set[Any] = set()


@count_nodes.mistake(
    en="It looks as if a call remembers the calls before it: a set outside the function, or one that is the default "
    "of an argument, is made once and keeps its nodes.",
    ru="Похоже, что функция помнит узлы из прежних вызовов: множество вне функции или в значении аргумента по "
    "умолчанию создаётся один раз и заново не очищается.",
)
def remembers_earlier_calls(tensor: Tensor) -> int:
    _remembered.update(graph_nodes(tensor))
    return len(_remembered)


@count_nodes.mistake(
    en="It looks as if a node is counted for each edge that leads to it.",
    ru="Похоже, что узел сосчитан столько раз, сколько рёбер к нему ведёт.",
)
def counts_arrivals(tensor: Tensor) -> int:
    return 1 + sum(child is not None for node in graph_nodes(tensor) for child, _ in node.next_functions)


@count_nodes.mistake(
    en="It looks as if the children of one node are told apart, but a node that two different nodes lead to is "
    "still counted for every path.",
    ru="Похоже, что повторы убраны только среди соседей одного узла: узел, к которому ведут разные узлы, всё ещё "
    "сосчитан столько раз, сколько к нему путей.",
)
def compares_siblings_only(tensor: Tensor) -> int:
    def visits(node: Any) -> int:
        return 1 + sum(visits(child) for child in {child for child, _ in node.next_functions} if child is not None)

    return visits(tensor.grad_fn)


@count_nodes.mistake(
    en="It looks as if a node is looked up only when it is put on the list. Before its turn comes, a second edge can "
    "put it there again.",
    ru="Похоже, что узел проверяется, только когда попадает в список. Пока до него дойдёт очередь, он может попасть "
    "туда ещё раз, по второму ребру.",
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
    en="It looks as if a pair of node and number is taken for a node. Two results of `unbind` share one node.",
    ru="Похоже, что за узел принята пара из узла и номера. У двух результатов `unbind` узел общий.",
)
def counts_pairs(tensor: Tensor) -> int:
    nodes = graph_nodes(tensor)
    edges = {(child, n) for node in nodes for child, n in node.next_functions if child is not None}
    return len(edges | {(tensor.grad_fn, tensor.output_nr)})


# ------------------------------------------------------------------------ core: the seed's pseudo-backward, mended


_SINES = 7


class _Cosines(TorchDispatchMode):
    """Notes the number of which a cosine is taken: the node of a sine does that once in each call."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.of: list[float] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name == "aten::cos":
            self.of.append(args[0].item())
        return func(*args, **(kwargs or {}))


def _calls_of(backward: Callable[[Tensor], object]) -> list[int]:
    """How often seven nodes of sines are called, fewest first, then two leaves; a leaf left without a call counts as 1.

    Each sine is that of a product of the two numbers before it, so that paths join at many depths.
    """
    before, root = leaves = [torch.tensor(x, dtype=FLOAT64, requires_grad=True) for x in (1.3, 1.1)]
    arrived: list[Tensor] = []
    for each in leaves:
        each.register_post_accumulate_grad_hook(arrived.append)
    for _ in range(_SINES):
        before, root = root, (before * root).sin()
    with _Cosines() as cosines:
        backward(root)
    at_sines = sorted(cosines.of.count(x) for x in set(cosines.of))
    return at_sines + [max(1, sum(each is other for other in arrived)) for each in leaves]


@exercise(
    title=Text("Find the bugs: the backward pass by hand", "Найдите ошибки: обратный проход вручную"),
    kind="find the bug",
    core=True,
    difficulty=3,
    minutes=25,
    aspects=[
        aspect(
            "engine_runs",
            0,
            en="The nodes are called by your own code, not by a backward pass of autograd. Counted are such passes.",
            ru="Узлы вызывает ваш собственный код, а не обратный проход autograd. Считаются обратные проходы autograd.",
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
            ru="У каждого листа свой собственный `.grad`, без графа: общей памяти у них нет.",
            after=("engine_runs", "gradients"),
        ),
        aspect(
            "calls",
            2,
            en="Each node is called once, however many paths lead to it. Counted are the calls of 9 nodes.",
            ru="Каждый узел вызван один раз, сколько бы путей к нему ни вело. Считаются вызовы 9 узлов.",
            after=("engine_runs", "gradients"),
        ),
    ],
    hints=[
        Text(
            "Two paths lead to one node and bring 6 and 5. What should the node be called with, and when do you know it?",
            "К одному узлу ведут два пути, по ним приходят 6 и 5. С каким градиентом вызвать узел и когда это "
            "становится известно?",
        ),
        Text(
            "First put the nodes into an order in which each stands after all nodes that lead to it. Then go through it once.",
            "Сначала расположите узлы так, чтобы каждый стоял после всех узлов, которые к нему ведут. Затем пройдите "
            "по ним один раз.",
        ),
        Text(
            "def visit(node):  # fills `order`: a node after everything that it leads to\n    ...\nvisit(root.grad_fn)\n"
            "gradient_of = {root.grad_fn: torch.ones_like(root)}\nfor node in reversed(order):\n    ...",
            "def visit(node):  # fills `order`: a node after everything that it leads to\n    ...\nvisit(root.grad_fn)\n"
            "gradient_of = {root.grad_fn: torch.ones_like(root)}\nfor node in reversed(order):\n    ...",
        ),
    ],
)
def run_backward(answer: Any, case: Case) -> dict[str, object]:
    leaves = _leaves(case.root)
    with counting_backward_runs() as runs:
        answer.run_backward(case.root)
    gradients = [each.grad for each in leaves if each.grad is not None]
    calls = _calls_of(answer.run_backward)
    return {
        "engine_runs": AtMost(limit=0, used=runs.times),
        "gradients": {f"leaf {i}": each.grad for i, each in enumerate(leaves, 1)},
        "own": {
            "shared": len({g.data_ptr() for g in gradients}) < len(gradients)
            or any(0 in g.stride() and g.numel() > 1 for g in gradients),
            "requires_grad": any(g.requires_grad for g in gradients),
        },
        "calls": AtMost(limit=_SINES + 2, used=sum(calls)),
        "calls_of_sines": calls[:-2],
    }


@run_backward.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    x = leaf(rng)
    h = 2 * x
    yield Case(root=h * h + 5 * h)
    a, b = leaf(rng, 3), leaf(rng, 3)
    h = a * b
    k = h.sin()
    # sums hand on one and the same tensor: adding to it in place, in whatever order, changes a gradient next door
    c, d, e, f = (leaf(rng, 3) for _ in range(4))
    passed_on = a.sin() + (a + b) + b.cos() + (c + d + c.sin()) + (e + f)
    yield Case(root=(k * h + (k + a).exp() * h - b + passed_on).sum())
    a, w1, w2, w3, w4 = (leaf(rng, 2, 2) for _ in range(5))
    b, c = w1 * a, w2 * a
    yield Case(root=(10 - (w3 * b + w4 * c) @ b).mean())


def _seed_backward(root: Tensor, at_leaf: Callable[[Tensor, Tensor], None]) -> None:
    """The recursion of the published pseudo-code: one call for every path."""

    def backward(node: Any, incoming: Tensor) -> None:
        if hasattr(node, "variable"):
            at_leaf(node.variable, incoming)
            return
        for (child, _), gradient in zip(node.next_functions, _call(node, incoming)):
            if child is not None and gradient is not None:
                backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))


def _assign(tensor: Tensor, gradient: Tensor) -> None:
    tensor.grad = gradient.clone()


def _add(tensor: Tensor, gradient: Tensor) -> None:
    tensor.grad = gradient.clone() if tensor.grad is None else tensor.grad + gradient


def _in_order(
    root: Tensor,
    at_leaf: Callable[[Any, Tensor], object],
    start: Callable[[Tensor], Tensor] = torch.ones_like,
    call: Callable[[Any, Tensor], tuple[Tensor | None, ...]] = _call,
) -> None:
    """A right backward pass in topological order, whose steps a mistake may replace."""
    arrived = {root.grad_fn: start(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable"):
            at_leaf(node, arrived[node])
            continue
        for (child, _), gradient in zip(node.next_functions, call(node, arrived[node])):
            if child is not None and gradient is not None:
                arrived[child] = arrived[child] + gradient if child in arrived else gradient


@run_backward.mistake(
    en="It looks as if a gradient is assigned where it should be added: of all the paths to a leaf only the last one is left.",
    ru="Похоже, что градиент присваивается, а не прибавляется: из всех путей к листу остался только последний.",
)
def assigns(root: Tensor) -> None:
    _seed_backward(root, _assign)


@run_backward.mistake(
    en="It looks as if the gradients are right but every path is walked on its own. "
    "A node where paths join is called again for each of them, and the time doubles with every square.",
    ru="Похоже, что градиенты верны, но каждый путь пройден отдельно. Узел, в котором пути сходятся, вызывается "
    "заново для каждого из них, и время удваивается с каждым возведением в квадрат.",
)
def walks_every_path(root: Tensor) -> None:
    _seed_backward(root, _add)


@run_backward.mistake(
    en="It looks as if the running total goes on to the inputs at every visit: what came before is sent down again.",
    ru="Похоже, что при каждом посещении дальше передаётся накопленная сумма: прежние слагаемые передаются повторно.",
)
def sends_the_running_total(root: Tensor) -> None:
    total: dict[Any, Tensor] = {}

    def backward(node: Any, incoming: Tensor) -> None:
        total[node] = total[node] + incoming if node in total else incoming
        if hasattr(node, "variable"):
            _assign(node.variable, total[node])
            return
        for (child, _), gradient in zip(node.next_functions, _call(node, total[node])):
            if child is not None and gradient is not None:
                backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))


@run_backward.mistake(
    en="It looks as if a node is called as soon as the first gradient reaches it. What arrives later is not sent on.",
    ru="Похоже, что узел вызывается, как только до него дошёл первый градиент. То, что приходит позже, дальше не "
    "передаётся.",
)
def does_not_wait(root: Tensor) -> None:
    total: dict[Any, Tensor] = {root.grad_fn: torch.ones_like(root)}
    queue: deque[Any] = deque([root.grad_fn])
    while queue:
        node = queue.popleft()
        if hasattr(node, "variable"):
            continue
        for (child, _), gradient in zip(node.next_functions, _call(node, total[node])):
            if child is None or gradient is None:
                continue
            if child not in total:
                queue.append(child)
            total[child] = total[child] + gradient if child in total else gradient
    for node, gradient in total.items():
        if hasattr(node, "variable"):
            _assign(node.variable, gradient)


@run_backward.mistake(
    en="It looks as if a node where paths meet is called with what one of them brings: the rest is dropped, not added.",
    ru="Похоже, что узел, в котором сходятся пути, вызывается с градиентом, пришедшим по одному из них: остальные "
    "отброшены, а не прибавлены.",
)
def one_path_only(root: Tensor) -> None:
    seen: set[Any] = set()

    def backward(node: Any, incoming: Tensor) -> None:
        if node in seen:
            return
        seen.add(node)
        if hasattr(node, "variable"):
            _assign(node.variable, incoming)
            return
        for (child, _), gradient in zip(node.next_functions, _call(node, incoming)):
            if child is not None and gradient is not None:
                backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))


@run_backward.mistake(
    en="It looks as if each node is called once, but in depth-first order: some are called before all that leads to them has arrived.",
    ru="Похоже, что каждый узел вызван один раз, но обход идёт в глубину: некоторые узлы вызваны раньше, чем до них "
    "дошли все градиенты.",
)
def goes_depth_first(root: Tensor) -> None:
    order: list[Any] = []

    def visit(node: Any) -> None:
        order.append(node)
        for child, _ in node.next_functions:
            if child is not None and child not in order:
                visit(child)

    visit(root.grad_fn)
    total = {root.grad_fn: torch.ones_like(root)}
    for node in order:
        for (child, _), gradient in zip(node.next_functions, _call(node, total[node])):
            if child is not None and gradient is not None:
                total[child] = total[child] + gradient if child in total else gradient
        if not node.next_functions:
            _assign(node.variable, total[node])


@run_backward.mistake(
    en="It looks as if the graph is walked level by level. The gradients are right, but a node that can be reached in two steps "
    "and in three is called twice.",
    ru="Похоже, что граф обходится по уровням. Градиенты верны, но узел, до которого можно дойти и за два шага, и за "
    "три, вызывается дважды.",
)
def goes_level_by_level(root: Tensor) -> None:
    level: dict[Any, Tensor] = {root.grad_fn: torch.ones_like(root)}
    while level:
        below: dict[Any, Tensor] = {}
        for node, incoming in level.items():
            if hasattr(node, "variable"):
                _add(node.variable, incoming)
                continue
            for (child, _), gradient in zip(node.next_functions, _call(node, incoming)):
                if child is not None and gradient is not None:
                    below[child] = below[child] + gradient if child in below else gradient
        level = below


@run_backward.mistake(
    en="It looks as if every node is called with ones. It should get the gradient that has arrived: that is the chain rule.",
    ru="Похоже, что каждый узел вызывается с тензором из единиц. А он должен получать дошедший до него градиент: это "
    "и есть цепное правило.",
)
def calls_with_ones(root: Tensor) -> None:
    arrived: dict[Any, Tensor] = {}
    for node in graph_nodes(root):
        if hasattr(node, "variable"):
            _assign(node.variable, arrived[node])
            continue
        incoming = torch.ones_like(arrived.get(node, root))
        for (child, _), gradient in zip(node.next_functions, _call(node, incoming)):
            if child is not None and gradient is not None:
                arrived[child] = arrived[child] + gradient if child in arrived else gradient


@run_backward.mistake(
    en="It looks as if only the first input of each node gets a gradient. Go through all of `next_functions`.",
    ru="Похоже, что градиент получает только первый вход каждого узла. Пройдите по всем записям `next_functions`.",
)
def first_input_only(root: Tensor) -> None:
    arrived = {root.grad_fn: torch.ones_like(root)}
    for node in graph_nodes(root):
        if node not in arrived:
            continue
        if hasattr(node, "variable"):
            _assign(node.variable, arrived[node])
            continue
        child, gradient = node.next_functions[0][0], _call(node, arrived[node])[0]
        if child is not None and gradient is not None:
            arrived[child] = arrived[child] + gradient if child in arrived else gradient


@run_backward.mistake(
    en="It looks as if the leaves are still passed over: nothing is put into their `.grad`.",
    ru="Похоже, что листья по-прежнему пропускаются: в их `.grad` ничего не попадает.",
)
def leaves_nothing_at_the_leaves(root: Tensor) -> None:
    _seed_backward(root, lambda *_: None)


@run_backward.mistake(
    en="It looks as if a gradient arrives at a leaf twice: the node of a leaf adds to `.grad` by itself, "
    "so an assignment beside the call doubles it.",
    ru="Похоже, что градиент попадает в лист дважды: узел листа сам прибавляет его к `.grad`, "
    "и вместе с присваиванием получается вдвое больше.",
)
def doubles_at_the_leaf(root: Tensor) -> None:
    def at_leaf(node: Any, gradient: Tensor) -> None:
        node.variable.grad = gradient.clone()
        _call(node, gradient)

    _in_order(root, at_leaf)


@run_backward.mistake(
    en="It looks as if the values are right but leaves share one gradient. An addition hands the same tensor to both "
    "of its inputs: give each leaf a copy, or call its node, which takes care of that.",
    ru="Похоже, что значения верны, но у листьев общий градиент. Сложение отдаёт обоим входам один и тот же тензор: "
    "дайте каждому листу копию или вызовите его узел, он об этом позаботится.",
)
def shares_gradients(root: Tensor) -> None:
    _in_order(root, lambda node, gradient: setattr(node.variable, "grad", gradient))


@run_backward.mistake(
    en="It looks as if the nodes are called with gradient tracking on: the gradients have got a graph of their own.",
    ru="Похоже, что узлы вызваны при включённом отслеживании вычислений: у градиентов появился свой граф.",
)
def tracks_the_pass(root: Tensor) -> None:
    def tracked(node: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gradients = node(gradient)
        return gradients if isinstance(gradients, tuple) else (gradients,)

    _in_order(root, lambda node, gradient: node(gradient), call=tracked)


@run_backward.mistake(
    en="It looks as if the node of a leaf is called for every edge that leads to it. It is a node like the others: "
    "wait, add up, call once.",
    ru="Похоже, что узел листа вызывается для каждого ребра, которое к нему ведёт. Это такой же узел, как другие: "
    "дождитесь всех градиентов, сложите их и вызовите узел один раз.",
)
def calls_leaves_for_each_edge(root: Tensor) -> None:
    arrived = {root.grad_fn: torch.ones_like(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable"):
            continue
        for (child, _), gradient in zip(node.next_functions, _call(node, arrived[node])):
            if hasattr(child, "variable") and gradient is not None:
                _call(child, gradient)
            elif child is not None and gradient is not None:
                arrived[child] = arrived[child] + gradient if child in arrived else gradient


@run_backward.mistake(
    en="It looks as if the pass starts with a float32 number. The root may be float64: start with `torch.ones_like(root)`.",
    ru="Похоже, что проход начат с числа типа float32. Корень может быть типа float64: начните с "
    "`torch.ones_like(root)`.",
)
def starts_in_float32(root: Tensor) -> None:
    _in_order(root, _call, start=lambda _: torch.tensor(1.0))


@run_backward.mistake(
    en="It looks as if the pass starts with a float32 number, and some `.grad` gets float32. The root may be float64: "
    "start with `torch.ones_like(root)`.",
    ru="Похоже, что проход начат с числа типа float32, и какой-то `.grad` получается типа float32. Корень может быть "
    "типа float64: начните с `torch.ones_like(root)`.",
)
def assigns_float32(root: Tensor) -> None:
    _in_order(root, lambda node, gradient: _assign(node.variable, gradient), start=lambda _: torch.tensor(1.0))


@run_backward.mistake(
    en="It looks as if nodes are taken from a stack as they come. A node is called before everything that leads to it "
    "has arrived, and what was sent on is sent on again.",
    ru="Похоже, что узлы берутся из стека подряд. Узел вызывается раньше, чем до него дошли все градиенты, и уже "
    "переданное передаётся снова.",
)
def takes_from_a_stack(root: Tensor) -> None:
    total: dict[Any, Tensor] = {root.grad_fn: torch.ones_like(root)}
    todo: list[Any] = [root.grad_fn]
    while todo:
        node = todo.pop()
        if hasattr(node, "variable"):
            _assign(node.variable, total[node])
            continue
        for (child, _), gradient in zip(node.next_functions, _call(node, total[node])):
            if child is not None and gradient is not None:
                total[child] = total[child] + gradient if child in total else gradient
                todo.append(child)


@run_backward.mistake(
    en="It looks as if nodes wait in a queue and each is called once, but when its turn comes, "
    "not all that leads to it has arrived.",
    ru="Похоже, что узлы стоят в очереди и каждый вызван один раз, но к моменту вызова до него дошли не все градиенты.",
)
def takes_from_a_queue(root: Tensor) -> None:
    total: dict[Any, Tensor] = {root.grad_fn: torch.ones_like(root)}
    queue: deque[Any] = deque([root.grad_fn])
    done: set[Any] = set()
    while queue:
        node = queue.popleft()
        if node in done:
            continue
        done.add(node)
        if hasattr(node, "variable"):
            _assign(node.variable, total[node])
            continue
        for (child, _), gradient in zip(node.next_functions, _call(node, total[node])):
            if child is not None and gradient is not None:
                total[child] = total[child] + gradient if child in total else gradient
                queue.append(child)


@run_backward.mistake(
    en="It looks as if a gradient that has arrived is added to in place. An addition hands the same tensor to both of its inputs: "
    "the other one changes with it.",
    ru="Похоже, что новый градиент прибавляется на месте к уже пришедшему. Сложение отдаёт обоим входам один и тот же "
    "тензор: вместе с одним меняется и другой.",
)
def adds_in_place(root: Tensor) -> None:
    arrived = {root.grad_fn: torch.ones_like(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable"):
            _assign(node.variable, arrived[node])
            continue
        for (child, _), gradient in zip(node.next_functions, _call(node, arrived[node])):
            if child is None or gradient is None:
                continue
            if child in arrived:
                arrived[child] += gradient
            else:
                arrived[child] = gradient


@run_backward.mistake(
    en="It looks as if autograd's own engine does the work. The values are right; here your code should walk the graph.",
    ru="Похоже, что работу делает сам autograd. Значения верны, но здесь граф должен обойти ваш код.",
)
def lets_the_engine_do_it(root: Tensor) -> None:
    root.backward()  # type: ignore[no-untyped-call]


# ------------------------------------------------------------------------------------------ core: a second backward


@exercise(
    title=Text("Backward, once more", "Обратный проход ещё раз"),
    kind="predict",
    core=True,
    minutes=5,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "What does the derivative of `x + w` need to know about `x` and `w`? And that of `x * x`?",
            "Что нужно знать об `x` и `w`, чтобы найти производную `x + w`? А производную `x * x`?",
        ),
        Text(
            "A backward pass frees what the graph has saved, not the graph. Only a node that misses its saved values raises.",
            "Обратный проход освобождает то, что граф сохранил, а не сам граф. Ошибка возникает только в узле, "
            "которому нужно освобождённое.",
        ),
        Text(
            "In `x * x + w` the addition makes two nodes ready: that of `w`, an `AccumulateGrad`, and the multiplication. Which of them is run first?",
            "В `x * x + w` после сложения готовы два узла: `AccumulateGrad` для `w` и узел умножения. Какой из них "
            "выполняется первым?",
        ),
    ],
)
def predict_second_backward(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_second_backward)}


@predict_second_backward.mistake(
    en="It looks as if you expect every second `backward()` to raise. It raises only where something saved is needed: "
    "an addition saves nothing.",
    ru="Похоже, вы считаете, что второй `backward()` всегда вызывает ошибку. На самом деле ошибка бывает, только если "
    "нужно что-то из сохранённого, а сложение не сохраняет ничего.",
)
def always_raises() -> dict[str, object]:
    return {"x + w: second": "RuntimeError"}


@predict_second_backward.mistake(
    en="It looks as if you expect a second pass without an error to leave `.grad` as it was. It adds the whole gradient "
    "once more.",
    ru="Похоже, вы считаете, что второй проход без ошибки оставляет `.grad` прежним. На самом деле он прибавляет весь "
    "градиент ещё раз.",
)
def second_pass_adds_nothing() -> dict[str, object]:
    return {"x + w: x.grad": 1.0}


@predict_second_backward.mistake(
    en="It looks as if you expect each pass to replace what is in `.grad`. It adds, with `retain_graph=True` as without.",
    ru="Похоже, вы считаете, что каждый проход заменяет содержимое `.grad`. На самом деле он прибавляет новый "
    "градиент, и с `retain_graph=True`, и без него.",
)
def each_pass_replaces() -> dict[str, object]:
    return {"x + w: x.grad": 1.0, "retained: x.grad": 6.0}


@predict_second_backward.mistake(
    en="It looks as if you expect no second pass to raise. `x * x` has to know `x`, and that was freed after the first pass.",
    ru="Похоже, вы считаете, что второй проход никогда не вызывает ошибки. На самом деле для `x * x` нужен `x`, "
    "а он освобождён после первого прохода.",
)
def never_raises() -> dict[str, object]:
    return {"x * x + w: second": None}


@predict_second_backward.mistake(
    en="It looks as if you expect a backward pass that raises to change nothing. `w` had its gradient added before the error.",
    ru="Похоже, вы считаете, что обратный проход, закончившийся ошибкой, ничего не меняет. На самом деле к `w.grad` "
    "градиент прибавляется ещё до ошибки.",
)
def an_error_changes_nothing() -> dict[str, object]:
    return {"x * x + w: w.grad": 1.0}


@predict_second_backward.mistake(
    en="It looks as if you expect `x.grad` to double. The second pass broke off before it got to `x`.",
    ru="Похоже, вы считаете, что `x.grad` удваивается. На самом деле второй проход прерывается раньше, чем доходит до "
    "`x`.",
)
def an_error_doubles_everything() -> dict[str, object]:
    return {"x * x + w: x.grad": 12.0}


@predict_second_backward.mistake(
    en="It looks as if you expect `retain_graph=True` to keep the second pass from adding. It keeps what was saved; "
    "`.grad` adds up as ever.",
    ru="Похоже, вы считаете, что с `retain_graph=True` второй проход ничего не прибавляет. На самом деле этот "
    "аргумент лишь не даёт освободить то, что сохранили узлы; в `.grad` градиенты складываются, как всегда.",
)
def retaining_does_not_add() -> dict[str, object]:
    return {"retained: x.grad": 6.0}


@predict_second_backward.mistake(
    en="It looks as if the derivative of `x * x` is taken to be `x`. It is `2 * x`: two edges lead to `x`.",
    ru="Похоже, вы считаете, что производная `x * x` равна `x`. На самом деле она равна `2 * x`: к `x` ведут два "
    "ребра.",
)
def forgets_the_factor_two() -> dict[str, object]:
    return {"x * x + w: x.grad": 3.0, "retained: x.grad": 6.0}


@predict_second_backward.mistake(
    en="It looks as if `None` stands in quotes. A pass that runs gives `None` itself, not a word.",
    ru="Похоже, что `None` записан в кавычках. Если проход выполнился, получается сам `None`, а не слово.",
)
def quotes_none() -> dict[str, object]:
    return {"x + w: second": "None"}


# ------------------------------------------------------------------------------------- core: two losses on one graph


TwoLosses = tuple[Tensor, Tensor]


def _losses(w: Tensor, x: Tensor, y: Tensor) -> TwoLosses:
    h = torch.tanh(x @ w)
    return ((h - y) ** 2).mean(), (h**2).mean()


def _loss(value: object) -> object:
    """A loss as a number, whether it came as one, as a tensor or as an array of one number."""
    return number(torch.as_tensor(value, dtype=FLOAT64))


def _goes_again(loss: object, w: Tensor) -> bool:
    """Can a further backward pass go from `loss` to `w`?"""
    if not isinstance(loss, Tensor) or not loss.requires_grad:
        return False
    try:
        torch.autograd.grad(loss, w, retain_graph=True, allow_unused=True)
    except RuntimeError:
        return False
    return True


_ROWS, _WIDTH = 64, 32


def _left_of(answer: Callable[..., object]) -> AtMost:
    """Bytes that stay in memory after the call while the pair that came back is held, the pair's own not counted.

    (Those of a `mse_loss` would be many: on the CPU its one number lies in a storage as large as the input.) `.grad`
    and a quarter of one hidden activation of 64 x 32 numbers are allowed; a graph that was kept holds all of it.
    """
    w = torch.full((4, _WIDTH), 0.1, dtype=FLOAT64, requires_grad=True)
    x, y = torch.ones(_ROWS, 4, dtype=FLOAT64), torch.zeros(_ROWS, _WIDTH, dtype=FLOAT64)
    with live_bytes() as live:
        held = answer(w, x, y, 0.5)
        left = live.now
    with using_answer():
        pair = {each.untyped_storage() for each in held if isinstance(each, Tensor)}  # type: ignore[attr-defined]
        left -= sum(storage.nbytes() for storage in pair)
    return AtMost(limit=(4 * _WIDTH + _ROWS * _WIDTH // 4) * 8, used=left)


@exercise(
    title=Text("Find the bug: two losses, one graph", "Найдите ошибку: две функции потерь, один граф"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    shows_graph=True,
    aspects=[
        aspect(
            "untouched",
            0,
            en="`w`, `x` and `y` hold what they held before the call.",
            ru="В `w`, `x` и `y` лежит то же, что до вызова.",
        ),
        aspect(
            "losses",
            0,
            en="The pair that comes back holds the values of the two losses.",
            ru="Возвращаемая пара содержит значения двух функций потерь.",
        ),
        aspect(
            "gradient",
            1,
            en="`w.grad` equals the gradient of `fit + share * size`.",
            ru="`w.grad` равен градиенту `fit + share * size`.",
        ),
        aspect(
            "backward_runs",
            1,
            en="Autograd makes one backward pass for both losses.",
            ru="Для обеих функций потерь сделан один обратный проход autograd.",
            after=("untouched", "losses", "gradient"),
        ),
        aspect(
            "left",
            2,
            en="After the call nothing that the graph has saved is in memory, although the pair that came back still is. "
            "Counted are bytes on inputs of 64 rows.",
            ru="После вызова в памяти нет ничего из того, что сохранил граф, хотя возвращённая пара ещё хранится. "
            "Считаются байты на входах из 64 строк.",
            after=("untouched", "losses", "gradient"),
        ),
    ],
    hints=[
        Text(
            "Gradients are linear. What single number has the gradient that you want?",
            "Градиент линеен. Градиент какого одного числа вам и нужен?",
        ),
        Text(
            "`retain_graph=True` keeps what the graph has saved: a further pass will need it. After the last pass there is none.",
            "`retain_graph=True` не даёт освободить то, что сохранил граф: это понадобится следующему проходу. Но за "
            "последним проходом следующего нет.",
        ),
        Text(
            "h = torch.tanh(x @ w)\nfit, size = ...\n(...).backward()\nreturn fit, size",
            "h = torch.tanh(x @ w)\nfit, size = ...\n(...).backward()\nreturn fit, size",
        ),
    ],
)
def fix_two_losses(answer: Any, case: Case) -> dict[str, object]:
    with counting_backward_runs() as runs:
        pair = answer.fix_two_losses(case.w, case.x, case.y, case.share)
    with using_answer():
        fit, size = pair
        losses = {"fit": _loss(fit), "size": _loss(size)}
        gradient = None if case.w.grad is None else case.w.grad.clone()
        again = [_goes_again(fit, case.w), _goes_again(size, case.w)]
    return {
        "untouched": {"w": case.w, "x": case.x, "y": case.y},
        "losses": losses,
        "gradient": gradient,
        "goes_again": again,
        "backward_runs": runs.times,
        "left": _left_of(answer.fix_two_losses),
    }


@fix_two_losses.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for rows, width, share in ((5, 2, 0.25), (3, 4, 3.0)):
        w = (0.2 * signed(rng, 3, width)).requires_grad_()
        yield Case(w=w, x=signed(rng, rows, 3), y=uniform(rng, rows, width), share=share)


@fix_two_losses.mistake(
    en="It looks as if `retain_graph=True` was dropped and there are still two passes: the second finds the saved values freed.",
    ru="Похоже, что `retain_graph=True` убран, а проходов по-прежнему два: к началу второго сохранённое уже "
    "освобождено.",
)
def second_pass_raises(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    fit.backward()  # type: ignore[no-untyped-call]
    (share * size).backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="It looks as if there are still two backward passes: the part of the graph that the losses share is gone through "
    "twice, or was even made twice.",
    ru="Похоже, что обратных проходов по-прежнему два: по общей части графа проходят дважды или её даже строят дважды.",
)
def retains_for_the_first(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    fit.backward(retain_graph=True)  # type: ignore[no-untyped-call]
    (share * size).backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="It looks as if there is one pass now, but with `retain_graph=True` or `create_graph=True`: as long as a loss is "
    "held, all saved values stay.",
    ru="Похоже, что проход теперь один, но с `retain_graph=True` или `create_graph=True`: пока хранится хотя бы одно "
    "значение функции потерь, остаётся всё сохранённое.",
)
def retains_out_of_habit(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (fit + share * size).backward(retain_graph=True)  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="It looks as if the second loss went in without its weight `share`.",
    ru="Похоже, что вторая функция потерь вошла в сумму без множителя `share`.",
)
def forgets_the_share(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    torch.autograd.backward([fit, size])
    return fit, size


@fix_two_losses.mistake(
    en="It looks as if `w.grad` has the gradient of the first loss alone: the second never goes backward, or is cut off from `w`.",
    ru="Похоже, что в `w.grad` градиент только первой функции потерь: для второй обратного прохода нет или она "
    "отсоединена от `w`.",
)
def first_loss_only(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    fit.backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="It looks as if the gradient of the second loss alone is left: that of the first was cleared or never computed.",
    ru="Похоже, что остался градиент только второй функции потерь: градиент первой стёрт или не вычислен.",
)
def second_loss_only(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (share * size).backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="It looks as if nothing has changed but the wording: there are still two backward passes, and each of them keeps "
    "what the graph has saved.",
    ru="Похоже, что изменилась только запись: обратных проходов по-прежнему два, и ни один не даёт освободить то, что "
    "сохранил граф.",
)
def retains_for_both(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (share * size).backward(retain_graph=True)  # type: ignore[no-untyped-call]
    fit.backward(retain_graph=True)  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="It looks as if the two values have changed places.",
    ru="Похоже, что два значения поменялись местами.",
)
def swaps_the_pair(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (fit + share * size).backward()  # type: ignore[no-untyped-call]
    return size, fit


@fix_two_losses.mistake(
    en="It looks as if `share * size` comes back in place of `size`.",
    ru="Похоже, что вместо `size` возвращается `share * size`.",
)
def returns_the_weighted_size(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (fit + share * size).backward()  # type: ignore[no-untyped-call]
    return fit, share * size


@fix_two_losses.mistake(
    en="It looks as if `share` is applied twice.",
    ru="Похоже, что множитель `share` применён дважды.",
)
def applies_the_share_twice(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    torch.autograd.backward([fit, share * size], [None, torch.full_like(size, share)])
    return fit, size


@fix_two_losses.mistake(
    en="It looks as if the gradient never gets into `w.grad`: `torch.autograd.grad` returns it and leaves `.grad` alone.",
    ru="Похоже, что градиент не попадает в `w.grad`: `torch.autograd.grad` возвращает его, а `.grad` не трогает.",
)
def leaves_grad_empty(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    torch.autograd.grad(fit + share * size, w)
    return fit, size


@fix_two_losses.mistake(
    en="It looks as if the gradient is right but computed by hand: no backward pass of autograd was made, and one is asked for.",
    ru="Похоже, что градиент верен, но вычислен вручную: обратного прохода autograd не было, а нужен один.",
)
def computes_it_by_hand(w: Tensor, x: Tensor, y: Tensor, share: float) -> tuple[float, float]:
    with torch.no_grad():
        h = torch.tanh(x @ w)
        fit, size = _losses(w, x, y)
        w.grad = x.T @ (2 * (h - y + share * h) / h.numel() * (1 - h**2))
    return fit.item(), size.item()


# ------------------------------------------------------------------------------------- core: what keeps graphs alive


def linear(rng: torch.Generator, features: int) -> torch.nn.Linear:
    """A linear model without bias, before its first backward pass."""
    model = torch.nn.Linear(features, 1, bias=False, dtype=FLOAT64)
    model.weight = torch.nn.Parameter(uniform(rng, 1, features))
    return model


def _batches(rng: torch.Generator, *targets: float, features: int, scale: float = 1.0) -> Batches:
    """Batches of four samples; the further a target is from 0, the greater the loss."""
    return [(scale * signed(rng, 4, features), scale * t * uniform(rng, 4, 1)) for t in targets]


_BATCHES = 8


def _memory_of(answer: Callable[..., object]) -> tuple[AtMost, str]:
    """Peak bytes over 8 batches through a hidden layer of 64 x 32 numbers; the first batch is the worst.

    A finished graph holds one hidden activation, one that is being built two. The worst so far, the batch before and
    the one being built make 4; the limit is 1.25 times that. All eight graphs make 9, one batch out of all eight 16.
    The word says which of these it is like.
    """
    net = torch.nn.Sequential(torch.nn.Linear(2, _WIDTH), torch.nn.Tanh(), torch.nn.Linear(_WIDTH, 1)).double()
    batches = [
        (torch.ones(_ROWS, 2, dtype=FLOAT64), torch.full((_ROWS, 1), 100.0 / (1 + i), dtype=FLOAT64))
        for i in range(_BATCHES)
    ]
    with live_bytes() as live:
        answer(net, batches)
    activations = live.peak / (_ROWS * _WIDTH * 8)
    like = "some graphs" if activations < 8 else "all graphs" if activations < 13 else "one large batch"
    return AtMost(limit=round(1.25 * 4 * _ROWS * _WIDTH * 8), used=live.peak), like


@exercise(
    title=Text("One graph to keep, the others to let go", "Один граф оставить, остальные отпустить"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "state",
            0,
            en="No backward pass is made inside, and the model, its `.grad` and the list of batches stay as they were.",
            ru="Обратный проход внутри не выполняется, а модель, её `.grad` и список батчей остались прежними.",
        ),
        aspect(
            "mean",
            1,
            en="The first of the pair is the mean loss over all batches, a `float`.",
            ru="Первое в паре — среднее значение функции потерь по всем батчам, число типа `float`.",
        ),
        aspect(
            "worst",
            1,
            en="The second of the pair is the loss of the worst batch.",
            ru="Второе в паре — значение функции потерь на худшем батче.",
        ),
        aspect(
            "gradient",
            1,
            en="A backward pass from the second of the pair gives the gradient of the worst batch's loss.",
            ru="Обратный проход от второго значения в паре даёт градиент функции потерь на худшем батче.",
            after=("state", "worst"),
        ),
        aspect(
            "live_bytes",
            1,
            en="However many batches there are, at most three graphs are in memory at any moment. Counted are bytes "
            "with 8 batches of 64 rows.",
            ru="Сколько бы ни было батчей, в памяти одновременно не больше трёх графов. Считаются байты на 8 батчах "
            "по 64 строки.",
            after=("state", "mean", "worst", "gradient"),
        ),
    ],
    hints=[
        Text(
            "A graph lives as long as something refers to it. Which names and lists hold a loss, and until when?",
            "Граф живёт, пока на него что-то ссылается. Какие имена и списки хранят значение функции потерь и до "
            "каких пор?",
        ),
        Text(
            "What has to be a tensor with a history in the end, and what may be a number from the start?",
            "Что в конце должно быть тензором с историей, а что может быть числом с самого начала?",
        ),
        Text(
            "total, worst = 0.0, None\nfor x, y in batches:\n    loss = mse_loss(model(x), y)\n    ...\n    if worst is None or ...:\n        ...\nreturn total / len(batches), worst",
            "total, worst = 0.0, None\nfor x, y in batches:\n    loss = mse_loss(model(x), y)\n    ...\n    if worst is None or ...:\n        ...\nreturn total / len(batches), worst",
        ),
    ],
)
def mean_and_worst(answer: Any, case: Case) -> dict[str, object]:
    weight = case.model.weight
    with counting_backward_runs() as runs:
        pair = answer.mean_and_worst(case.model, case.batches)
    state = {
        "backward passes": runs.times,
        "weight": weight.detach().clone(),
        "weight.grad": None if weight.grad is None else weight.grad.clone(),
        "model.training": case.model.training,
        "len(batches)": len(case.batches),
    }
    weight.grad = None
    with using_answer():
        mean, worst = pair
        if isinstance(worst, Tensor) and worst.requires_grad and not runs.times:
            worst.backward()
    live, like = _memory_of(answer.mean_and_worst)
    return {
        "state": state,
        "mean": mean,
        "worst": number(worst),
        "gradient": weight.grad,
        "is_tensor": isinstance(worst, Tensor),
        "live_bytes": live,
        "like": like,
    }


@mean_and_worst.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for features, scale, targets in (
        (2, 1.0, (5.0, 40.0, 10.0, 20.0)),
        (3, 1e-3, (90.0, 9.0, 30.0)),
    ):
        model = linear(rng, features)
        if features == 3:
            model.weight.grad = 100 * signed(rng, 1, 3)
        yield Case(model=model, batches=_batches(rng, *targets, features=features, scale=scale))


Pair = tuple[Any, Any]


@mean_and_worst.mistake(
    en="It looks as if the graph of every batch stays until the end: in a list of losses, or behind a total or a maximum that is a tensor.",
    ru="Похоже, что граф каждого батча остаётся до конца: его удерживает список значений функции потерь либо сумма "
    "или максимум, которые остались тензорами.",
)
def keeps_every_graph(model: Any, batches: Batches) -> Pair:
    losses = [mse_loss(model(x), y) for x, y in batches]
    return sum(loss.item() for loss in losses) / len(losses), max(losses)


@mean_and_worst.mistake(
    en="It looks as if the mean is still a tensor. Unless detached, it holds the graphs of all batches: add up `.item()`.",
    ru="Похоже, что среднее осталось тензором. Если его не отсоединить, оно удержит графы всех батчей: складывайте "
    "`.item()`.",
)
def returns_a_tensor(model: Any, batches: Batches) -> Pair:
    losses = [mse_loss(model(x), y) for x, y in batches]
    return torch.stack(losses).mean(), max(losses)


@mean_and_worst.mistake(
    en="It looks as if the losses are added up and not divided by the number of batches.",
    ru="Похоже, что значения функции потерь сложены, но не разделены на число батчей.",
)
def returns_the_sum(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    return mean * len(batches), worst


@mean_and_worst.mistake(
    en="It looks as if what comes back for the worst batch is a tensor without a graph: detached, or computed under `no_grad`.",
    ru="Похоже, что для худшего батча возвращается тензор без графа: он отсоединён или вычислен под `no_grad`.",
)
def detaches_the_worst(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    return mean, worst.detach()


@mean_and_worst.mistake(
    en="It looks as if the worst loss is a number. A number has no graph, and nothing can go backward from it.",
    ru="Похоже, что наибольшее значение функции потерь возвращается как число. У числа нет графа, и обратный проход "
    "от него невозможен.",
)
def makes_the_worst_a_number(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    return mean, worst.item()


@mean_and_worst.mistake(
    en="It looks as if the batch with the smallest loss was kept.",
    ru="Похоже, что оставлен батч с наименьшим значением функции потерь.",
)
def keeps_the_best(model: Any, batches: Batches) -> Pair:
    return _mean_and_extreme(model, batches, min)


@mean_and_worst.mistake(
    en="It looks as if the last batch was kept, whatever its loss.",
    ru="Похоже, что оставлен последний батч, каково бы ни было на нём значение функции потерь.",
)
def keeps_the_last(model: Any, batches: Batches) -> Pair:
    mean, _ = _mean_and_extreme(model, batches, max)
    return mean, mse_loss(model(batches[-1][0]), batches[-1][1])


@mean_and_worst.mistake(
    en="It looks as if a backward pass from the worst loss is made inside the function. It is for the caller to make.",
    ru="Похоже, что внутри функции выполнен обратный проход от наибольшего значения функции потерь. Это дело "
    "вызывающего кода.",
)
def uses_the_graph_up(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    worst.backward()
    return mean, worst


@mean_and_worst.mistake(
    en="It looks as if a backward pass is made inside the function for every batch: gradients were added to `.grad`.",
    ru="Похоже, что внутри функции выполнен обратный проход для каждого батча: к `.grad` прибавлены градиенты.",
)
def goes_backward_for_every_batch(model: Any, batches: Batches) -> Pair:
    for x, y in batches:
        mse_loss(model(x), y).backward()  # type: ignore[no-untyped-call]
    return _mean_and_extreme(model, batches, max)


@mean_and_worst.mistake(
    en="It looks as if the model is left in evaluation mode. Nobody asked to switch the mode.",
    ru="Похоже, что модель осталась в режиме оценки. Менять режим не требовалось.",
)
def leaves_eval_mode(model: Any, batches: Batches) -> Pair:
    model.eval()
    return _mean_and_extreme(model, batches, max)


@mean_and_worst.mistake(
    en="It looks as if the function clears `.grad`. What is in there is the caller's.",
    ru="Похоже, что функция обнуляет `.grad`. То, что там лежит, принадлежит вызывающему коду.",
)
def clears_the_gradients(model: Any, batches: Batches) -> Pair:
    model.zero_grad()
    return _mean_and_extreme(model, batches, max)


@mean_and_worst.mistake(
    en="It looks as if the two have changed places: the tensor comes first.",
    ru="Похоже, что значения поменялись местами: тензор стоит первым.",
)
def swaps_the_two(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    return worst, mean


@mean_and_worst.mistake(
    en="It looks as if more graphs are kept than are needed: those of several batches at once.",
    ru="Похоже, что хранится больше графов, чем нужно: сразу для нескольких батчей.",
)
def keeps_several(model: Any, batches: Batches) -> Pair:
    kept: list[Tensor] = []
    total = 0.0
    for x, y in batches:
        kept = sorted([*kept, mse_loss(model(x), y)])[-4:]
        total += mse_loss(model(x), y).item()
    return total / len(batches), kept[-1]


@mean_and_worst.mistake(
    en="It looks as if all batches are put together and computed at once. The memory grows with their number, "
    "with a graph or without.",
    ru="Похоже, что все батчи собраны вместе и вычислены сразу. Расход памяти растёт с числом батчей, есть граф или "
    "нет.",
)
def joins_the_batches(model: Any, batches: Batches) -> Pair:
    with torch.no_grad():
        x, y = (torch.cat(each) for each in zip(*batches))
        losses = ((model(x) - y) ** 2).flatten().reshape(len(batches), -1).mean(1)
    x, y = batches[int(losses.argmax())]
    return losses.mean().item(), mse_loss(model(x), y)


def _mean_and_extreme(model: Any, batches: Batches, choose: Callable[..., Tensor]) -> tuple[float, Tensor]:
    losses = [mse_loss(model(x), y) for x, y in batches]
    return sum(loss.item() for loss in losses) / len(losses), choose(losses)


# ------------------------------------------------------------------------------------------ core: NaN through `where`


@exercise(
    title=Text("Find the bug: a root that gives NaN", "Найдите ошибку: корень, который даёт NaN"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    shows_graph=True,
    rtol=2e-5,
    aspects=[
        aspect(
            "untouched",
            0,
            en="`x` is what it was: the same numbers, and no hook.",
            ru="`x` остался прежним: числа те же, хуков нет.",
        ),
        aspect(
            "value",
            1,
            en="The value is the root where `x > 0`, and 0 elsewhere.",
            ru="Значение равно корню там, где `x > 0`, и нулю в остальных местах.",
        ),
        aspect(
            "gradient",
            2,
            en="The derivative is `1 / (2 * sqrt(x))` where `x > 0`, and 0 elsewhere.",
            ru="Производная равна `1 / (2 * sqrt(x))` там, где `x > 0`, и нулю в остальных местах.",
            after=("untouched", "value"),
        ),
    ],
    hints=[
        Text(
            "`where` sends 0 into the branch that was not taken. What does `SqrtBackward0` multiply this 0 by?",
            "`where` посылает 0 в ветвь, которая не выбрана. На что умножает этот 0 узел `SqrtBackward0`?",
        ),
        Text(
            "No number may get into `sqrt` at which its derivative is infinite or undefined, not even in an entry that is thrown away.",
            "В `sqrt` не должно попасть ни одно число, при котором производная бесконечна или не определена, даже "
            "если этот элемент потом отбрасывается.",
        ),
        Text(
            "inside = torch.where(x > 0, x, ...)\nreturn torch.where(x > 0, ..., 0.0)",
            "inside = torch.where(x > 0, x, ...)\nreturn torch.where(x > 0, ..., 0.0)",
        ),
    ],
)
def safe_sqrt(answer: Any, case: Case) -> dict[str, object]:
    y = answer.safe_sqrt(case.x)
    with using_answer():
        value, gradient = y.detach().clone(), None
        if y.requires_grad:
            upstream = torch.linspace(1, 2, y.numel(), dtype=y.dtype).reshape(y.shape)
            (gradient,) = torch.autograd.grad(y, case.x, upstream, allow_unused=True)
        names = [node.name() for node in graph_nodes(y)]
    hooks = case.x._backward_hooks
    return {
        "untouched": {"x": case.x, "hooks": len(hooks or ())},
        "value": value,
        "gradient": gradient,
        "names": names,
    }


@safe_sqrt.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for shape in ((7,), (3, 4)):
        x = signed(rng, *shape)
        x.view(-1)[:5] = torch.tensor([0.0, 1e-4, -1.0, 4.0, 0.0], dtype=FLOAT64)
        yield Case(x=x.requires_grad_())
    for scale, dtype in (1e-12, torch.float64), (1e-30, torch.float32):
        x = scale * uniform(rng, 5)
        x[0], x[1] = 0.0, -x[1]
        yield Case(x=x.to(dtype).requires_grad_())
    yield Case(x=uniform(rng).requires_grad_())


@safe_sqrt.mistake(
    en="It looks as if a small number is added to `x` inside `sqrt`. That changes the value where `x` is small, and below 0 `sqrt` is still undefined.",
    ru="Похоже, что внутри `sqrt` к `x` прибавлено малое число. Это меняет значение при малых `x`, а ниже нуля `sqrt` "
    "по-прежнему не определён.",
)
def adds_a_little(x: Tensor) -> Tensor:
    return torch.where(x > 0, (x + 1e-5).sqrt(), 0.0)


@safe_sqrt.mistake(
    en="It looks as if the root of a small positive number stands in place of 0.",
    ru="Похоже, что на месте нуля стоит корень из малого положительного числа.",
)
def clamps_at_a_little(x: Tensor) -> Tensor:
    return x.clamp(min=1e-6).sqrt()


@safe_sqrt.mistake(
    en="It looks as if NaN is multiplied by 0. That is NaN again, in the value itself.",
    ru="Похоже, что NaN умножается на 0. Получается снова NaN, уже в самом значении.",
)
def multiplies_by_a_mask(x: Tensor) -> Tensor:
    return x.sqrt() * (x > 0)


@safe_sqrt.mistake(
    en="It looks as if negative numbers are cut off, but the root of 0 is still taken: at 0 the gradient is infinite.",
    ru="Похоже, что отрицательные числа отсечены, но корень из 0 всё ещё вычисляется: в нуле градиент бесконечен.",
)
def clamps_at_zero(x: Tensor) -> Tensor:
    return x.clamp(min=0).sqrt()


@safe_sqrt.mistake(
    en="It looks as if NaN is replaced in the value alone. The gradient still goes through the root: infinite at 0, NaN below.",
    ru="Похоже, что NaN заменён только в значении. Градиент по-прежнему идёт через корень: в нуле он бесконечен, ниже "
    "нуля это NaN.",
)
def replaces_nan_in_the_value(x: Tensor) -> Tensor:
    return x.sqrt().nan_to_num()


@safe_sqrt.mistake(
    en="It looks as if `sqrt` still gets 0 and negative numbers. What comes after it protects the value only.",
    ru="Похоже, что в `sqrt` по-прежнему попадают 0 и отрицательные числа. То, что идёт после него, защищает только "
    "значение.",
)
def protects_the_value_only(x: Tensor) -> Tensor:
    return torch.where(x > 0, x.sqrt(), 0.0).nan_to_num()


@safe_sqrt.mistake(
    en="It looks as if 1e-8 is added to `x` inside `sqrt`: 0 is safe now, but a small `x` gets a wrong value, and below 0 `sqrt` is still undefined.",
    ru="Похоже, что внутри `sqrt` к `x` прибавлено 1e-8: в нуле теперь всё в порядке, но при малых `x` значение "
    "неверно, а ниже нуля `sqrt` по-прежнему не определён.",
)
def adds_a_hundred_millionth(x: Tensor) -> Tensor:
    return torch.where(x > 0, (x + 1e-8).sqrt(), 0.0)


@safe_sqrt.mistake(
    en="It looks as if 1e-12 is added to `x` inside `sqrt`: 0 is safe now, but a small `x` gets a wrong value, and below 0 `sqrt` is still undefined.",
    ru="Похоже, что внутри `sqrt` к `x` прибавлено 1e-12: в нуле теперь всё в порядке, но при малых `x` значение "
    "неверно, а ниже нуля `sqrt` по-прежнему не определён.",
)
def adds_next_to_nothing(x: Tensor) -> Tensor:
    return torch.where(x > 0, (x + 1e-12).sqrt(), 0.0)


@safe_sqrt.mistake(
    en="It looks as if small positive numbers are taken for 0: the border is not at 0 but above it.",
    ru="Похоже, что малые положительные числа приняты за ноль: граница проведена не в нуле, а выше.",
)
def draws_the_border_above_zero(x: Tensor) -> Tensor:
    inside = torch.where(x > 1e-6, x, 1.0)
    return torch.where(x > 1e-6, inside.sqrt(), 0.0)


@safe_sqrt.mistake(
    en="It looks as if nothing has changed but the wording: `sqrt` still gets 0 and negative numbers, and a choice comes after it.",
    ru="Похоже, что изменилась только запись: в `sqrt` по-прежнему попадают 0 и отрицательные числа, а выбор идёт "
    "после него.",
)
def words_it_otherwise(x: Tensor) -> Tensor:
    return torch.where(x <= 0, torch.zeros_like(x), torch.sqrt(x))


@safe_sqrt.mistake(
    en="It looks as if the NaN is born as before and then wiped off by a hook, which stays on the caller's `x`. "
    "There it hides every later NaN as well.",
    ru="Похоже, что NaN возникает, как и раньше, а потом его стирает хук. Хук остаётся на `x` вызывающего кода "
    "и спрячет любой следующий NaN.",
)
def wipes_the_nan_off(x: Tensor) -> Tensor:
    x.register_hook(lambda gradient: gradient.nan_to_num(0.0))
    return torch.where(x > 0, x.sqrt(), 0.0)


@safe_sqrt.mistake(
    en="It looks as if the numbers of `x` themselves are changed. `x` is the caller's.",
    ru="Похоже, что изменены числа в самом `x`. А `x` принадлежит вызывающему коду.",
)
def changes_x_itself(x: Tensor) -> Tensor:
    with torch.no_grad():
        x.clamp_(min=0)
    return torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0)


@safe_sqrt.mistake(
    en="It looks as if only the positive entries come back. The result has the shape of `x`.",
    ru="Похоже, что возвращаются только положительные элементы. А форма результата должна быть та же, что у `x`.",
)
def keeps_positive_entries_only(x: Tensor) -> Tensor:
    return x[x > 0].sqrt()


@safe_sqrt.mistake(
    en="It looks as if a negative number is taken by its magnitude: there the value has to be 0.",
    ru="Похоже, что отрицательное число взято по модулю: значение там должно быть 0.",
)
def takes_the_root_of_the_magnitude(x: Tensor) -> Tensor:
    return x.abs().sqrt()


@safe_sqrt.mistake(
    en="It looks as if only negative numbers are kept out of `sqrt`. At 0 its derivative is infinite, and 0 times infinity is NaN.",
    ru="Похоже, что отрицательные числа в `sqrt` больше не попадают, а ноль попадает. Производная в нём бесконечна, а "
    "0, умноженный на бесконечность, — это NaN.",
)
def takes_the_magnitude(x: Tensor) -> Tensor:
    return torch.where(x > 0, x.abs().sqrt(), 0.0)


@safe_sqrt.mistake(
    en="It looks as if `sqrt` is cut off from the graph: no NaN comes back, and no gradient either.",
    ru="Похоже, что `sqrt` отсоединён от графа: NaN не возвращается, но и градиента нет.",
)
def cuts_the_root_off(x: Tensor) -> Tensor:
    return torch.where(x > 0, x.detach().sqrt(), 0.0)


@safe_sqrt.mistake(
    en="It looks as if the entries that are not positive are taken as 1 all the way: the value there is 1 instead of 0.",
    ru="Похоже, что неположительные элементы так и остались единицами: значение там 1, а не 0.",
)
def forgets_the_outer_where(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, 1.0).sqrt()


# ---------------------------------------------------------------------------------- extra: the node that makes the NaN


@exercise(
    title=Text("The node that makes the NaN", "Узел, в котором возникает NaN"),
    kind="complete",
    difficulty=3,
    minutes=20,
    aspects=[
        aspect(
            "node",
            3,
            en="The name is that of the node which gives NaN although no NaN came in; without a NaN it is None.",
            ru="Возвращается имя узла, который выдаёт NaN, хотя на вход ему NaN не приходил; если NaN нет, "
            "возвращается None.",
        )
    ],
    hints=[
        Text(
            "Each node gets gradients and gives gradients. Where can you see both during a backward pass?",
            "Каждый узел получает градиенты и выдаёт градиенты. Где во время обратного прохода видно и те и другие?",
        ),
        Text(
            "Walk the graph first and call `node.register_hook(f)` on each node: `f(given, received)` runs after the node, both are tuples, entries may be None.",
            "Сначала обойдите граф и вызовите для каждого узла `node.register_hook(f)`: `f(given, received)` "
            "выполняется после узла, оба аргумента — кортежи, в них бывает None.",
        ),
        Text(
            "def watch(node):\n    def f(given, received):\n        ...\n    node.register_hook(f)\n\nfor node in ...:\n    watch(node)\n...",
            "def watch(node):\n    def f(given, received):\n        ...\n    node.register_hook(f)\n\nfor node in ...:\n    watch(node)\n...",
        ),
    ],
)
def nan_node(answer: Any, case: Case) -> dict[str, object]:
    return {"node": answer.nan_node(case.loss)}


@nan_node.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    a, b = leaf(rng, 4), signed(rng, 4)
    b[1] = 0.0
    x = a * b
    yield Case(loss=(3 * torch.where(x > 0, x.sqrt(), 0.0)).sum())
    p = leaf(rng, 3)
    yield Case(loss=((p - p.detach().clone()) ** 2).sum().sqrt() + p.sum())
    x = uniform(rng, 2, 3)
    x[0, 2] = 1000.0
    x.requires_grad_()
    yield Case(loss=torch.where(x < 100, (2 * x).exp(), 1.0).mean())
    p = uniform(rng, 3)
    p[1] = 0.0
    yield Case(loss=(2 * p.requires_grad_()).sqrt().sum())  # an infinite gradient, but no NaN
    yield Case(loss=(leaf(rng, 2) * signed(rng, 2)).tanh().sum())
    for first in (True, False):  # `h` gets a NaN, and a walk may reach it before the node that makes it
        h = leaf(rng, 3) * torch.tensor([0.0, 1.0, -1.0], dtype=FLOAT64)
        guarded = torch.where(h > 0, h.sqrt(), 0.0).sum()
        yield Case(loss=h.sum() + guarded if first else guarded + h.sum())
    p, q = (leaf(rng, 3) * signed(rng, 2, 3)).unbind()
    yield Case(loss=p.exp().sum() + torch.where(q < 0, 1.0, (q - q.detach().clone()).sqrt() * 0).sum())
    a, b = signed(rng, 3), leaf(rng, 3)
    a[2] = 0.0
    yield Case(loss=b.sum() + (a.abs().requires_grad_() * b).sqrt().sum())  # NaN for the second operand alone


def _watched(loss: Tensor) -> list[tuple[str, bool, bool, bool]]:
    """Name, NaN received, NaN given, infinity given, for each node in the order of a backward pass."""
    seen: list[tuple[str, bool, bool, bool]] = []

    def any_of(test: Callable[[Tensor], Tensor], tensors: tuple[Tensor | None, ...]) -> bool:
        return any(t is not None and bool(test(t).any()) for t in tensors)

    for node in graph_nodes(loss):

        def watch(given: Any, received: Any, node: Any = node) -> None:
            last = received if hasattr(node, "variable") else given
            nan, came, inf = any_of(torch.isnan, last), any_of(torch.isnan, received), any_of(torch.isinf, last)
            seen.append((node.name(), came, nan, inf))

        node.register_hook(watch)
    loss.backward()  # type: ignore[no-untyped-call]
    return seen


@nan_node.mistake(
    en="It looks as if a leaf's node is named, which only receives the NaN. Either the last node with a NaN is taken, "
    "or `given` and `received` have changed places, or all hooks see the same `node`: the one where the loop ended.",
    ru="Похоже, что назван узел листа, а он NaN только получает. Либо взят последний узел с NaN, либо перепутаны "
    "`given` и `received`, либо все хуки видят один и тот же `node` — тот, на котором закончился цикл.",
)
def names_the_last(loss: Tensor) -> str | None:
    return next((name for name, _, nan, _ in reversed(_watched(loss)) if nan), None)


def _giving_nan(loss: Tensor) -> set[Any]:
    """The nodes that give a NaN, whether or not one came in."""
    bad: set[Any] = set()
    for node in graph_nodes(loss):

        def watch(given: Any, received: Any, node: Any = node) -> None:
            if any(g is not None and bool(g.isnan().any()) for g in given):
                bad.add(node)

        node.register_hook(watch)
    loss.backward()  # type: ignore[no-untyped-call]
    return bad


def _stack_order(loss: Tensor) -> list[Any]:
    order: list[Any] = []
    todo: list[Any] = [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in order:
            order.append(node)
            todo += [child for child, _ in node.next_functions]
    return order


def _list_order(loss: Tensor) -> list[Any]:
    order: list[Any] = [loss.grad_fn]
    for node in order:
        for child, _ in node.next_functions:
            if child is not None and child not in order:
                order.append(child)
    return order


def _recursion_order(loss: Tensor) -> list[Any]:
    order: list[Any] = []

    def visit(node: Any) -> None:
        if node is not None and node not in order:
            order.append(node)
            for child, _ in node.next_functions:
                visit(child)

    visit(loss.grad_fn)
    return order


@nan_node.mistake(
    en="It looks as if the first node with a NaN is named in the order of a walk, not in that of the backward pass: "
    "the walk may come first to a node that only hands the NaN on.",
    ru="Похоже, что назван первый узел с NaN в порядке обхода, а не в порядке обратного прохода: "
    "при обходе раньше может встретиться узел, который NaN только передаёт.",
)
def names_the_first_of_a_recursion(loss: Tensor) -> str | None:
    bad = _giving_nan(loss)
    return next((node.name() for node in _recursion_order(loss) if node in bad), None)


@nan_node.mistake(
    en="It looks as if the first node with a NaN is named in the order in which a stack gives the nodes, "
    "not in that of the backward pass: the stack may give a node first that only hands the NaN on.",
    ru="Похоже, что назван первый узел с NaN в том порядке, в каком узлы выдаёт стек, а не в порядке обратного "
    "прохода: раньше может попасться узел, который NaN только передаёт.",
)
def names_the_first_of_a_stack(loss: Tensor) -> str | None:
    bad = _giving_nan(loss)
    return next((node.name() for node in _stack_order(loss) if node in bad), None)


@nan_node.mistake(
    en="It looks as if all hooks name one node: the one where the loop over the stack ended. "
    "A function made in a loop sees the variable's last value; each hook needs its own.",
    ru="Похоже, что все хуки называют один и тот же узел: тот, на котором закончился цикл по стеку. "
    "Функция, созданная в цикле, видит последнее значение переменной; каждому хуку нужно своё.",
)
def hooks_share_the_end_of_a_stack(loss: Tensor) -> str | None:
    seen: set[Any] = set()
    todo: list[Any] = [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [child for child, _ in node.next_functions]
    return str(node.name()) if node is not None and _giving_nan(loss) else None


@nan_node.mistake(
    en="It looks as if all hooks name one node: the one where the loop over a list ended. "
    "A function made in a loop sees the variable's last value; each hook needs its own.",
    ru="Похоже, что все хуки называют один и тот же узел: тот, на котором закончился цикл по списку. "
    "Функция, созданная в цикле, видит последнее значение переменной; каждому хуку нужно своё.",
)
def hooks_share_the_end_of_a_list(loss: Tensor) -> str | None:
    return str(_list_order(loss)[-1].name()) if _giving_nan(loss) else None


@nan_node.mistake(
    en="It looks as if an infinite gradient counts as NaN. Infinity is where the trouble begins, but the node with the NaN comes later or never.",
    ru="Похоже, что бесконечный градиент принят за NaN. С бесконечности всё начинается, но узел с NaN идёт позже, а "
    "может и не встретиться.",
)
def takes_infinity_for_nan(loss: Tensor) -> str | None:
    return next((name for name, _, nan, inf in _watched(loss) if nan or inf), None)


@nan_node.mistake(
    en="It looks as if the node to which a NaN comes in is named, not the node that made it.",
    ru="Похоже, что назван узел, в который NaN пришёл, а не тот, в котором он возник.",
)
def names_the_next(loss: Tensor) -> str | None:
    return next((name for name, came, _, _ in _watched(loss) if came), None)


@nan_node.mistake(
    en="It looks as if the error of anomaly mode gets out of the function. Catch it: its text has the name.",
    ru="Похоже, что ошибка режима обнаружения аномалий выходит из функции. Перехватите её: имя узла есть в тексте "
    "ошибки.",
)
def lets_the_error_out(loss: Tensor) -> None:
    with torch.autograd.set_detect_anomaly(True):
        loss.backward()  # type: ignore[no-untyped-call]


@nan_node.mistake(
    en="It looks as if the loss's own node is named. It is where the backward pass begins, not where the NaN does.",
    ru="Похоже, что назван узел самой функции потерь. С него начинается обратный проход, но не NaN.",
)
def names_the_root(loss: Tensor) -> str | None:
    node: Any = loss.grad_fn
    return str(node.name()) if any(nan for _, _, nan, _ in _watched(loss)) else None


@nan_node.mistake(
    en="It looks as if a gradient counts only when all of its entries are NaN. One is enough.",
    ru="Похоже, что градиент учитывается, только если NaN — все его элементы. Достаточно одного.",
)
def wants_every_entry_nan(loss: Tensor) -> str | None:
    found: list[str] = []

    def all_nan(gradients: Any) -> bool:
        return any(g is not None and bool(g.isnan().all()) for g in gradients)

    for node in graph_nodes(loss):

        def watch(given: Any, received: Any, node: Any = node) -> None:
            if all_nan(given) and not all_nan(received):
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()  # type: ignore[no-untyped-call]
    return found[0] if found else None


@nan_node.mistake(
    en="It looks as if only the first operand of each node is followed. The NaN may come by another edge.",
    ru="Похоже, что обход идёт только по первому входу каждого узла. NaN может быть и за другим ребром.",
)
def follows_first_operands(loss: Tensor) -> str | None:
    found: list[str] = []
    node: Any = loss.grad_fn
    while node is not None:

        def watch(given: Any, received: Any, node: Any = node) -> None:
            came, gone = (any(g is not None and bool(g.isnan().any()) for g in each) for each in (received, given))
            if gone and not came:
                found.append(node.name())

        node.register_hook(watch)
        node = node.next_functions[0][0] if node.next_functions else None
    loss.backward()  # type: ignore[no-untyped-call]
    return found[0] if found else None


@nan_node.mistake(
    en="It looks as if only the first of the gradients that a node gives is looked at.",
    ru="Похоже, что просматривается только первый из градиентов, которые выдаёт узел.",
)
def looks_at_the_first_gradient(loss: Tensor) -> str | None:
    found: list[str] = []
    for node in graph_nodes(loss):

        def watch(given: Any, received: Any, node: Any = node) -> None:
            came = any(g is not None and bool(g.isnan().any()) for g in received)
            if given and given[0] is not None and bool(given[0].isnan().any()) and not came:
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()  # type: ignore[no-untyped-call]
    return found[0] if found else None


@nan_node.mistake(
    en="It looks as if the node itself comes back, not its name: `node.name()` is a `str`.",
    ru="Похоже, что возвращается сам узел, а не его имя: `node.name()` — это `str`.",
)
def returns_the_node(loss: Tensor) -> Any:
    nodes = {node.name(): node for node in graph_nodes(loss)}
    name = next((name for name, came, nan, _ in _watched(loss) if nan and not came), None)
    return nodes[name] if name else None


# -------------------------------------------------------------------------- extra: what `torch.autograd.grad` returns


@exercise(
    title=Text("Find the bug: gradients that change together", "Найдите ошибку: градиенты, которые меняются вместе"),
    kind="find the bug",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "gradients",
            1,
            en="Each gradient is multiplied by its own factor, and an input that `y` does not use gets zeros.",
            ru="Каждый градиент умножен на свой множитель, а вход, от которого `y` не зависит, получает нули.",
        ),
        aspect(
            "own",
            1,
            en="No gradient shares memory with `v` or with another one, and none has a graph.",
            ru="У градиентов нет ни графа, ни общей памяти: ни с `v`, ни друг с другом.",
        ),
        aspect(
            "untouched",
            1,
            en="`v` and the `.grad` of the inputs are what they were.",
            ru="`v` и `.grad` входов остались прежними.",
        ),
    ],
    hints=[
        Text(
            "For `y = a + b`, what is the gradient with respect to `a`, and what is it with respect to `b`? Are these two tensors?",
            "Чему для `y = a + b` равен градиент по `a` и чему по `b`? Это два тензора?",
        ),
        Text(
            "Compare with `is`: `torch.autograd.grad(a + b, [a, b], v)` may give you `v` itself, twice. Look for `materialize_grads`, too.",
            "Сравните с помощью `is`: `torch.autograd.grad(a + b, [a, b], v)` может дважды вернуть сам `v`. "
            "Посмотрите и на `materialize_grads`.",
        ),
        Text(
            "gradients = torch.autograd.grad(y, inputs, v, ...)\nreturn [... for gradient, factor in zip(gradients, factors)]",
            "gradients = torch.autograd.grad(y, inputs, v, ...)\nreturn [... for gradient, factor in zip(gradients, factors)]",
        ),
    ],
)
def fix_shared_gradients(answer: Any, case: Case) -> dict[str, object]:
    gradients = answer.fix_shared_gradients(case.y, case.inputs, case.v, case.factors)
    with using_answer():
        tensors = [g for g in gradients if isinstance(g, Tensor)] if isinstance(gradients, (list, tuple)) else []
        places = {each.untyped_storage().data_ptr() for each in (*tensors, case.v)}
    return {
        "gradients": gradients,
        "own": {
            "shared": len(places) <= len(tensors),
            "requires_grad": any(each.requires_grad for each in tensors),
        },
        "untouched": {"v": case.v, ".grad": [x.grad for x in case.inputs]},
    }


@fix_shared_gradients.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    a, b, c = leaf(rng, 3), leaf(rng, 3), leaf(rng, 2, 2)
    yield Case(y=a + b, inputs=[a, b, c], v=signed(rng, 3), factors=[2.0, -5.0, 3.0])
    a, b, c = leaf(rng, 2, 3), leaf(rng, 4), leaf(rng, 2, 3)
    yield Case(y=(a * c).sin() + a, inputs=[c, b, a], v=signed(rng, 2, 3), factors=[0.5, 7.0, 4.0])
    a, b = leaf(rng, 4), leaf(rng, 4)
    yield Case(y=a + b.exp(), inputs=[a, b], v=signed(rng, 4), factors=[1.0, 0.1])


@fix_shared_gradients.mistake(
    en="It looks as if `v` was saved by a copy, but two gradients are still one tensor: both factors went into it.",
    ru="Похоже, что `v` защищён копией, но два градиента — всё ещё один тензор: в него вошли оба множителя.",
)
def copies_v_only(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v.clone(), materialize_grads=True)
    for gradient, factor in zip(gradients, factors):
        gradient *= factor
    return list(gradients)


@fix_shared_gradients.mistake(
    en="It looks as if the factors are right but an unused input gives None. None is no tensor to go on with: `materialize_grads=True` gives zeros.",
    ru="Похоже, что множители верны, но для неиспользованного входа возвращается None. Вычислять с None дальше "
    "нельзя: `materialize_grads=True` даёт нули.",
)
def leaves_none(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor | None]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [None if gradient is None else gradient * factor for gradient, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="It looks as if the unused input still raises: “appears to not have been used in the graph”.",
    ru="Похоже, что неиспользованный вход всё ещё вызывает ошибку: «appears to not have been used in the graph».",
)
def forbids_unused(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    return [gradient * factor for gradient, factor in zip(torch.autograd.grad(y, inputs, v), factors)]


@fix_shared_gradients.mistake(
    en="It looks as if the gradients are right but were left in `.grad` of the inputs by `backward()`. "
    "`torch.autograd.grad` returns them and leaves `.grad` alone.",
    ru="Похоже, что градиенты верны, но `backward()` оставил их в `.grad` входов. "
    "`torch.autograd.grad` возвращает их и `.grad` не трогает.",
)
def goes_through_grad(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    y.backward(v)  # type: ignore[no-untyped-call]
    return [(torch.zeros_like(x) if x.grad is None else x.grad) * factor for x, factor in zip(inputs, factors)]


@fix_shared_gradients.mistake(
    en="It looks as if `v` is still the tensor that is multiplied in place, together with the gradients that are `v` itself.",
    ru="Похоже, что на месте всё ещё умножается `v` вместе с теми градиентами, которые и есть `v`.",
)
def multiplies_in_place(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    for gradient, factor in zip(gradients, factors):
        gradient *= factor
    return list(gradients)


@fix_shared_gradients.mistake(
    en="It looks as if an unused input gets a zero that is no tensor of the input's shape.",
    ru="Похоже, что для неиспользованного входа возвращается ноль, а не тензор той же формы, что у входа.",
)
def zero_without_a_shape(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Any]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [0.0 if gradient is None else gradient * factor for gradient, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="It looks as if the gradient is still multiplied in place, whether by `mul_` or by `*=`: nothing has changed but the wording.",
    ru="Похоже, что градиент по-прежнему умножается на месте, через `mul_` или через `*=`: изменилась только запись.",
)
def multiplies_in_place_still(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor | None]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    for gradient, factor in zip(gradients, factors):
        if gradient is not None:
            gradient *= factor
    return list(gradients)


@fix_shared_gradients.mistake(
    en="It looks as if the factors are missing from the gradients.",
    ru="Похоже, что градиенты не умножены на множители.",
)
def ignores_the_factors(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    return [gradient.clone() for gradient in torch.autograd.grad(y, inputs, v, materialize_grads=True)]


@fix_shared_gradients.mistake(
    en="It looks as if the pass starts from ones and not from `v`.",
    ru="Похоже, что обратный проход начинается с единиц, а не с `v`.",
)
def ignores_v(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y.sum(), inputs, materialize_grads=True)
    return [gradient * factor for gradient, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="It looks as if an unused input is left out: each input gets an entry of its own.",
    ru="Похоже, что неиспользованный вход пропущен: в ответе нужно место для каждого входа.",
)
def leaves_unused_out(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [gradient * factor for gradient, factor in zip(gradients, factors) if gradient is not None]


@fix_shared_gradients.mistake(
    en="It looks as if the zeros for an unused input have the shape of `v`. They need the shape of that input.",
    ru="Похоже, что нули для неиспользованного входа взяты по форме `v`. Нужна форма самого входа.",
)
def zeros_like_v(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [torch.zeros_like(v) if g is None else g * factor for g, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="It looks as if `v` is put right in the end, but meanwhile both factors went into the tensor that the gradients share.",
    ru="Похоже, что `v` в конце восстановлен, но до этого в тензор, общий для градиентов, вошли оба множителя.",
)
def puts_v_right_afterwards(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    before = v.clone()
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    for gradient, factor in zip(gradients, factors):
        gradient.mul_(factor)
    v.copy_(before)
    return list(gradients)


@fix_shared_gradients.mistake(
    en="It looks as if the values are right, but one gradient is still `v` itself, multiplied in place: a copy of the others does not help it.",
    ru="Похоже, что значения верны, но один градиент — всё ещё сам `v`, умноженный на месте: копировать только "
    "остальные недостаточно.",
)
def copies_the_first_only(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    first, *others = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    gradients = [first.clone(), *others]
    for gradient, factor in zip(gradients, factors):
        gradient.mul_(factor)
    return gradients


@fix_shared_gradients.mistake(
    en="It looks as if the values are right, but where a factor is 1 the gradient comes back as it was, and that is `v` itself.",
    ru="Похоже, что значения верны, но при множителе 1 градиент возвращается как есть, а это сам `v`.",
)
def hands_v_back(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    return [gradient if factor == 1 else gradient * factor for gradient, factor in zip(gradients, factors)]


# ------------------------------------------------------------------------------------- extra: a bug that does not show


@exercise(
    title=Text("A graph on which the wrong code is right", "Граф, на котором неверный код прав"),
    kind="write the counter-example",
    difficulty=3,
    minutes=10,
    shows_graph=True,
    aspects=[
        aspect(
            "result",
            0,
            en="What comes back is a tensor of one element with a graph behind it.",
            ru="Возвращается тензор из одного элемента, за которым есть граф.",
        ),
        aspect(
            "untouched",
            0,
            en="`x` holds the number that it held.",
            ru="В `x` лежит прежнее число.",
        ),
        aspect(
            "operations",
            0,
            en="All nodes are of torch's own operations with one output.",
            ru="Все узлы принадлежат операциям самого torch с одним выходом.",
        ),
        aspect(
            "shared",
            0,
            en="Some node of the graph has two or more edges that lead to it.",
            ru="К какому-то узлу графа ведут два ребра или больше.",
        ),
        aspect(
            "depends",
            0,
            en="The derivative with respect to `x` is neither 0 nor NaN.",
            ru="Производная по `x` — не 0 и не NaN.",
        ),
        aspect(
            "agrees",
            2,
            en="The assigning backward pass leaves the right derivative in `x.grad`.",
            ru="Обратный проход с присваиванием оставляет в `x.grad` верную производную.",
            after=("result", "untouched", "operations", "shared", "depends"),
        ),
    ],
    hints=[
        Text(
            "The assigning pass keeps what the last path brings. When is that all there is?",
            "Проход с присваиванием сохраняет то, что принёс последний путь. В каком случае это уже вся производная?",
        ),
        Text(
            "Make the other paths bring 0, or cancel each other. The order of `next_functions` is that of the operands.",
            "Пусть остальные пути приносят 0 или взаимно уничтожаются. Порядок в `next_functions` тот же, что у "
            "операндов.",
        ),
        Text(
            "h = ...  # from x\nreturn ... + ...  # both from h; what does the first one bring?",
            "h = ...  # from x\nreturn ... + ...  # both from h; what does the first one bring?",
        ),
    ],
)
def hide_the_bug(answer: Any, case: Case) -> dict[str, object]:
    y = answer.hide_the_bug(case.x)
    usable = isinstance(y, Tensor) and y.numel() == 1 and y.grad_fn is not None
    seen: dict[str, object] = {
        "result": {
            "type": "Tensor" if isinstance(y, Tensor) else type(y).__name__,
            "numel()": y.numel() if isinstance(y, Tensor) else None,
            "grad_fn": "a node" if isinstance(y, Tensor) and y.grad_fn is not None else None,
        },
        "untouched": case.x,
        "operations": False,
        "shared": False,
        "depends": False,
        "agrees": False,
        "derivative": None,
    }
    if not usable:
        return seen
    with using_answer():
        nodes = graph_nodes(y)
        children = [child for node in nodes for child, _ in node.next_functions if child is not None]
        (right,) = torch.autograd.grad(y, case.x, retain_graph=True, allow_unused=True)
        case.x.grad = None
        try:
            _seed_backward(y, _assign)
            seen["operations"] = True
        except TypeError:  # a node that wants several gradients, or cannot be called at all
            pass
        assigned = torch.zeros_like(case.x) if case.x.grad is None else case.x.grad
        seen["shared"] = len(children) > len(set(children))
        if right is None:
            seen["derivative"] = "none"
        else:
            seen["derivative"] = "NaN" if not right.isfinite() else "0" if right == 0 else "a number"
            seen["depends"] = seen["derivative"] == "a number"
            seen["agrees"] = bool(torch.isclose(assigned, right, rtol=1e-6))
    return seen


@hide_the_bug.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for _ in range(3):
        yield Case(x=leaf(rng))


@hide_the_bug.mistake(
    en="It looks as if no tensor is used twice. On a tree the assigning pass is always right.",
    ru="Похоже, что ни один тензор не использован дважды. На дереве проход с присваиванием всегда прав.",
)
def uses_everything_once(x: Tensor) -> Tensor:
    return (2 * x).exp()


@hide_the_bug.mistake(
    en="It looks as if the derivative is infinite or NaN: a node has one there, even if 0 is multiplied with the result.",
    ru="Похоже, что производная бесконечна или NaN: такова она у одного из узлов, и умножение результата на 0 не "
    "спасает.",
)
def derivative_is_nan(x: Tensor) -> Tensor:
    return (x - x).sqrt() * 0 + x * x


@hide_the_bug.mistake(
    en="It looks as if the result does not depend on `x`.",
    ru="Похоже, что результат не зависит от `x`.",
)
def does_not_use_x(x: Tensor) -> Tensor:
    other = x.detach().clone().requires_grad_()
    return other + other


@hide_the_bug.mistake(
    en="It looks as if there is no graph behind the result: it is `x` itself, or it has been detached.",
    ru="Похоже, что за результатом нет графа: это сам `x` или отсоединённый тензор.",
)
def has_no_graph(x: Tensor) -> Tensor:
    return x


@hide_the_bug.mistake(
    en="It looks as if a node cannot be called with one gradient: it is that of an operation with several outputs, "
    "such as `unbind`, or of a `Function` of your own.",
    ru="Похоже, что один из узлов нельзя вызвать с одним градиентом: это узел операции с несколькими выходами, такой "
    "как `unbind`, или вашей собственной `Function`.",
)
def uses_several_outputs(x: Tensor) -> Tensor:
    first, second = torch.stack([0 * x, x]).unbind()
    return first + second


@hide_the_bug.mistake(
    en="It looks as if the number in `x` is changed. The graph has to fool the wrong code at the number that is given.",
    ru="Похоже, что число в `x` изменено. Неверный код должен оказаться прав при том числе, которое дано.",
)
def changes_x(x: Tensor) -> Tensor:
    with torch.no_grad():
        x.fill_(1.0)
    h = 1.0 * x
    return (h * h - 2 * h) + h


@hide_the_bug.mistake(
    en="It looks as if the bug shows here: the last path brings a part of the derivative only.",
    ru="Похоже, что здесь ошибка видна: последний путь приносит лишь часть производной.",
)
def shows_the_bug(x: Tensor) -> Tensor:
    h = 2 * x
    return h * h + 5 * h


@hide_the_bug.mistake(
    en="It looks as if all paths bring 0. Then every backward pass agrees, and nothing is shown.",
    ru="Похоже, что все пути приносят 0. Тогда любой обратный проход даёт то же самое, и ничего не видно.",
)
def derivative_of_zero(x: Tensor) -> Tensor:
    return 0 * x + 0 * x
