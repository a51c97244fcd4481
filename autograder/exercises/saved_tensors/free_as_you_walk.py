"""Exercise: a walk that frees what it has passed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import or_error
from autograder.checking.containment.garbage import older_objects_frozen
from autograder.checking.counted_run import condense, number_from
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import Entries
from autograder.checking.observe import unmarked
from autograder.checking.values import AtMost
from autograder.language import Text

from ..shared.engine_runs import OF_PASSES, Walk, accumulated
from ..shared.memory_runs import freed, own_memory
from ..shared.nodes import Node, gradients
from ..shared.random_programs import Program, many_programs, small_program, tiny_program

LENGTH, _MOST = 20, 3
_OF_LEAVES = Entries(Text("gradient of leaf {n}", "градиент листа {n}"), Text("gradients", "градиентов"))


@exercise(
    title=Text("Free as you walk", "Освободить по пути"),
    kind="complete",
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            0,
            en="`.grad` of every leaf is right, and stays None at results.",
            ru="`.grad` каждого листа верен, а у результатов там остаётся None.",
            entries=(_OF_LEAVES,),
        ),
        aspect(
            "own",
            0,
            en="Each `.grad` has memory of its own, and no `data` has changed.",
            ru="У каждого `.grad` собственная память, и ни одно поле `data` не изменилось.",
            after=("gradients",),
        ),
        aspect(
            "freed",
            1,
            en="After a walk the results are gone from memory. Another walk through one that is held raises a RuntimeError.",
            ru="После обхода результатов в памяти нет. Новый обход через результат, который кто-то держит, вызывает RuntimeError.",
            after=("gradients", "own"),
        ),
        aspect(
            "retained",
            0.5,
            en="After a walk with `retain_graph=True` one can walk again, and leaves work on in another graph.",
            ru="С `retain_graph=True` обход можно повторить, а листья — использовать и в другом графе.",
            after=("gradients", "freed"),
            entries=(OF_PASSES,),
        ),
        aspect(
            "alive",
            1.5,
            en="The results go while the walk goes on. The check counts those in memory when the last rule runs, in a chain of "
            f"{LENGTH}.",
            ru="Результаты исчезают по ходу обхода. Считаются те, что есть в памяти, когда выполняется последнее правило, в "
            f"цепочке из {LENGTH}.",
            after=("gradients", "freed"),
            measured=Text("Results in memory", "Результатов в памяти"),
        ),
    ],
    hints=[
        Text(
            "A rule has run. Who still holds its value: which fields, and which of your own variables?",
            "Правило выполнено. Кто ещё удерживает его значение: какие поля и какие из ваших собственных переменных?",
        ),
        Text(
            "The value above holds it by `inputs` and by `rule`. Your walk holds it as a key of a dict. Let all three forget "
            "it, and put a function that raises in place of the rule.",
            "Его удерживает значение выше: через `inputs` и через `rule`. А ваш обход — как ключ словаря. Пусть все трое о нём "
            "забудут, а на место правила поставьте функцию, которая вызывает ошибку.",
        ),
        Text.same(
            "    value = may_run.pop()\n"
            "    gradient = arrived.pop(value)\n"
            "    waits_for...\n"
            "    ...\n"
            "    if not retain_graph:\n"
            "        value.inputs, value.rule = (), ..."
        ),
    ],
)
def free_as_you_walk(answer: Any, case: Case) -> dict[str, object]:
    with older_objects_frozen():  # some walks end with a collection: 0.03 s in place of 15 s in a large process
        walk, program = unmarked(answer.free_as_you_walk), case.program
        return {
            "gradients": or_error(_gradients, walk, program),
            "own": or_error(own_memory, Node, program, walk),
            "freed": or_error(_freed, walk, program),
            "retained": or_error(accumulated, Node, program, walk),
            "alive": or_error(_alive, walk, number_from(program.leaves[0])) if case.measured else None,
        }


def _gradients(walk: Walk, program: Program) -> dict[str, object]:
    nodes = program.run(Node)
    walk(nodes[-1])
    without = all(each.grad is None for each in nodes[len(program.leaves) :])
    return {"results without a gradient": without, "gradients": gradients(nodes[: len(program.leaves)])}


def _freed(walk: Walk, program: Program) -> dict[str, object]:
    """Return what `freed` does, and whether the root, which is held, has forgotten its inputs."""
    root = program.run(Node)[-1]
    walk(root)
    forgotten = not getattr(root, "inputs", None)
    again = or_error(lambda: walk(root, retain_graph=True))
    found = freed(Node, program, walk, lambda node: node)
    return {"inputs are forgotten": forgotten, "second pass with retain_graph": again, **found}


def _alive(walk: Walk, start: float) -> AtMost:
    """Return the number of results of a chain that are in memory when the rule beside the leaf runs.

    The garbage collector is off, so what goes has gone by itself.
    """
    leaf = value = Node(torch.tensor(1 + start, dtype=torch.float64))
    made, counts = list[weakref.ref[Node]](), list[int]()
    for _ in range(LENGTH):
        value = value.tanh() if made else value.exp()
        made.append(weakref.ref(value))
    first = made[0]()
    assert first is not None
    first.rule = _noting(first.rule, made, counts)
    del first
    was_on = gc.isenabled()
    gc.disable()
    try:
        walk(value)
    finally:
        if was_on:
            gc.enable()
    return AtMost(limit=_MOST, used=max(counts, default=0), of=condense(leaf.grad))


def _noting(rule: Any, made: list[weakref.ref[Node]], counts: list[int]) -> Any:
    """Return the rule, preceded by a count of the results that are in memory."""

    def run(gradient: Tensor) -> object:
        counts.append(sum(each() is not None for each in made))
        return rule(gradient)

    return run


@free_as_you_walk.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(program=tiny_program(rng), measured=True)
    yield Case(program=small_program(rng), measured=False)
    for program in many_programs(rng, 2):
        yield Case(program=program, measured=False)
