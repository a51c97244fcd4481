"""Exercise: hooks and freed nodes in a learner's own engine."""

from __future__ import annotations

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
from autograder.language import Text

from ..shared.engine_runs import OF_PASSES, Walk, accumulated
from ..shared.hook_trials import HOOKS_RIGHT, OF_HOOKS, Hook, hook_trials
from ..shared.memory_runs import freed, own_memory
from ..shared.nodes import Node, gradients
from ..shared.random_programs import Program, many_programs, small_program, tiny_program

_OF_LEAVES = Entries(Text("gradient of leaf {n}", "градиент листа {n}"), Text("gradients", "градиентов"))


@exercise(
    title=Text("Hooks in your walk", "Хуки в вашем обходе"),
    kind="complete",
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            0,
            en="Without hooks `.grad` of every leaf is right.",
            ru="Без хуков `.grad` каждого листа верен.",
            entries=(_OF_LEAVES,),
        ),
        aspect(
            "own",
            0,
            en="Each `.grad` has memory of its own, and at results it stays None.",
            ru="У каждого `.grad` собственная память, а у результатов там остаётся None.",
            after=("gradients",),
        ),
        aspect(
            "hooks",
            2,
            en="Each hook of a value behind `root` is called once, with the whole gradient, and what it returns takes the "
            "gradient's place, unless it is None.",
            ru="Каждый хук `root` и значений, от которых он зависит, вызван один раз, с полным градиентом, и возвращённое "
            "хуком, если это не None, заменяет градиент.",
            after=("gradients",),
            entries=(OF_HOOKS,),
        ),
        aspect(
            "hooks_in_programs",
            1,
            en="In random programs, too, hooks get whole gradients and can replace them.",
            ru="И в случайных программах хуки получают полный градиент и могут его заменить.",
            after=("hooks",),
        ),
        aspect(
            "freed",
            0.5,
            en="After a walk the results are gone from memory. Another walk through one raises a RuntimeError.",
            ru="После обхода результатов в памяти больше нет. Новый обход через такой результат вызывает RuntimeError.",
            after=("gradients", "own", "hooks"),
        ),
        aspect(
            "retained",
            0.5,
            en="After a walk with `retain_graph=True` one can walk again, and leaves work on in another graph.",
            ru="С `retain_graph=True` обход можно повторить, а листья — использовать и в другом графе.",
            after=("gradients", "hooks", "freed"),
            entries=(OF_PASSES,),
        ),
    ],
    hints=[
        Text(
            "At which moment of your walk is a gradient complete and not yet used?",
            "В какой момент обхода градиент уже полон, но ещё не использован?",
        ),
        Text(
            "Run the hooks between taking a gradient out and using it, at leaves too. Each hook gets what the one before it "
            "has left.",
            "Вызывайте хуки, в том числе у листьев, когда градиент уже извлечён, но ещё не использован. Каждый хук получает "
            "то, что оставил предыдущий.",
        ),
        Text.same(
            "gradient = arrived.pop(value)\nfor hook in value.hooks:\n    replaced = ...\n    if ...:\n        gradient = replaced"
        ),
    ],
)
def hooks_and_freeing(answer: Any, case: Case) -> dict[str, object]:
    with older_objects_frozen():  # some walks end with a collection: 0.03 s in place of 15 s in a large process
        walk, program = unmarked(answer.hooks_and_freeing), case.program
        hooks = or_error(hook_trials, Node, Tensor, _attach, walk, number_from(program.leaves[0]))
        right = hooks == HOOKS_RIGHT  # else the numbers would differ from walk to walk
        return {
            "gradients": or_error(_gradients, walk, program),
            "own": or_error(_own, walk, program),
            "retained": or_error(accumulated, Node, program, walk),
            "hooks": hooks,
            "hooks_in_programs": or_error(_hooked, walk, program) if right else None,
            "freed": or_error(_freed, walk, program),
        }


def _attach(node: Node, hook: Hook) -> None:
    node.hooks.append(hook)


def _gradients(walk: Walk, program: Program) -> list[object]:
    nodes = program.run(Node)
    walk(nodes[-1])
    return gradients(nodes[: len(program.leaves)])


def _own(walk: Walk, program: Program) -> dict[str, object]:
    """Return whether gradients share memory, data stays, and results have no gradient."""
    nodes = program.run(Node)
    walk(nodes[-1])
    without = all(each.grad is None for each in nodes[len(program.leaves) :])
    return {"results without a gradient": without, **own_memory(Node, program, walk)}


def _freed(walk: Walk, program: Program) -> dict[str, object]:
    """Return what `freed` does, and whether the root, which is held, has forgotten its inputs."""
    root = program.run(Node)[-1]
    walk(root)
    return {"inputs are forgotten": not getattr(root, "inputs", None), **freed(Node, program, walk, lambda node: node)}


def _hooked(walk: Walk, program: Program) -> dict[str, object]:
    return {**_calls(walk, program), "gradients": _replaced(walk, program)}


def _calls(walk: Walk, program: Program) -> dict[str, object]:
    """Return how often hooks were called, and with what. The leaves have a gradient of an earlier walk."""
    nodes = program.run(Node)
    for leaf in nodes[: len(program.leaves)]:
        leaf.grad = torch.ones_like(leaf.data)
    seen: list[list[Tensor]] = [[] for _ in nodes]
    for node, mine in zip(nodes, seen):
        node.hooks.append(lambda gradient, mine=mine: mine.append(condense(gradient)))  # type: ignore[misc]
    walk(nodes[-1])
    found = [each for mine in seen for each in mine]
    return {
        "calls of hooks": [len(each) for each in seen],
        "gradients in hooks": condense(torch.stack(found) if found else found),
    }


def _replaced(walk: Walk, program: Program) -> list[object]:
    """Return the gradients where every third value has two hooks: one doubles, one adds 1."""
    nodes = program.run(Node)
    for node in nodes[::3]:
        node.hooks += [lambda gradient: gradient * 2, lambda gradient: None, lambda gradient: gradient + 1]
    walk(nodes[-1])
    return gradients(nodes[: len(program.leaves)])


@hooks_and_freeing.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(program=tiny_program(rng))
    yield Case(program=small_program(rng))
    for program in many_programs(rng, 2):
        yield Case(program=program)
