"""The mistakes in `run_backward`, as programs."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch
from torch import Tensor

from autograder.measure import graph_nodes

from .manual_backward import (
    accumulate,
    add_gradient,
    assign_gradient,
    backward_by_paths,
    backward_in_order,
    call_node,
    pass_on,
)
from .run_backward import run_backward


def _assign_at(node: Any, gradient: Tensor) -> None:
    assign_gradient(node.variable, gradient)


@run_backward.mistake(
    en="A gradient was assigned where it should be added: of all paths to a leaf only the last one is left.",
    ru="Градиент присвоен, а не прибавлен: из всех путей к листу остался только последний.",
)
def assigns(root: Tensor) -> None:
    backward_by_paths(root, assign_gradient)


@run_backward.mistake(
    en="The gradients are right, but every path was walked on its own. A node where paths join is called again for "
    "each of them, and the time doubles with every square.",
    ru="Градиенты верны, но каждый путь пройден отдельно. Узел, в котором пути сходятся, вызывается заново для каждого "
    "из них, и время удваивается с каждым возведением в квадрат.",
)
def walks_every_path(root: Tensor) -> None:
    backward_by_paths(root, add_gradient)


@run_backward.mistake(
    en="The running total goes on to the inputs at every visit, so what came before is sent down again.",
    ru="При каждом посещении дальше передаётся накопленная сумма, поэтому прежние слагаемые передаются повторно.",
)
def sends_the_running_total(root: Tensor) -> None:
    total: dict[Any, Tensor] = {}

    def backward(node: Any, incoming: Tensor) -> None:
        accumulate(total, node, incoming)
        if hasattr(node, "variable"):
            assign_gradient(node.variable, total[node])
            return
        for child, gradient in pass_on(node, total[node]):
            backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))


@run_backward.mistake(
    en="A node was called as soon as the first gradient reached it. What arrives later is not passed on.",
    ru="Узел вызван, как только до него дошёл первый градиент. То, что приходит позже, дальше не передаётся.",
)
def does_not_wait(root: Tensor) -> None:
    total: dict[Any, Tensor] = {root.grad_fn: torch.ones_like(root)}
    queue: deque[Any] = deque([root.grad_fn])
    while queue:
        node = queue.popleft()
        if hasattr(node, "variable"):
            continue
        for child, gradient in pass_on(node, total[node]):
            if child not in total:
                queue.append(child)
            accumulate(total, child, gradient)
    for node, gradient in total.items():
        if hasattr(node, "variable"):
            assign_gradient(node.variable, gradient)


@run_backward.mistake(
    en="A node where paths meet was called with what one of them brings: the rest was dropped, not added.",
    ru="Узел, в котором сходятся пути, вызывается с градиентом, пришедшим по одному из них: остальные отброшены, а не "
    "прибавлены.",
)
def one_path_only(root: Tensor) -> None:
    seen: set[Any] = set()

    def backward(node: Any, incoming: Tensor) -> None:
        if node in seen:
            return
        seen.add(node)
        if hasattr(node, "variable"):
            assign_gradient(node.variable, incoming)
            return
        for child, gradient in pass_on(node, incoming):
            backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))


@run_backward.mistake(
    en="Each node was called once, but in depth-first order: some were called before all gradients had reached them.",
    ru="Каждый узел вызван один раз, но обход идёт в глубину: некоторые узлы вызваны раньше, чем до них дошли все "
    "градиенты.",
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
        for child, gradient in pass_on(node, total[node]):
            accumulate(total, child, gradient)
        if not node.next_functions:
            assign_gradient(node.variable, total[node])


@run_backward.mistake(
    en="The graph was walked level by level. The gradients are right, but a node that can be reached in two steps and "
    "in three is called twice.",
    ru="Граф обойдён по уровням. Градиенты верны, но узел, до которого можно дойти и за два шага, и за три, вызывается "
    "дважды.",
)
def goes_level_by_level(root: Tensor) -> None:
    level: dict[Any, Tensor] = {root.grad_fn: torch.ones_like(root)}
    while level:
        below: dict[Any, Tensor] = {}
        for node, incoming in level.items():
            if hasattr(node, "variable"):
                add_gradient(node.variable, incoming)
                continue
            for child, gradient in pass_on(node, incoming):
                accumulate(below, child, gradient)
        level = below


@run_backward.mistake(
    en="Every node was called with ones. It should get the gradient that has arrived: that is the chain rule.",
    ru="Каждый узел вызван с тензором из единиц. Но он должен получать дошедший до него градиент: это и есть цепное "
    "правило.",
)
def calls_with_ones(root: Tensor) -> None:
    def call(node: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return call_node(node, torch.ones_like(gradient))

    backward_in_order(root, _assign_at, call=call)


@run_backward.mistake(
    en="Only the first input of each node gets a gradient. Every entry of `next_functions` needs one.",
    ru="Градиент получает только первый вход каждого узла. Нужно пройти по всем записям `next_functions`.",
)
def first_input_only(root: Tensor) -> None:
    backward_in_order(root, _assign_at, call=lambda node, gradient: call_node(node, gradient)[:1])


@run_backward.mistake(
    en="The leaves are still passed over: nothing is put into their `.grad`.",
    ru="Листья по-прежнему пропускаются: в их `.grad` ничего не попадает.",
)
def leaves_nothing_at_the_leaves(root: Tensor) -> None:
    backward_by_paths(root, lambda *_: None)


@run_backward.mistake(
    en="A gradient arrives at a leaf twice: the node of a leaf adds to `.grad` by itself, so an assignment beside the "
    "call doubles it.",
    ru="Градиент попадает в лист дважды: узел листа сам прибавляет его к `.grad`, и вместе с присваиванием получается "
    "вдвое больше.",
)
def doubles_at_the_leaf(root: Tensor) -> None:
    def at_leaf(node: Any, gradient: Tensor) -> None:
        node.variable.grad = gradient.clone()
        call_node(node, gradient)

    backward_in_order(root, at_leaf)


@run_backward.mistake(
    en="The values are right, but leaves share one gradient. An addition passes the same tensor to both of its inputs: "
    "each leaf needs a copy, or a call of its node, which takes care of that.",
    ru="Значения верны, но у листьев общий градиент. Узел сложения передаёт обоим входам один и тот же тензор: каждому "
    "листу нужна копия или вызов его узла, в котором это учтено.",
)
def shares_gradients(root: Tensor) -> None:
    backward_in_order(root, lambda node, gradient: setattr(node.variable, "grad", gradient))


@run_backward.mistake(
    en="The nodes were called with gradient tracking on, so the gradients have a graph of their own.",
    ru="Узлы вызваны при включённом отслеживании вычислений, и у градиентов появился свой граф.",
)
def tracks_the_pass(root: Tensor) -> None:
    def tracked(node: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gradients = node(gradient)
        return gradients if isinstance(gradients, tuple) else (gradients,)

    backward_in_order(root, lambda node, gradient: node(gradient), call=tracked)


@run_backward.mistake(
    en="The node of a leaf was called for every edge that leads to it. It is a node like the others: all gradients "
    "have to be added up before the one call.",
    ru="Узел листа вызван для каждого ребра, которое к нему ведёт. Это такой же узел, как другие: сначала нужно "
    "сложить все пришедшие градиенты, а потом вызвать узел один раз.",
)
def calls_leaves_for_each_edge(root: Tensor) -> None:
    arrived = {root.grad_fn: torch.ones_like(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable"):
            continue
        for child, gradient in pass_on(node, arrived[node]):
            if hasattr(child, "variable"):
                call_node(child, gradient)
            else:
                accumulate(arrived, child, gradient)


@run_backward.mistake(
    en="The pass starts with a float32 number. The root may be float64: `torch.ones_like(root)` has its dtype.",
    ru="Проход начат с числа типа float32. Корень может быть типа float64: тот же dtype будет у "
    "`torch.ones_like(root)`.",
)
def starts_in_float32(root: Tensor) -> None:
    backward_in_order(root, call_node, start=lambda _: torch.tensor(1.0))


@run_backward.mistake(
    en="The pass starts with a float32 number, and some `.grad` gets float32. The root may be float64: "
    "`torch.ones_like(root)` has its dtype.",
    ru="Проход начат с числа типа float32, и какой-то `.grad` тоже получается float32. Корень может быть типа float64: "
    "тот же dtype будет у `torch.ones_like(root)`.",
)
def assigns_float32(root: Tensor) -> None:
    backward_in_order(root, _assign_at, start=lambda _: torch.tensor(1.0))


@run_backward.mistake(
    en="Nodes were taken from a stack as they come. A node is called before all gradients have reached it, and what "
    "was passed on is passed on again.",
    ru="Узлы взяты из стека подряд. Узел вызывается раньше, чем до него дошли все градиенты, и уже переданное "
    "передаётся снова.",
)
def takes_from_a_stack(root: Tensor) -> None:
    total: dict[Any, Tensor] = {root.grad_fn: torch.ones_like(root)}
    todo: list[Any] = [root.grad_fn]
    while todo:
        node = todo.pop()
        if hasattr(node, "variable"):
            assign_gradient(node.variable, total[node])
            continue
        for child, gradient in pass_on(node, total[node]):
            accumulate(total, child, gradient)
            todo.append(child)


@run_backward.mistake(
    en="Nodes wait in a queue, and each is called once, but when its turn comes, not all gradients have reached it.",
    ru="Узлы стоят в очереди, и каждый вызван один раз, но к моменту вызова до него дошли не все градиенты.",
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
            assign_gradient(node.variable, total[node])
            continue
        for child, gradient in pass_on(node, total[node]):
            accumulate(total, child, gradient)
            queue.append(child)


@run_backward.mistake(
    en="A gradient that has arrived was added to in place. An addition passes the same tensor to both of its inputs, "
    "so the other one changes with it.",
    ru="Новый градиент прибавлен на месте к уже пришедшему. Узел сложения передаёт обоим входам один и тот же тензор, "
    "поэтому вместе с одним меняется и другой.",
)
def adds_in_place(root: Tensor) -> None:
    arrived = {root.grad_fn: torch.ones_like(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable"):
            assign_gradient(node.variable, arrived[node])
            continue
        for child, gradient in pass_on(node, arrived[node]):
            if child in arrived:
                arrived[child] += gradient
            else:
                arrived[child] = gradient


@run_backward.mistake(
    en="Autograd's own engine does the work. The values are right, but here your code should walk the graph.",
    ru="Обратный проход выполнен самим autograd. Значения верны, но здесь граф должен обойти ваш код.",
)
def lets_the_engine_do_it(root: Tensor) -> None:
    root.backward()  # type: ignore[no-untyped-call]


@run_backward.mistake(
    en="The pass starts with a gradient of shape `()`, although `root` may have another shape, such as `(1,)`: some "
    "leaf gets a `.grad` of the wrong shape.",
    ru="Проход начат с градиента формы `()`, а у `root` форма может быть и другой, например `(1,)`: `.grad` "
    "некоторого листа получает не ту форму.",
)
def assigns_shape_of_a_number(root: Tensor) -> None:
    backward_in_order(root, _assign_at, start=lambda _: torch.ones((), dtype=root.dtype))


@run_backward.mistake(
    en="The nodes are called in the order in which a stack finds them: some are called before all that leads to them "
    "has arrived.",
    ru="Узлы вызваны в том порядке, в каком их находит стек: некоторые — раньше, чем до них дошли все градиенты.",
)
def goes_in_order_of_a_stack(root: Tensor) -> None:
    order: list[Any] = []
    todo: list[Any] = [root.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in order:
            order.append(node)
            todo += [child for child, _ in node.next_functions]
    total = {root.grad_fn: torch.ones_like(root)}
    for node in order:
        if hasattr(node, "variable"):
            assign_gradient(node.variable, total[node])
            continue
        for child, gradient in pass_on(node, total[node]):
            accumulate(total, child, gradient)
