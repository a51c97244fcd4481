"""Core exercise: the order in which the engine runs nodes."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import graph_nodes

_UNARY: tuple[Callable[[Tensor], Tensor], ...] = (
    torch.sin,
    torch.cos,
    torch.tanh,
    torch.sigmoid,
    torch.atan,
    torch.asinh,
    torch.erf,
)


def _random_graph(x: Tensor, rng: torch.Generator) -> Tensor:
    """Return a scalar behind which each of `_UNARY` was applied once, to randomly chosen earlier tensors.

    The order of creation, and the order of use, say nothing of each other. The name of one node occurs twice.
    """
    operands = [int(torch.randint(0, made, (), generator=rng)) for made in range(1, len(_UNARY) + 1)]
    left = [i for i in range(len(_UNARY) + 1) if i not in operands]
    return _graph(x, operands, [left[i] for i in torch.randperm(len(left), generator=rng).tolist()], rng)


def _telling_graph(x: Tensor, rng: torch.Generator) -> Tensor:
    """Return a scalar of a graph on which the rules of the mistakes give different orders."""
    return _graph(x, (0, 0, 2, 2, 4, 1, 4), (6, 7, 3, 5), rng)


def _graph(x: Tensor, operands: Sequence[int], factors: Sequence[int], rng: torch.Generator) -> Tensor:
    """Apply `_UNARY` in random order, each to the tensor with the number in `operands`; multiply the `factors`.

    `x` is tensor 0, the result of the first operation tensor 1.
    """
    made = [x]
    for index, operand in zip(torch.randperm(len(_UNARY), generator=rng).tolist(), operands):
        made.append(_UNARY[index](made[operand]))
    product = made[factors[0]]
    for factor in factors[1:]:
        product = product * made[factor]
    return product.sin().sum()


@exercise(
    title=Text("The order of the nodes", "Порядок узлов"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "nodes",
            0,
            en="The list has one name for each node behind `loss`, without those of leaves.",
            ru="В списке по одному имени на каждый узел графа `loss`, кроме узлов листьев.",
        ),
        aspect(
            "order",
            2,
            en="The names stand in the order in which the engine runs the nodes.",
            ru="Имена стоят в том порядке, в котором движок выполняет узлы.",
        ),
        aspect(
            "untouched",
            1,
            en="No `.grad` changes, a later backward pass works, and it calls none of your code.",
            ru="Ни одно поле `.grad` не меняется, следующий обратный проход возможен, и ваш код в нём не вызывается.",
            after=("nodes", "order"),
        ),
    ],
    hints=[
        Text(
            "A node can run when every node that uses its result has run. Of those that can, which one was created last?",
            "Узел можно выполнить, когда выполнены все узлы, которые используют его результат. Какой из готовых узлов "
            "создан последним?",
        ),
        Text(
            "Either watch: a hook on every node, then `torch.autograd.grad` with `retain_graph=True`. Or think: a node is "
            "created after the nodes that it needs, so what does sorting by `_sequence_nr()` give?",
            "Можно наблюдать: хук на каждом узле, затем `torch.autograd.grad` с `retain_graph=True`. А можно подумать: узел "
            "создаётся позже тех, от которых зависит; что тогда даст сортировка по `_sequence_nr()`?",
        ),
        Text(
            "nodes, waiting = set(), [loss.grad_fn]\nwhile waiting:\n    node = waiting.pop()\n    ...\n"
            "return [node.name() for node in sorted(nodes, key=..., reverse=True)]",
            "nodes, waiting = set(), [loss.grad_fn]\nwhile waiting:\n    node = waiting.pop()\n    ...\n"
            "return [node.name() for node in sorted(nodes, key=..., reverse=True)]",
        ),
    ],
)
def node_order(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        returned = answer.node_order(case.loss)
        if not isinstance(returned, (list, tuple)):
            raise TypeError(f"a list of names is asked for, not {type(returned).__name__}")
        order = [re.sub(" object at 0x[0-9a-f]+", " …", name) if isinstance(name, str) else name for name in returned]
    grad = None if case.x.grad is None else case.x.grad.clone()
    left = _has_hooks(case.loss, case.x)
    case.x.grad = None
    try:
        case.loss.backward()
        later: object = case.x.grad
    except RuntimeError:
        later = "RuntimeError"
    return {
        "nodes": sorted(order, key=lambda name: name if isinstance(name, str) else type(name).__name__),
        "order": order,
        "untouched": {"x.grad": grad, "later backward": later, "hooks": left},
    }


def _has_hooks(loss: Tensor, x: Tensor) -> bool:
    """Return whether a hook is registered on a node behind `loss`, on `loss` or on the leaf `x`."""
    kept = [loss._backward_hooks, x._backward_hooks, x._post_accumulate_grad_hooks]  # type: ignore[attr-defined]
    for node in graph_nodes(loss):
        for register in (node.register_prehook, node.register_hook):
            handle = register(lambda *_: None)
            kept.append(handle.hooks_dict_ref())  # the dict of all hooks of the node
            handle.remove()
    return any(kept)


@node_order.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for filled in (False, True, False):
        x = uniform(rng, 3).requires_grad_()
        x.grad = torch.full_like(x, 100) if filled else None
        yield Case(loss=_random_graph(x, rng) if filled else _telling_graph(x, rng), x=x)


def _parents(node: Any) -> list[Any]:
    return [parent for parent, _ in node.next_functions if parent is not None and "Accumulate" not in parent.name()]


def _reachable(loss: Tensor) -> list[Any]:
    """Return the nodes behind `loss`, breadth first, each once."""
    found = [loss.grad_fn]
    for node in found:
        found += [parent for parent in dict.fromkeys(_parents(node)) if parent not in found]
    return found


def _by_hooks(loss: Tensor, backward: Callable[[], object], remove: bool = True) -> list[str]:
    """Return the names of the nodes as `backward()` runs them, seen by hooks.

    If `remove` is False, the hooks stay.
    """
    order: list[str] = []
    handles = [node.register_prehook(lambda _, node=node: order.append(node.name())) for node in _reachable(loss)]
    backward()
    for handle in handles if remove else []:
        handle.remove()
    return order


@node_order.mistake(
    en="The nodes are listed level by level from the loss. The engine has no levels: it takes the node that was created "
    "last.",
    ru="Узлы перечислены по уровням, начиная от функции потерь. У движка нет уровней: он берёт узел, созданный последним.",
)
def breadth_first(loss: Tensor) -> list[str]:
    return [node.name() for node in _reachable(loss)]


@node_order.mistake(
    en="The nodes are listed depth first. The engine does not follow one branch to its end: a node waits until all that "
    "use its result have run.",
    ru="Граф пройден в глубину. Движок не идёт по одной ветви до конца: узел ждёт, пока выполнятся все узлы, которые "
    "используют его результат.",
)
def depth_first(loss: Tensor) -> list[str]:
    found: dict[Any, None] = {}

    def visit(node: Any) -> None:
        if node not in found:
            found[node] = None
            for parent in _parents(node):
                visit(parent)

    visit(loss.grad_fn)
    return [node.name() for node in found]


@node_order.mistake(
    en="The list has the order of the forward pass: it is the right one read backwards.",
    ru="Порядок — как в прямом проходе: это верный список, прочитанный с конца.",
)
def forward_order(loss: Tensor) -> list[str]:
    return [node.name() for node in sorted(_reachable(loss), key=lambda node: node._sequence_nr())]


@node_order.mistake(
    en="The node of the leaf is in the list. It was to be left out.",
    ru="В списке есть и узел листа, а его включать не нужно.",
)
def with_the_leaf(loss: Tensor) -> list[str]:
    names = forward_order(loss)[::-1]
    return [*names, "torch::autograd::AccumulateGrad"]


@node_order.mistake(
    en="A node stands in the list once for every way to reach it. The engine runs each node once.",
    ru="Узел попадает в список столько раз, сколько путей к нему ведёт. Движок выполняет каждый узел один раз.",
)
def every_path(loss: Tensor) -> list[str]:
    names, waiting = [], [loss.grad_fn]
    while waiting:
        waiting.sort(key=lambda node: node._sequence_nr())  # type: ignore[union-attr]
        node = waiting.pop()
        names.append(node.name())  # type: ignore[union-attr]
        waiting += _parents(node)
    return names


@node_order.mistake(
    en="Among the nodes that are ready, the one created first is taken. The engine takes the one created last.",
    ru="Из готовых узлов берётся созданный первым. Движок берёт созданный последним.",
)
def oldest_first(loss: Tensor) -> list[str]:
    nodes = _reachable(loss)
    uses = {node: 0 for node in nodes}
    for node in nodes:
        for parent in _parents(node):
            uses[parent] += 1
    names, ready = [], [(loss.grad_fn._sequence_nr(), loss.grad_fn)]  # type: ignore[union-attr]
    while ready:
        _, node = heapq.heappop(ready)
        names.append(node.name())  # type: ignore[union-attr]
        for parent in _parents(node):
            uses[parent] -= 1
            if not uses[parent]:
                heapq.heappush(ready, (parent._sequence_nr(), parent))
    return names


@node_order.mistake(
    en="The hooks stay on the nodes: each later backward pass calls them again.",
    ru="Хуки остались на узлах: они вызываются и в каждом следующем обратном проходе.",
)
def leaves_hooks(loss: Tensor) -> list[str]:
    return _by_hooks(loss, lambda: _to_leaf(loss), remove=False)


def _to_leaf(loss: Tensor, keep: bool = True) -> None:
    nodes = _reachable(loss)
    (leaf,) = {p.variable for n in nodes for p, _ in n.next_functions if p is not None and "Accumulate" in p.name()}
    torch.autograd.grad(loss, leaf, retain_graph=keep)


@node_order.mistake(
    en="The order is watched in a `loss.backward()`, which adds to `.grad`. `torch.autograd.grad` adds nothing.",
    ru="Порядок подсмотрен в вызове `loss.backward()`, а он прибавляет к `.grad`. Функция `torch.autograd.grad` ничего не "
    "прибавляет.",
)
def fills_grad(loss: Tensor) -> list[str]:
    return _by_hooks(loss, lambda: loss.backward(retain_graph=True))


@node_order.mistake(
    en="The order is watched in a pass that frees the graph. Without `retain_graph=True` there is no later backward pass.",
    ru="Порядок подсмотрен в проходе, который освобождает граф. Без `retain_graph=True` следующий обратный проход "
    "невозможен.",
)
def frees_the_graph(loss: Tensor) -> list[str]:
    return _by_hooks(loss, lambda: _to_leaf(loss, keep=False))


@node_order.mistake(
    en="The order is watched in a plain `loss.backward()`. It adds to `.grad`, and it frees the graph.",
    ru="Порядок подсмотрен в обычном вызове `loss.backward()`. Он прибавляет к `.grad` и освобождает граф.",
)
def runs_backward(loss: Tensor) -> list[str]:
    return _by_hooks(loss, loss.backward)


def _leaf(loss: Tensor) -> Tensor:
    (leaf,) = (node.variable for node in graph_nodes(loss) if hasattr(node, "variable"))
    return leaf  # type: ignore[no-any-return]


@node_order.mistake(
    en="`.grad` of the leaf is None afterwards. An earlier gradient that stood there is gone.",
    ru="Поле `.grad` листа потом равно None. Если там лежал прежний градиент, он пропал.",
)
def clears_grad(loss: Tensor) -> list[str]:
    order = fills_grad(loss)
    _leaf(loss).grad = None
    return order  # type: ignore[no-any-return]


@node_order.mistake(
    en="`.grad` of the leaf was None, and now it holds zeros.",
    ru="Поле `.grad` листа было равно None, а теперь в нём нули.",
)
def leaves_zeros(loss: Tensor) -> list[str]:
    leaf = _leaf(loss)
    before = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad.clone()
    order = fills_grad(loss)
    leaf.grad = before
    return order  # type: ignore[no-any-return]


@node_order.mistake(
    en="Nodes of one name stand in the list only once. Each of them is run, so each has an entry.",
    ru="Узлы с одинаковым именем попали в список только один раз. Движок выполняет каждый из них, и записей должно быть "
    "столько же.",
)
def each_name_once(loss: Tensor) -> list[str]:
    return list(dict.fromkeys(forward_order(loss)[::-1]))


@node_order.mistake(
    en="The nodes themselves are in the list. Asked for are their names, `node.name()`.",
    ru="В списке сами узлы, а нужны их имена, `node.name()`.",
)
def returns_nodes(loss: Tensor) -> list[Any]:
    return sorted(_reachable(loss), key=lambda node: -node._sequence_nr())


@node_order.mistake(
    en="The list holds `str(node)`, with the address of an object. The name of a node is `node.name()`.",
    ru="В списке строки `str(node)` с адресами объектов. Имя узла — это `node.name()`.",
)
def prints_nodes(loss: Tensor) -> list[str]:
    return [str(node) for node in returns_nodes(loss)]


def _ready(loss: Tensor, last: bool) -> list[str]:
    """Return the names of the nodes, taking the one that became ready last, or first."""
    uses = Counter(parent for node in _reachable(loss) for parent in _parents(node))
    names, ready = [], [loss.grad_fn]
    while ready:
        node = ready.pop(-1 if last else 0)
        names.append(node.name())  # type: ignore[union-attr]
        for parent in _parents(node):
            uses[parent] -= 1
            if not uses[parent]:
                ready.append(parent)
    return names


@node_order.mistake(
    en="The nodes that are ready wait in a queue: the one that became ready first is taken. The engine takes the one that was "
    "created last.",
    ru="Готовые узлы стоят в очереди: берётся тот, который стал готов первым. Движок берёт тот, который создан последним.",
)
def queue_of_ready(loss: Tensor) -> list[str]:
    return _ready(loss, last=False)


@node_order.mistake(
    en="Among the nodes that are ready, the one that became ready last is taken, as with a stack or with a depth-first search "
    "read backwards. The engine takes the one that was created last.",
    ru="Из готовых узлов берётся тот, который стал готов последним, как в стеке или при обходе в глубину, прочитанном с конца. "
    "Движок берёт тот, который создан последним.",
)
def stack_of_ready(loss: Tensor) -> list[str]:
    return _ready(loss, last=True)


@node_order.mistake(
    en="Only the first edge of each node was followed. The nodes on the other ways are missing.",
    ru="В каждом узле выбрано только первое ребро. Узлов на остальных путях в списке нет.",
)
def first_edges_only(loss: Tensor) -> list[str]:
    names, node = [], loss.grad_fn
    while node is not None and not hasattr(node, "variable"):
        names.append(node.name())
        node = node.next_functions[0][0]
    return names


@node_order.mistake(
    en="The nodes are listed level by level, and this list is read backwards. The engine begins at the loss.",
    ru="Узлы перечислены по уровням, и этот список прочитан с конца. Движок начинает с функции потерь.",
)
def breadth_first_backwards(loss: Tensor) -> list[str]:
    return breadth_first(loss)[::-1]  # type: ignore[no-any-return]


@node_order.mistake(
    en="The first node is missing, `loss.grad_fn`. The engine runs it, too.",
    ru="Не хватает первого узла, `loss.grad_fn`. Движок выполняет и его.",
)
def without_the_root(loss: Tensor) -> list[str]:
    return forward_order(loss)[-2::-1]  # type: ignore[no-any-return]


@node_order.mistake(
    en="One string comes back. Asked for is a list of names.",
    ru="Возвращена одна строка, а нужен список имён.",
)
def joins_the_names(loss: Tensor) -> str:
    return " ".join(forward_order(loss)[::-1])
