"""Extra exercise: find the node that produces a NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform
from autograder.language import Text
from autograder.measure import graph_nodes

from .common import FLOAT64


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
            "Walk the graph first and call `node.register_hook(f)` on each node: `f(given, received)` runs after the "
            "node, both are tuples, entries may be None.",
            "Сначала обойдите граф и вызовите для каждого узла `node.register_hook(f)`: `f(given, received)` "
            "выполняется после узла, оба аргумента — кортежи, в них бывает None.",
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
def cases(rng: torch.Generator) -> Iterator[Case]:
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
    yield Case(loss=(2 * p.requires_grad_()).sqrt().sum())  # the gradient is infinite, but not NaN
    yield Case(loss=(leaf(rng, 2) * signed(rng, 2)).tanh().sum())
    for first in (True, False):  # a walk may reach `h`, which gets a NaN, before the node that makes the NaN
        h = leaf(rng, 3) * torch.tensor([0.0, 1.0, -1.0], dtype=FLOAT64)
        guarded = torch.where(h > 0, h.sqrt(), 0.0).sum()
        yield Case(loss=h.sum() + guarded if first else guarded + h.sum())
    p, q = (leaf(rng, 3) * signed(rng, 2, 3)).unbind()
    yield Case(loss=p.exp().sum() + torch.where(q < 0, 1.0, (q - q.detach().clone()).sqrt() * 0).sum())
    a, b = signed(rng, 3), leaf(rng, 3)
    a[2] = 0.0
    yield Case(loss=b.sum() + (a.abs().requires_grad_() * b).sqrt().sum())  # NaN for the second operand alone
    roots = (0 * leaf(rng, 2).detach()).requires_grad_().sqrt()
    yield Case(loss=roots[0] - roots[1])  # the gradient holds inf and -inf, and their sum is NaN


def _record_nodes(loss: Tensor) -> list[tuple[str, bool, bool, bool]]:
    """Return a tuple for each node, in the order of a backward pass.

    A tuple holds the node's name and whether the node received NaN, gave NaN and gave infinity.
    """
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


def _nodes_giving_nan(loss: Tensor) -> set[Any]:
    """Return the nodes that give a NaN, even if they also received a NaN."""
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
    en="A leaf's node was named, which only receives the NaN. Either the last node with a NaN was taken, or `given` "
    "and `received` were mixed up, or all hooks see the same `node`: the one where the loop ended.",
    ru="Назван узел листа, а он NaN только получает. Либо взят последний узел с NaN, либо перепутаны `given` и "
    "`received`, либо все хуки видят один и тот же `node` — тот, на котором закончился цикл.",
)
def names_the_last(loss: Tensor) -> str | None:
    return next((name for name, _, nan, _ in reversed(_record_nodes(loss)) if nan), None)


@nan_node.mistake(
    en="The first node with a NaN was named in the order of a walk, not in that of the backward pass: the walk may "
    "come first to a node that only passes the NaN on.",
    ru="Назван первый узел с NaN в порядке обхода, а не в порядке обратного прохода: при обходе раньше может "
    "встретиться узел, который NaN только передаёт.",
)
def names_the_first_of_a_recursion(loss: Tensor) -> str | None:
    bad = _nodes_giving_nan(loss)
    return next((node.name() for node in _recursion_order(loss) if node in bad), None)


@nan_node.mistake(
    en="The first node with a NaN was named in the order in which a stack gives the nodes, not in that of the backward "
    "pass: the stack may give a node first that only passes the NaN on.",
    ru="Назван первый узел с NaN в том порядке, в каком узлы выдаёт стек, а не в порядке обратного прохода: раньше "
    "может попасться узел, который NaN только передаёт.",
)
def names_the_first_of_a_stack(loss: Tensor) -> str | None:
    bad = _nodes_giving_nan(loss)
    return next((node.name() for node in _stack_order(loss) if node in bad), None)


@nan_node.mistake(
    en="All hooks name one node: the one where the loop over the stack ended. A function made in a loop sees the "
    "variable's last value; each hook needs its own.",
    ru="Все хуки называют один и тот же узел: тот, на котором закончился цикл по стеку. Функция, созданная в цикле, "
    "видит последнее значение переменной; каждому хуку нужно своё.",
)
def hooks_share_the_end_of_a_stack(loss: Tensor) -> str | None:
    seen: set[Any] = set()
    todo: list[Any] = [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [child for child, _ in node.next_functions]
    return str(node.name()) if node is not None and _nodes_giving_nan(loss) else None


@nan_node.mistake(
    en="All hooks name one node: the one where the loop over a list ended. A function made in a loop sees the "
    "variable's last value; each hook needs its own.",
    ru="Все хуки называют один и тот же узел: тот, на котором закончился цикл по списку. Функция, созданная в цикле, "
    "видит последнее значение переменной; каждому хуку нужно своё.",
)
def hooks_share_the_end_of_a_list(loss: Tensor) -> str | None:
    return str(_list_order(loss)[-1].name()) if _nodes_giving_nan(loss) else None


@nan_node.mistake(
    en="An infinite gradient was taken for NaN. Infinity is where the trouble begins, but the node with the NaN comes "
    "later or never.",
    ru="Бесконечный градиент принят за NaN. С бесконечности всё начинается, но узел с NaN идёт позже, а может и не "
    "встретиться.",
)
def takes_infinity_for_nan(loss: Tensor) -> str | None:
    return next((name for name, _, nan, inf in _record_nodes(loss) if nan or inf), None)


@nan_node.mistake(
    en="The node to which a NaN comes in was named, not the node that made it.",
    ru="Назван узел, в который NaN пришёл, а не тот, в котором он возник.",
)
def names_the_next(loss: Tensor) -> str | None:
    return next((name for name, came, _, _ in _record_nodes(loss) if came), None)


@nan_node.mistake(
    en="The error of anomaly mode gets out of the function. It has to be caught: the name of the node stands in its "
    "text.",
    ru="Ошибка режима обнаружения аномалий не перехвачена. Имя узла есть в её тексте.",
)
def lets_the_error_out(loss: Tensor) -> None:
    with torch.autograd.set_detect_anomaly(True):
        loss.backward()  # type: ignore[no-untyped-call]


@nan_node.mistake(
    en="The loss's own node was named. The backward pass begins there, but the NaN does not.",
    ru="Назван узел самой функции потерь. С него начинается обратный проход, но NaN возникает не в нём.",
)
def names_the_root(loss: Tensor) -> str | None:
    node: Any = loss.grad_fn
    return str(node.name()) if any(nan for _, _, nan, _ in _record_nodes(loss)) else None


@nan_node.mistake(
    en="A gradient was counted only when all of its entries are NaN. One is enough.",
    ru="Градиент учитывается, только если NaN — все его элементы. Но достаточно и одного.",
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
    en="Only the first operand of each node was followed. The NaN may come by another edge.",
    ru="Обход идёт только по первому входу каждого узла. NaN может быть и за другим ребром.",
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
    en="Only the first of the gradients that a node gives was looked at.",
    ru="Просматривается только первый из градиентов, которые выдаёт узел.",
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
    en="The node itself was returned, not its name: `node.name()` is a `str`.",
    ru="Возвращён сам узел, а не его имя: `node.name()` — это `str`.",
)
def returns_the_node(loss: Tensor) -> Any:
    nodes = {node.name(): node for node in graph_nodes(loss)}
    name = next((name for name, came, nan, _ in _record_nodes(loss) if nan and not came), None)
    return nodes[name] if name else None


@nan_node.mistake(
    en="The entries of a gradient are added up before the test for NaN: inf and −inf add up to NaN, although neither "
    "is one.",
    ru="Элементы градиента складываются до проверки на NaN: inf и −inf в сумме дают NaN, хотя сами не равны NaN.",
)
def tests_the_sum(loss: Tensor) -> str | None:
    found: list[str] = []

    def has_nan(gradients: Any) -> bool:
        return any(g is not None and bool(g.sum().isnan()) for g in gradients)

    for node in graph_nodes(loss):

        def watch(given: Any, received: Any, node: Any = node) -> None:
            if has_nan(given):
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()  # type: ignore[no-untyped-call]
    return found[0] if found else None


@nan_node.mistake(
    en="The last node that gives a NaN is named. The NaN was made in the first; the others only hand it on.",
    ru="Назван последний узел, который выдаёт NaN. Возник NaN в первом, остальные его только передают.",
)
def names_the_last_that_gives(loss: Tensor) -> str | None:
    found: list[str] = []
    for node in graph_nodes(loss):

        def watch(given: Any, received: Any, node: Any = node) -> None:
            if any(g is not None and bool(g.isnan().any()) for g in given):
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()  # type: ignore[no-untyped-call]
    return found[-1] if found else None


@nan_node.mistake(
    en="A gradient was tested for NaN without a look whether it is there: entries of `given` and `received` may be "
    "None.",
    ru="На NaN проверяется и отсутствующий градиент: среди элементов `given` и `received` бывает None.",
)
def expects_no_none(loss: Tensor) -> str | None:
    found: list[str] = []
    for node in graph_nodes(loss):

        def watch(given: Any, received: Any, node: Any = node) -> None:
            if any(g.isnan().any() for g in given):
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()  # type: ignore[no-untyped-call]
    return found[0] if found else None


@nan_node.mistake(
    en="The first of the nodes found is taken even if none was found: without a NaN the list is empty.",
    ru="Первый из найденных узлов берётся, даже если ничего не найдено: без NaN список пуст.",
)
def takes_the_first_of_none(loss: Tensor) -> str | None:
    found = [name for name, came, nan, _ in _record_nodes(loss) if nan and not came]
    return found[0]


@nan_node.mistake(*nan_node.mistakes["follows_first_operands"].says)
def follows_first_operands_only(loss: Tensor) -> str | None:
    found: list[str] = []
    node: Any = loss.grad_fn
    while node is not None:

        def watch(given: Any, received: Any, node: Any = node) -> None:
            if any(g is not None and bool(g.isnan().any()) for g in given):
                found.append(node.name())

        node.register_hook(watch)
        node = node.next_functions[0][0] if node.next_functions else None
    loss.backward()  # type: ignore[no-untyped-call]
    return found[0] if found else None


@nan_node.mistake(
    en="The first node with a NaN was named in the order in which a queue gives the nodes, not in that of the backward "
    "pass: the queue may give a node first that only passes the NaN on.",
    ru="Назван первый узел с NaN в том порядке, в каком узлы выдаёт очередь, а не в порядке обратного прохода: раньше "
    "может попасться узел, который NaN только передаёт.",
)
def names_the_first_of_a_queue(loss: Tensor) -> str | None:
    bad = _nodes_giving_nan(loss)
    return next((node.name() for node in _list_order(loss) if node in bad), None)
