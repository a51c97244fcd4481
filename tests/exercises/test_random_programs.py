"""Random programs against torch: they accept the right engine and find every faulty one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import torch

from autograder.checking.comparison import compare
from autograder.checking.values import canonical
from autograder.exercises.capstones.own_engine import own_engine
from autograder.exercises.shared import engine_runs, memory_runs
from autograder.exercises.shared.random_programs import Program, many_programs, random_program
from autograder.lessons.mistakes import mistakes_of

OBSERVERS: tuple[Callable[..., object], ...] = (
    engine_runs.first_gradients,
    engine_runs.accumulated,
    engine_runs.hooked,
    engine_runs.second_gradients,
    engine_runs.constant_gradient,
    memory_runs.own_memory,
    memory_runs.freed,
)
FAULTY = sorted(mistakes_of(own_engine).cells)


@cache
def programs() -> list[Program]:
    return list(many_programs(torch.Generator().manual_seed(2), 6))


@cache
def by_torch(observe: Callable[..., object], number: int) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of the cycle that create_graph=True makes
        return canonical(observe(engine_runs.torch_leaf, programs()[number]))


def differences(engine: Any) -> Iterator[str]:
    """Yield the names of the observations in which an engine differs from torch."""
    for number, program in enumerate(programs()):
        for observe in OBSERVERS:
            found = canonical(engine_runs.or_error(observe, engine, program))
            if compare(by_torch(observe, number), found) is not None:
                yield observe.__name__
        for observe in (engine_runs.constant_sum, engine_runs.forgets_its_parts):  # torch cannot be asked
            if engine_runs.or_error(observe, engine, program) is False:
                yield observe.__name__
    for observe in (engine_runs.through_a_hook, engine_runs.deep_gradient):
        right = canonical(observe(engine_runs.torch_leaf, 0.0))
        if compare(right, canonical(engine_runs.or_error(observe, engine, 0.0))) is not None:
            yield observe.__name__


@pytest.mark.parametrize("name", FAULTY)
def test_random_programs_find_every_faulty_engine(name: str) -> None:
    assert next(differences(mistakes_of(own_engine).program(name, "Value")), None) is not None


def test_the_engine_behind_the_mistakes_agrees_with_torch() -> None:
    """Otherwise every mistake would be found for a fault that all of them share."""
    right: dict[str, Any] = {}
    exec("\n".join(cell.source for cell in mistakes_of(own_engine).shared), right)
    assert list(differences(right["Engine"])) == []
    assert len(FAULTY) >= 29


def test_a_seed_draws_one_program_and_another_seed_another() -> None:
    one, same, other = (repr(random_program(torch.Generator().manual_seed(seed))) for seed in (0, 0, 1))
    assert one == same != other
