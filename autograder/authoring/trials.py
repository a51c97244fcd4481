"""Trials of a lesson's right and wrong answers, in several processes.

A verdict must be the same every time. Each answer is therefore judged on the public seed in several new processes.
Each process first judges the answers on hidden seeds of its own: it makes `PER_PROCESS` trials.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any

import torch

from .. import exercises
from ..cells import BrokenSource
from ..checking.exercise import PUBLIC_SEED, Exercise
from ..checking.expected import Expected
from ..checking.judge import judge
from ..checking.observe import code_digest, observe
from ..checking.run import Run
from ..checking.verdict import Verdict
from ..lessons.execute import Ran, run
from ..lessons.source import Lesson

TRIALS, PER_PROCESS = 20, 4
# Imported before the processes are forked, once for all. Nothing may call backward before the fork.
_PRELOADED = ["torch", "torch._dynamo", "torch.utils.checkpoint", __name__]
_BLOCKS = 20_000  # many more than an answer needs

# Verdicts by the name of the exercise, the kind of the answer ("solution", "alternative", "mistake") and its own name.
Trials = dict[tuple[str, str, str], list[Verdict]]


def try_answers(
    lesson: Lesson, chosen: Sequence[Exercise], keys: Mapping[str, Expected], number: int = TRIALS
) -> Trials:
    """Return `number` verdicts on the solution, each alternative and each mistake of the chosen exercises.

    `keys` is a dict from exercise name to what is expected on the public seed.
    Raises BrokenSource if a cell of the lesson cannot be executed, or if an answer ends its process.
    """
    trials: Trials = defaultdict(list)
    if not chosen:
        return trials
    processes = math.ceil(number / PER_PROCESS)
    seeds = [[*(f"gate {process}.{n}" for n in range(PER_PROCESS - 1)), PUBLIC_SEED] for process in range(processes)]
    seeds[-1] = seeds[-1][: number - PER_PROCESS * (processes - 1)]
    path, encoded = exercises.path_of(chosen[0]), {each.name: keys[each.name].to_json() for each in chosen}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    executor = ProcessPoolExecutor(min(processes, os.cpu_count() or 1), context, max_tasks_per_child=1)
    try:
        for found in executor.map(_try_in_process, *zip(*((lesson, path, encoded, each) for each in seeds))):
            for answer, verdicts in found.items():
                trials[answer] += verdicts
    except BrokenProcessPool as error:
        wrong = f"an answer ended its process; find its exercise with `autograder verify {lesson.name}.EXERCISE`"
        raise BrokenSource(lesson.path, 1, wrong) from error
    finally:
        executor.shutdown(cancel_futures=True)
    return trials


def judge_keys(chosen: Sequence[Exercise], keys: Mapping[str, Expected], ran: Ran) -> Trials:
    """Return the verdicts on what the answers of the chosen exercises have done on the public seed.

    The key holds what mistakes have done. Solutions and alternatives are observed.
    """
    trials: Trials = {}
    for exercise in chosen:
        key = keys[exercise.name]
        for kind, own, answer in _answers(exercise, ran):
            held = key.mistakes if kind == "mistake" else {}
            trials[exercise.name, kind, own] = [_verdict(exercise, own, answer, key, held)]
    return trials


def _verdict(
    exercise: Exercise, own: str, answer: object, expected: Expected, held: Mapping[str, Sequence[Run]]
) -> Verdict:
    """Return the verdict on an answer called `own`, which is observed unless its runs are `held`."""
    runs = held.get(own) or observe(exercise, answer, expected.seed)
    return judge(exercise, runs, expected, partial(code_digest, answer))


def _try_in_process(lesson: Lesson, path: Path, keys: Mapping[str, Any], seeds: Sequence[str]) -> Trials:
    """Return the verdicts of a new process on the exercises named in `keys`, on each of the seeds."""
    with tempfile.TemporaryDirectory() as tempfile.tempdir:  # deletes the files that wrong answers leave
        return _try_all(lesson, path, keys, seeds)


def _try_all(lesson: Lesson, path: Path, keys: Mapping[str, Any], seeds: Sequence[str]) -> Trials:
    gc.freeze()  # answers that collect garbage then leave out torch
    torch.set_num_threads(1)
    blocks = _scatter_free_blocks(seeds[0])
    known = exercises.load_path(path)
    ran = run(lesson, known, facts=False)
    trials: Trials = defaultdict(list)
    for name, key in keys.items():
        exercise = known[name]
        answers = list(_answers(exercise, ran))
        for seed in seeds:
            expected = Expected.from_json(key) if seed == PUBLIC_SEED else ran.expect(exercise, seed)
            for kind, own, answer in answers:
                held = expected.mistakes if kind == "mistake" and seed != PUBLIC_SEED else {}
                trials[name, kind, own].append(_verdict(exercise, own, answer, expected, held))
    del blocks
    return dict(trials)


def _answers(exercise: Exercise, ran: Ran) -> Iterator[tuple[str, str, object]]:
    """Yield kind, name and object of each right and wrong answer to an exercise."""
    yield "solution", exercise.name, ran.solutions[exercise.name]
    for name, answer in ran.alternatives.get(exercise.name, {}).items():
        yield "alternative", name, answer
    for name, mistake in ran.mistakes[exercise.name].items():
        yield "mistake", name, mistake


def _scatter_free_blocks(seed: str) -> list[bytearray]:
    """Fill the heap and free every second block in an order that depends on `seed`.

    New objects then get addresses in another order in each process. A verdict that depends on addresses differs.
    Returns the other blocks. Keep the blocks until the process ends.
    """
    rng = random.Random(seed)
    blocks = [bytearray(rng.randrange(512)) for _ in range(_BLOCKS)]
    rng.shuffle(blocks)
    del blocks[::2]
    return blocks
