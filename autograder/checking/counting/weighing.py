"""Large runs of an answer whose memory the kernel counts, in grading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...language import Note
from ..containment import timeout_causes as overlong
from ..containment.thread_starts import in_one_process
from ..counted_run import another, sample
from ..exercise import Case, Exercise
from ..expected import Expected, expect
from ..judge import judge, with_wrong_aspect
from ..run import Run
from ..verdict import MEMORY, Finding, Verdict, VerdictState

_MB = 1 << 20
_SLACK = 8 * _MB  # beyond the limit, where nothing is deducted and a person decides


class NotTold(Exception):
    """An error: a large run tells too little about memory.

    It was stopped, or takes a little more than the limit.
    """


def weighed(exercise: Exercise, aspect: str) -> Exercise:
    """Return the exercise with one aspect, whose probe is the large run for the bytes of `aspect`.

    The probe shows the run's results. Raises KeyError if the exercise has no such run.
    """
    run = exercise.weighings[aspect].run

    def probe(answer: Any, case: Case) -> dict[str, object]:
        with in_one_process():
            return {aspect: sample(run(getattr(answer, exercise.asks), case.rng), case.rng)}

    def cases(rng: torch.Generator) -> Iterator[Case]:
        yield Case(rng=another(rng))

    only = tuple(replace(each, after=()) for each in exercise.aspects if each.name == aspect)
    return replace(
        exercise, aspects=only, probe=probe, generate=cases, programs_text="", device_probe=None, weighings={}
    )


def expect_weighed(exercise: Exercise, solution: object, seed: str) -> dict[str, Expected]:
    """Return a dict from aspect to what the solution shows in the large run for it."""
    return {aspect: expect(weighed(exercise, aspect), solution, {}, seed) for aspect in exercise.weighings}


def judge_weighed(
    exercise: Exercise, verdict: Verdict, aspect: str, runs: Sequence[Run], touched: int | None, expected: Expected
) -> Verdict:
    """Return `verdict`, with `aspect` wrong if the large run does not confirm it.

    Either it needs too much memory, or its results are wrong. `runs` holds the observation of that run, `expected` the
    solution's. `touched` is the memory in bytes. If it is None, nobody has counted, and only the results are judged.
    Raises NotTold if a person should look.
    """
    if any(run.raised and run.raised.id in overlong.IDS for run in runs):
        raise NotTold("it took too long")
    if any(run.raised and run.raised.parameters.get("type") == OSError.__name__ for run in runs):
        raise NotTold("it writes files")
    most = exercise.weighings[aspect].most
    if len(runs) != 1 or judge(weighed(exercise, aspect), runs, expected).state != VerdictState.PASSED:
        why = Note("differs.counted_run", {"what": ""})
    elif touched is not None and most < touched <= most + _SLACK:
        raise NotTold(f"it took {touched / _MB:.0f} MB, a little more than {most // _MB}")
    elif touched is not None and touched > most:
        why = Note(MEMORY, {"used": round(touched / _MB), "limit": most // _MB})
    else:
        return verdict
    return with_wrong_aspect(exercise, verdict, Finding(aspect, expected.seed, got=(why,)))
