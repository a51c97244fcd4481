"""Core exercise: the node that costs most in a backward pass."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import graph_nodes


@exercise(
    title=Text("The costly node", "Самый дорогой узел"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "name",
            2,
            en="It is the name of the nodes whose matrix products cost most in the backward pass.",
            ru="Это имя узлов, чьи матричные произведения в обратном проходе обходятся дороже всего.",
        ),
        aspect(
            "gradients",
            1,
            en="There is one backward pass, and `.grad` of every leaf is what one `loss.backward()` leaves there.",
            ru="Обратный проход один, и в `.grad` каждого листа лежит то же, что после одного `loss.backward()`.",
        ),
    ],
    hints=[
        Text(
            "Which rows of the profile are nodes, and which are operations that a node calls?",
            "Какие строки профиля — узлы, а какие — операции, вызванные узлом?",
        ),
        Text(
            "Take the events whose name begins with `autograd::engine::evaluate_function: `. The rest of the name is the "
            "node. Add up `flops_of(event)` for each name.",
            "Возьмите события, имя которых начинается с `autograd::engine::evaluate_function: `. Остаток имени — это узел. "
            "Сложите `flops_of(event)` для каждого имени.",
        ),
        Text(
            "with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:\n    loss.backward()\n"
            "costs = Counter()\nfor event in profiled.events():\n    ...\nreturn costs.most_common(1)[0][0]",
            "with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:\n    loss.backward()\n"
            "costs = Counter()\nfor event in profiled.events():\n    ...\nreturn costs.most_common(1)[0][0]",
        ),
    ],
)
def costly_node(answer: Any, case: Case) -> dict[str, object]:
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # torch's profiler else reports its start on stderr
    passes: list[Tensor] = []
    case.loss.register_hook(passes.append)
    with using_answer():
        name = answer.costly_node(case.loss)
    gradients = {".grad of the leaves": [each.grad for each in case.leaves], "backward passes": len(passes)}
    return {"name": name, "gradients": gradients}


_SLOW = ("TanhBackward0", "ExpBackward0")  # the nodes that wait, one in each case


def _waiting(h: Tensor) -> Tensor:
    """Make the node of `h` the slowest of its backward pass, by a hook that waits.

    An answer that goes by time would otherwise name another node in each run.
    """
    h.register_hook(lambda _: time.sleep(0.01))
    return h


@costly_node.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    n = int(torch.randint(4, 9, (), generator=rng))
    x, w, v, b = uniform(rng, n, 24), leaf(rng, 24, 8), leaf(rng, 18, 8), leaf(rng, 18)
    yield Case(loss=torch.nn.functional.linear(_waiting((x @ w).tanh()), v, b).square().sum(), leaves=[w, v, b])

    x, first, weights = uniform(rng, n, 9), leaf(rng, 9, 10), [leaf(rng, 10, 10) for _ in range(3)]
    b, v = leaf(rng, 16), leaf(rng, 16, 10)
    h = x @ first
    for weight in weights:
        h = (h @ weight).sigmoid()
    yield Case(loss=_waiting(torch.nn.functional.linear(h, v, b).exp()).mean(), leaves=[first, *weights, b, v])

    x, w = uniform(rng, 2, n, 20), leaf(rng, 2, 20, 12)
    v = leaf(rng, 12, 6)
    yield Case(loss=(_waiting((x.exp() @ w).tanh()).flatten(0, 1) @ v).flatten(0).sum(), leaves=[w, v])


def _by_node(loss: Tensor, run: Callable[[], object]) -> list[tuple[Any, int, int]]:
    """Return node, floating-point operations and size of the gradient for each node that `run()` runs."""
    found: list[tuple[Any, int, int]] = []
    before: dict[Any, int] = {}
    with FlopCounterMode(display=False) as counter:

        def enter(node: Any) -> None:
            before[node] = counter.get_total_flops()

        def leave(node: Any, gradients: Any) -> None:
            found.append((node, counter.get_total_flops() - before[node], gradients[0].numel()))

        for node in graph_nodes(loss):
            node.register_prehook(lambda _, node=node: enter(node))
            node.register_hook(lambda _, gradients, node=node: leave(node, gradients))
        run()
    return found


def _most(counts: Counter[str]) -> str:
    return counts.most_common(1)[0][0]


@costly_node.mistake(
    en="It is not the sum over all nodes of one name that decides. Several nodes together cost more than a single "
    "expensive one.",
    ru="Выбор сделан не по сумме для всех узлов с одним именем. Несколько узлов вместе обходятся дороже, чем один дорогой.",
)
def largest_single(loss: Tensor) -> str:
    return max(_by_node(loss, loss.backward), key=lambda each: each[1])[0].name()  # type: ignore[no-any-return]


@costly_node.mistake(
    en="The node that runs most often was taken. A node that runs once can cost more than three others.",
    ru="Взят узел, который выполняется чаще всего. Но один узел может стоить больше, чем три других.",
)
def most_frequent(loss: Tensor) -> str:
    return _most(Counter(node.name() for node, _, _ in _by_node(loss, loss.backward)))


@costly_node.mistake(
    en="The node that runs most often was taken, leaves left out. A node that runs once can cost more than three others.",
    ru="Взят узел, который выполняется чаще всего, не считая листьев. Но один узел может стоить больше, чем три других.",
)
def most_frequent_inside(loss: Tensor) -> str:
    nodes = [node for node, _, _ in _by_node(loss, loss.backward) if not hasattr(node, "variable")]
    return _most(Counter(node.name() for node in nodes))


@costly_node.mistake(
    en="It is the first node of the pass, as if all costs were 0. The row of a node has no FLOPs of its own: they are in the "
    "operations below, and only with `with_flops=True`.",
    ru="Это первый узел прохода, как если бы вся стоимость была равна 0. У строки узла собственных FLOP нет: они у операций "
    "под ней, и только при `with_flops=True`.",
)
def counts_nothing(loss: Tensor) -> str:
    loss.backward()
    return loss.grad_fn.name()  # type: ignore[union-attr]


@costly_node.mistake(
    en="The node that takes longest was named. Its time includes its hooks and differs from run to run; asked for are the "
    "FLOPs.",
    ru="Назван узел, который выполняется дольше всех. В это время входят и хуки узла, и от запуска к запуску оно меняется, а "
    "нужно число FLOP.",
)
def takes_the_slowest(loss: Tensor) -> str:
    name = next(node.name() for node in graph_nodes(loss) if node.name() in _SLOW)
    loss.backward()
    return name  # type: ignore[no-any-return]


@costly_node.mistake(
    en="It is `MmBackward0` for every graph. In one of them another node costs more.",
    ru="Для любого графа это `MmBackward0`. Но в одном из них дороже другой узел.",
)
def always_the_same(loss: Tensor) -> str:
    loss.backward()
    return "MmBackward0"


@costly_node.mistake(
    en="The node with the largest gradient was taken. The cost of a product depends on all three of its sizes.",
    ru="Взят узел с самым большим градиентом. Но стоимость произведения зависит от всех трёх его размеров.",
)
def largest_gradient(loss: Tensor) -> str:
    return max(_by_node(loss, loss.backward), key=lambda each: each[2])[0].name()  # type: ignore[no-any-return]


@costly_node.mistake(
    en="The name is that of an operation, such as `aten::mm`. Several nodes may call it; asked for is the node.",
    ru="Названа операция, например `aten::mm`. Её могут вызывать разные узлы, а нужен узел.",
)
def names_an_operation(loss: Tensor) -> str:
    names = {"MmBackward0": "aten::mm", "AddmmBackward0": "aten::mm", "BmmBackward0": "aten::bmm"}
    return names[_sum(loss, loss.backward)]


def _sum(loss: Tensor, run: Callable[[], object]) -> str:
    costs: Counter[str] = Counter()
    for node, flops, _ in _by_node(loss, run):
        costs[node.name()] += flops
    return _most(costs)


@costly_node.mistake(
    en="The whole row of the profile was returned, with the engine's prefix in front of the node's name.",
    ru="Возвращена вся строка профиля, с приставкой движка перед именем узла.",
)
def keeps_the_prefix(loss: Tensor) -> str:
    return f"autograd::engine::evaluate_function: {_sum(loss, loss.backward)}"


@costly_node.mistake(
    en="There were two backward passes, one to measure and one more: every gradient is in `.grad` twice.",
    ru="Обратных проходов было два: один — чтобы измерить, и ещё один. Каждый градиент вошёл в `.grad` дважды.",
)
def two_passes(loss: Tensor) -> str:
    name = _sum(loss, lambda: loss.backward(retain_graph=True))
    loss.backward()
    return name


@costly_node.mistake(
    en="The cost was found, but `.grad` was cleared afterwards or never filled.",
    ru="Стоимость найдена, но поля `.grad` потом очищены или вовсе не заполнены.",
)
def leaves_no_gradients(loss: Tensor) -> str:
    leaves = [node.variable for node in graph_nodes(loss) if hasattr(node, "variable")]
    name = _sum(loss, loss.backward)
    for each in leaves:
        each.grad = None
    return name


@costly_node.mistake(
    en="A node that makes two products was named, although another makes one that costs more than both. Neither the number of "
    "products nor their time is asked for, but their FLOPs.",
    ru="Назван узел, в котором вычисляются два произведения, хотя одно произведение в другом узле дороже обоих. Важны не "
    "число произведений и не время, а число FLOP.",
)
def counts_products(loss: Tensor) -> str:
    counts: Counter[str] = Counter()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            node = torch._C._current_autograd_node()
            if node is not None and func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm):
                counts[node.name()] += 1
            return func(*args, **(kwargs or {}))

    with Watch():  # type: ignore[no-untyped-call]
        loss.backward()
    return _most(counts)


@costly_node.mistake(
    en="There were two backward passes: one to measure, and one whose gradients are in `.grad`. A single pass does both.",
    ru="Обратных проходов было два: один — чтобы измерить, другой — чтобы заполнить `.grad`. Для того и другого хватит "
    "одного.",
)
def clears_in_between(loss: Tensor) -> str:
    leaves = [node.variable for node in graph_nodes(loss) if hasattr(node, "variable")]
    name = _sum(loss, lambda: loss.backward(retain_graph=True))
    for each in leaves:
        each.grad = None
    loss.backward()
    return name


@costly_node.mistake(
    en="A pair came back: the name and its cost. Asked for is the name.",
    ru="Возвращена пара из имени и стоимости, а нужно только имя.",
)
def returns_the_cost(loss: Tensor) -> tuple[str, int]:
    costs: Counter[str] = Counter()
    for node, flops, _ in _by_node(loss, loss.backward):
        costs[node.name()] += flops
    return costs.most_common(1)[0]


@costly_node.mistake(
    en="All names come back, in the order of their costs. Asked for is the first of them.",
    ru="Возвращены все имена в порядке стоимости, а нужно только первое.",
)
def returns_all_names(loss: Tensor) -> list[str]:
    costs: Counter[str] = Counter()
    for node, flops, _ in _by_node(loss, loss.backward):
        costs[node.name()] += flops
    return [name for name, _ in costs.most_common()]


@costly_node.mistake(
    en="None comes back: `return` is missing, or no row of the profile was a node, as when the pass runs outside the `with` "
    "block.",
    ru="Возвращается None: забыт `return`, или ни одна строка профиля не относится к узлу, например потому, что проход "
    "выполняется вне блока `with`.",
)
def returns_nothing(loss: Tensor) -> None:
    loss.backward()
