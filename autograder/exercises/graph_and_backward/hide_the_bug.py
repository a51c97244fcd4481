"""Extra exercise: a graph for which a wrong backward pass is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import graph_nodes

from .manual_backward import assign_gradient, backward_by_paths


@exercise(
    title=Text("A graph on which the wrong code is right", "Граф, на котором неверный код даёт верный ответ"),
    kind="write the counter-example",
    difficulty=3,
    minutes=10,
    shows_graph=True,
    aspects=[
        aspect(
            "result",
            0,
            en="What comes back is a tensor of one element that has a graph.",
            ru="Возвращается тензор из одного элемента, у которого есть граф.",
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
            ru="Все узлы принадлежат операциям torch с одним выходом.",
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
            ru="Производная по `x` — не 0 и не NaN.",
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
            "Make the other paths bring 0, or cancel each other. The order of `next_functions` is that of the "
            "operands.",
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
    before = case.x.detach().clone()
    y = answer.hide_the_bug(case.x)
    usable = isinstance(y, Tensor) and y.numel() == 1 and y.grad_fn is not None
    seen: dict[str, object] = {
        "result": {
            "type": "Tensor" if isinstance(y, Tensor) else type(y).__name__,
            "numel() == 1": y.numel() == 1 if isinstance(y, Tensor) else None,
            "grad_fn": "a node" if isinstance(y, Tensor) and y.grad_fn is not None else None,
        },
        "untouched": torch.equal(case.x.detach(), before),
        "operations": False,
        "shared": False,
        "depends": False,
        "agrees": False,
        "derivative": None,
        "assigned": None,
    }
    if not usable:
        return seen
    with using_answer():
        nodes = graph_nodes(y)
        children = [child for node in nodes for child, _ in node.next_functions if child is not None]
        (right,) = torch.autograd.grad(y, case.x, retain_graph=True, allow_unused=True)
        case.x.grad = None
        try:
            backward_by_paths(y, assign_gradient)
            seen["operations"] = True
        except TypeError:  # a node that wants several gradients, or cannot be called at all
            pass
        assigned = torch.zeros_like(case.x) if case.x.grad is None else case.x.grad
        seen["shared"] = len(children) > len(set(children))
        if right is None:
            seen["derivative"] = "none"
        else:
            seen["derivative"] = "NaN" if right.isnan() else "0" if right == 0 else "a number"
            seen["assigned"] = "NaN" if assigned.isnan() else "0" if assigned == 0 else "a number"
            seen["depends"] = seen["derivative"] == "a number"
            seen["agrees"] = bool(torch.isclose(assigned, right, rtol=1e-6))
    return seen


@hide_the_bug.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for _ in range(3):
        yield Case(x=leaf(rng))


@hide_the_bug.mistake(
    en="No node has two edges leading to it. On a tree the assigning pass is always right.",
    ru="Ни к одному узлу не ведут два ребра. На дереве проход с присваиванием всегда верен.",
)
def uses_everything_once(x: Tensor) -> Tensor:
    return (2 * x).exp()


@hide_the_bug.mistake(
    en="The derivative is NaN: some node gives NaN, or an infinity that another one multiplies by 0.",
    ru="Производная — NaN: один из узлов выдаёт NaN или бесконечность, которую другой узел умножает на 0.",
)
def derivative_is_nan(x: Tensor) -> Tensor:
    return (x - x).sqrt() * 0 + x * x


@hide_the_bug.mistake(
    en="The result does not depend on `x`.",
    ru="Результат не зависит от `x`.",
)
def does_not_use_x(x: Tensor) -> Tensor:
    other = x.detach().clone().requires_grad_()
    return other + other


@hide_the_bug.mistake(
    en="The result has no graph: it is `x` itself, or it has been detached.",
    ru="У результата нет графа: это сам `x` или отсоединённый тензор.",
)
def has_no_graph(x: Tensor) -> Tensor:
    return x


@hide_the_bug.mistake(
    en="One of the nodes cannot be called with one gradient: it belongs to an operation with several outputs, such as "
    "`unbind`, or to a `Function` of your own.",
    ru="Один из узлов нельзя вызвать с одним градиентом: это узел операции с несколькими выходами, такой как `unbind`, "
    "или вашей собственной `Function`.",
)
def uses_several_outputs(x: Tensor) -> Tensor:
    first, second = torch.stack([0 * x, x]).unbind()
    return first + second


@hide_the_bug.mistake(
    en="The number in `x` was changed. The wrong code has to be right at the number that is given.",
    ru="Число в `x` изменено. Неверный код должен оказаться прав при том числе, которое дано.",
)
def changes_x(x: Tensor) -> Tensor:
    with torch.no_grad():
        x.fill_(1.0)
    h = 1.0 * x
    return (h * h - 2 * h) + h


@hide_the_bug.mistake(
    en="The bug shows on this graph: the last path brings only a part of the derivative.",
    ru="На этом графе ошибка проявляется: последний путь приносит лишь часть производной.",
)
def shows_the_bug(x: Tensor) -> Tensor:
    h = 2 * x
    return h * h + 5 * h


@hide_the_bug.mistake(
    en="All paths bring 0. Every backward pass agrees then, and nothing is shown.",
    ru="Все пути приносят 0. При этом любой обратный проход даёт то же самое, и ничего не видно.",
)
def derivative_of_zero(x: Tensor) -> Tensor:
    return 0 * x + 0 * x


@hide_the_bug.mistake(
    en="The paths cancel: the derivative is 0. The assigning pass does not find that 0; it leaves what the last path "
    "brings.",
    ru="Пути взаимно уничтожаются: производная равна 0. Но проход с присваиванием этого нуля не даёт: остаётся то, что "
    "принёс последний путь.",
)
def paths_cancel(x: Tensor) -> Tensor:
    return x - x


@hide_the_bug.mistake(
    en="A plain number was returned. It has no graph: a tensor computed from `x` is asked for.",
    ru="Возвращено обычное число. У него нет графа: нужен тензор, вычисленный из `x`.",
)
def returns_a_number(x: Tensor) -> float:
    return 0 * x.item() + 5 * x.item()


@hide_the_bug.mistake(
    en="Several elements were returned, or none. The assigning pass goes backward from one.",
    ru="Возвращено несколько элементов или ни одного, а проход с присваиванием начинается от одного.",
)
def returns_two_elements(x: Tensor) -> Tensor:
    return 0 * x.repeat(2) + 5 * x.repeat(2)


@hide_the_bug.mistake(
    en="The bug shows on this graph: the last path brings 0, and this 0 replaces the derivative that an earlier path has "
    "brought. The order of the operands counts.",
    ru="На этом графе ошибка проявляется: последний путь приносит 0, и этот 0 заменяет производную, которую принёс "
    "другой путь. Порядок операндов важен.",
)
def zero_comes_last(x: Tensor) -> Tensor:
    h = 2 * x
    return h + 0 * h


@hide_the_bug.mistake(*hide_the_bug.mistakes["derivative_is_nan"].says)
def every_path_is_nan(x: Tensor) -> Tensor:
    h = 0 * x
    return h.sqrt() + h.sqrt()
