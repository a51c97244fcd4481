"""Keys that are written and read again."""

from __future__ import annotations

import json
import random

from autograder.checking.expected import Expected
from autograder.checking.run import Raised, Run


def test_a_key_gives_back_each_run() -> None:
    """Runs lack values, share them with the solution's, or end with an error: any mixture of these."""
    drawn = random.Random(0)

    def run() -> Run:
        if not drawn.randrange(5):
            return Run({}, Raised("learner", "error", {"name": "ValueError"}))
        names = drawn.sample(["gradient", "bytes", "calls", "None"], drawn.randrange(5))
        return Run({name: drawn.choice([None, 0, 1, True, "1", [0, 1.5]]) for name in names})

    for _ in range(200):
        solution = [run() for _ in range(3)]
        mistakes = {name: [run() for _ in solution] for name in ("first", "second")}
        whole = Expected("seed", solution, mistakes, None, "")
        again = Expected.from_json(json.loads(json.dumps(whole.to_json())))
        assert [_told(one) for one in again.solution] == [_told(one) for one in solution]
        for name, runs in mistakes.items():
            assert [_told(one) for one in again.mistakes[name]] == [_told(one) for one in runs]


def _told(run: Run) -> str:
    """Return a text in which 1 and True differ, and the order of the values does not count."""
    return repr((sorted(run.values.items()), run.raised))
