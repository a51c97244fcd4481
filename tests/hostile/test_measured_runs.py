"""Nothing is gained by being lean in the measured run alone, or by hiding work from what counts it."""

from __future__ import annotations

import pytest
import torch

from autograder import exercises
from autograder.checking.judge import judge
from autograder.checking.observe import observe
from autograder.checking.verdict import AspectState
from support.attacks.measured_runs import HIDDEN, KNOWN, Lean
from support.exercises import public_key


@pytest.mark.parametrize("attack", [*KNOWN, *HIDDEN], ids=lambda attack: attack.name)
def test_no_aspect_is_gained(attack: Lean) -> None:
    exercise, key = exercises.find(attack.exercise, attack.lesson), public_key(attack.exercise, attack.lesson)
    namespace = {"__name__": "__main__", "torch": torch}
    exec(attack.answer, namespace)
    try:
        runs = observe(exercise, namespace[exercise.asks], key.seed)
    finally:
        if "LIBRARY" in namespace:
            namespace["LIBRARY"]._destroy()  # type: ignore[attr-defined]
    states = {aspect.name: aspect.state for aspect in judge(exercise, runs, key, lambda: None).aspects}
    assert [name for name in attack.aspects if states[name] is AspectState.RIGHT] == []
    assert [name for name in attack.kept if states[name] is not AspectState.RIGHT] == []
