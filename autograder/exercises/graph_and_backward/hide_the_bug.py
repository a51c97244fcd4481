"""Exercise: a graph for which a wrong backward pass is right."""

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
        Text.same("h = ...  # from x\nreturn ... + ...  # both from h; what does the first one bring?"),
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
            "grad_fn is None": y.grad_fn is None if isinstance(y, Tensor) else None,
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
