"""Extra exercise: a walk over the nodes of a learner's own engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import condense, number_from
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import Entries
from autograder.checking.observe import unmarked
from autograder.checking.values import AtMost
from autograder.language import Text

from .engine_runs import DOUBLINGS, LENGTH, or_error
from .nodes import Node, chain, gradients, recorded
from .random_programs import Program, many_programs, small_program

_OF_LEAVES = Entries(Text("gradient of leaf {n}", "градиент листа {n}"), Text("gradients", "градиентов"))
Walk = Callable[[Any], object]


@exercise(
    title=Text("A walk of your own", "Собственный обход"),
    kind="find the bug",
    difficulty=2,
    minutes=15,
    seconds=20.0,
    aspects=[
        aspect(
            "gradients",
            1.5,
            en="`.grad` of every leaf is right. It stays None where a leaf is not used, and at results.",
            ru="`.grad` каждого листа верен. У неиспользованного листа и у результатов там остаётся None.",
            entries=(_OF_LEAVES,),
        ),
        aspect(
            "accumulated",
            1,
            en="Each further walk adds the whole gradient to `.grad` once.",
            ru="Каждый следующий обход прибавляет к `.grad` весь градиент один раз.",
            entries=(_OF_LEAVES,),
        ),
        aspect(
            "own",
            0.5,
            en="Each `.grad` has memory of its own.",
            ru="У каждого `.grad` собственная память.",
        ),
        aspect(
            "runs",
            1,
            en=f"Each rule runs once. The check counts the runs behind {DOUBLINGS} doublings.",
            ru=f"Каждое правило выполняется один раз. Считаются вызовы правил за {DOUBLINGS} удвоениями.",
            measured=Text("Runs of rules", "Вызовов правил"),
        ),
        aspect(
            "depth",
            1,
            en=f"A chain of {LENGTH} additions is no trouble.",
            ru=f"Цепочка из {LENGTH} сложений не вызывает ошибки.",
        ),
    ],
    hints=[
        Text(
            "When is the gradient of a value complete: when its first part arrives, or when all that use the value have "
            "run?",
            "Когда градиент значения готов: когда пришла первая часть или когда отработали все, кто это значение "
            "использует?",
        ),
        Text(
            "Count first how often each value is used behind `root`, as `edges_into` does, with a list in place of "
            "recursion. Then count down.",
            "Сначала сосчитайте, сколько раз используется каждое значение за `root`, как в `edges_into`, со списком вместо "
            "рекурсии. Затем ведите обратный отсчёт.",
        ),
        Text.same(
            "waits_for, todo = {root: 0}, [root]\n"
            "...\n"
            "arrived, may_run = {root: torch.ones_like(root.data)}, [root]\n"
            "while may_run:\n"
            "    value = may_run.pop()\n"
            "    gradient = arrived.pop(value)\n"
            "    ..."
        ),
    ],
)
def walk_nodes(answer: Any, case: Case) -> dict[str, object]:
    walk, program = unmarked(answer.walk_nodes), case.program
    start = number_from(program.leaves[0])
    return {
        "gradients": or_error(_first, walk, program),
        "accumulated": or_error(_again, walk, program),
        "own": or_error(_own, walk, program),
        "runs": or_error(_runs, walk, start) if case.measured else None,
        "depth": or_error(_deep, walk, start) if case.measured else None,
    }


def _first(walk: Walk, program: Program) -> object:
    nodes, _ = recorded(program)
    walk(nodes[-1])
    leaves = len(program.leaves)
    return {
        "gradients": gradients(nodes[:leaves]),
        "results without a gradient": all(each.grad is None for each in nodes[leaves:]),
    }


def _again(walk: Walk, program: Program) -> list[object]:
    nodes, _ = recorded(program)
    for _ in range(3):
        walk(nodes[-1])
    return [condense(each) for each in gradients(nodes[: len(program.leaves)])]


def _own(walk: Walk, program: Program) -> dict[str, object]:
    nodes, runs = recorded(program)
    before = [each.data.clone() for each in nodes]
    a, b, c, d = (Node(leaf.clone(), runs) for leaf in (program.leaves[0],) * 4)
    walk((a + b).sum())  # `+` gives both one gradient, here an expanded one
    walk(((c + d) * (c + d)).sum())
    walk(nodes[-1])
    found = [each.grad for each in (a, b, c, d, *nodes[: len(program.leaves)]) if isinstance(each.grad, Tensor)]
    places = [each.untyped_storage().data_ptr() for each in found]
    return {
        "shared": len(set(places)) < len(places) or any(0 in g.stride() and g.numel() > 1 for g in found),
        "data stays": all(torch.equal(old, each.data) for old, each in zip(before, nodes)),
    }


def _runs(walk: Walk, start: float) -> AtMost:
    leaf, root, runs = chain(start, DOUBLINGS, doubles=True)
    walk(root)
    return AtMost(limit=len(runs), used=sum(runs.values()), of=condense(leaf.grad))


def _deep(walk: Walk, start: float) -> object:
    leaf, root, _ = chain(start, LENGTH, doubles=False)
    walk(root)
    return leaf.grad


@walk_nodes.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(program=small_program(rng), measured=True)
    for program in many_programs(rng, 2):
        yield Case(program=program, measured=False)
