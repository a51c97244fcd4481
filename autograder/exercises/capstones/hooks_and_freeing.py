"""Extra exercise: hooks and freed nodes in a learner's own engine."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import condense
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import Entries
from autograder.checking.observe import unmarked
from autograder.language import Text

from .engine_runs import or_error
from .nodes import gradients, recorded
from .random_programs import Program, many_programs, small_program

_OF_LEAVES = Entries(Text("gradient of leaf {n}", "градиент листа {n}"), Text("gradients", "градиентов"))
Walk = Callable[..., object]


@exercise(
    title=Text("Hooks, and what may go", "Хуки и освобождение"),
    kind="complete",
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "gradients",
            0.5,
            en="Without hooks `.grad` of every leaf is right.",
            ru="Без хуков `.grad` каждого листа верен.",
            entries=(_OF_LEAVES,),
        ),
        aspect(
            "calls",
            1,
            en="Each hook of a value behind `root` is called once, with the whole gradient.",
            ru="Каждый хук значения за `root` вызван один раз, со всем градиентом.",
        ),
        aspect(
            "replaced",
            1,
            en="What a hook returns takes the gradient's place, unless it is None.",
            ru="Возвращённое хуком, если это не None, заменяет градиент.",
            entries=(_OF_LEAVES,),
        ),
        aspect(
            "freed",
            1,
            en="After a walk the results are gone from memory. Another walk through one raises a RuntimeError, and leaves work on.",
            ru="После обхода результатов в памяти больше нет. Новый обход через такой результат вызывает RuntimeError, а листья "
            "пригодны и дальше.",
        ),
        aspect(
            "retained",
            0.5,
            en="With `retain_graph=True` one can walk again.",
            ru="С `retain_graph=True` обход можно повторить.",
            entries=(_OF_LEAVES,),
        ),
    ],
    hints=[
        Text(
            "At which moment of your walk is a gradient complete and not yet used?",
            "В какой момент обхода градиент уже полон, но ещё не использован?",
        ),
        Text(
            "Run the hooks between taking a gradient out and using it, at leaves too. Once a rule has run, let the value "
            "forget inputs and rule.",
            "Вызывайте хуки после того, как градиент взят, и до того, как он использован, у листьев тоже. Когда правило "
            "отработало, пусть значение забудет входы и правило.",
        ),
        Text.same(
            "gradient = arrived.pop(value)\n"
            "for hook in value.hooks:\n"
            "    ...\n"
            "...\n"
            "if not retain_graph:\n"
            "    value.inputs, value.rule = (), refuse  # a function that raises"
        ),
    ],
)
def hooks_and_freeing(answer: Any, case: Case) -> dict[str, object]:
    walk, program = unmarked(answer.hooks_and_freeing), case.program
    return {
        "gradients": or_error(_gradients, walk, program, 1),
        "calls": or_error(_calls, walk, program),
        "replaced": or_error(_replaced, walk, program),
        "freed": or_error(_freed, walk, program),
        "retained": or_error(_gradients, walk, program, 3),
    }


def _gradients(walk: Walk, program: Program, times: int) -> list[object]:
    nodes, _ = recorded(program)
    for time in range(1, times + 1):
        walk(nodes[-1], **({} if time == times else {"retain_graph": True}))
    return gradients(nodes[: len(program.leaves)])


def _calls(walk: Walk, program: Program) -> dict[str, object]:
    """Return how often hooks were called, and with what. The leaves have a gradient of an earlier walk."""
    nodes, _ = recorded(program)
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
    nodes, _ = recorded(program)
    for node in nodes[::3]:
        node.hooks += [lambda gradient: gradient * 2, lambda gradient: None, lambda gradient: gradient + 1]
    walk(nodes[-1])
    return gradients(nodes[: len(program.leaves)])


def _freed(walk: Walk, program: Program) -> dict[str, object]:
    """Return how many results are in memory after a walk, and what further walks do.

    One result is held from outside. Frozen objects are out of the garbage collector's reach.
    """
    nodes, _ = recorded(program)
    results = [weakref.ref(node) for node in nodes[len(program.leaves) : -2]]
    leaves, (held, root) = nodes[: len(program.leaves)], nodes[-2:]
    del nodes
    gc.freeze()
    try:
        walk(root)
        alive = sum(each() is not None for each in results)
    finally:
        gc.unfreeze()
    again = iter(leaves)
    return {
        "results in memory": alive,
        "second pass": or_error(walk, root),
        "pass through a freed result": or_error(walk, held + held),
        "another graph of the leaves": or_error(walk, program.run(lambda _: next(again))[-1]),
    }


@hooks_and_freeing.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(program=small_program(rng))
    for program in many_programs(rng, 2):
        yield Case(program=program)
