"""Exercise: the order in which the engine runs nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught
from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.labels import Entries
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
    """Apply `_UNARY` in random order to the tensors numbered in `operands`; multiply the `factors`.

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
    aspects=[
        aspect(
            "nodes",
            0,
            en="The list has one name for each node behind `loss`, without those of leaves.",
            ru="В списке по одному имени на каждый узел графа `loss`, кроме узлов листьев.",
            entries=(Entries(Text("name {n} in alphabetical order", "имя {n} по алфавиту"), Text("names", "имён")),),
        ),
        aspect(
            "order",
            2,
            en="The names stand in the order in which the engine runs the nodes.",
            ru="Имена стоят в том порядке, в котором движок выполняет узлы.",
            entries=(Entries(Text("name {n}", "имя {n}"), Text("names", "имён")),),
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
            "Узел можно выполнить, когда выполнены все узлы, от которых к нему приходит градиент. Какой из готовых "
            "узлов создан последним?",
        ),
        Text(
            "Either watch: a hook on every node, then `torch.autograd.grad` with `retain_graph=True`. Or think: a node is "
            "created after the nodes that it needs, so what does sorting by `_sequence_nr()` give?",
            "Можно понаблюдать: поставьте хук на каждый узел и вызовите `torch.autograd.grad` с `retain_graph=True`. А "
            "можно рассудить: узел создаётся позже тех, от которых зависит. Что тогда даст сортировка по "
            "`_sequence_nr()`?",
        ),
        Text.same(
            "nodes, waiting = set(), [loss.grad_fn]\nwhile waiting:\n    node = waiting.pop()\n    ...\n"
            "return [node.name() for node in sorted(nodes, key=..., reverse=True)]"
        ),
    ],
    why=Why(
        Text(
            "Why does the engine run the nodes in the forward order, read backwards?",
            "Почему порядок, в котором движок выполняет узлы, обратен порядку прямого прохода?",
        ),
        Text(
            "A node is created after all nodes that its edges lead to. So the newest node left has nothing to "
            "wait for, and among ready nodes the newest goes first.",
            "Узел создаётся позже всех узлов, к которым ведут его рёбра. Поэтому самому новому из оставшихся "
            "ждать нечего, а из готовых движок берёт самый новый.",
        ),
    ),
)
def node_order(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        returned = answer.node_order(case.loss)
        if not isinstance(returned, (list, tuple)):
            raise Refused("raised.type", got=type(returned).__name__, expected="kind.names")
        order = [re.sub(" object at 0x[0-9a-f]+", " …", name) if isinstance(name, str) else name for name in returned]
    grad = None if case.x.grad is None else case.x.grad.clone()
    left = _has_hooks(case.loss, case.x)
    case.x.grad = None
    try:
        case.loss.backward()
        later: object = case.x.grad
    except RuntimeError as error:
        later = Caught.of(error, "RuntimeError")
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
