"""What `check` adds to a learner's own computation, over all exercises.

For each exercise the solution is checked again and again, as in a live kernel. Times are processor times of the
process; the time inside the answer's function, or inside the methods of its class, is taken off. Hooks that the answer
has registered and what a checkpoint computes again count as added. Prints a line per exercise, then the median and the
95th percentile over all checks, and how long a check takes relative to the answer's own time (the limit: a checker that
costs nothing has the ratio 1).

    python benchmarks/check_latency.py [--repeat 30] [--json]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable

import autograder
from autograder.checking.verdict import VerdictState
from autograder.lessons.collection import COURSE
from autograder.lessons.execute import run


def timed(answer: Callable[..., object], spent: list[float]) -> Callable[..., object]:
    """`answer`, adding the seconds spent in it to `spent[0]`."""
    within = [False]

    @functools.wraps(answer)
    def call(*args: object, **named: object) -> object:
        if within[0]:
            return answer(*args, **named)
        start, within[0] = time.process_time(), True
        try:
            return answer(*args, **named)
        finally:
            spent[0] += time.process_time() - start
            within[0] = False

    return call


def time_methods(answer: type, spent: list[float]) -> None:
    """Make the static methods of a class, such as `forward` of a Function, add the seconds in them to `spent[0]`."""
    for name, member in list(vars(answer).items()):
        if isinstance(member, staticmethod):
            setattr(answer, name, staticmethod(timed(member.__func__, spent)))


def measure(exercise: str, name: str, answer: object, repeat: int) -> tuple[list[float], list[float]]:
    """Seconds that each check of `answer`, called `name`, added, and seconds that the answer itself took."""
    spent = [0.0]
    if isinstance(answer, type):
        time_methods(answer, spent)
    elif callable(answer):
        answer = timed(answer, spent)
    namespace = {name: answer, "check": autograder.check}
    code = compile(f"check({exercise!r})", "cell", "eval")
    passed = eval(code, namespace)  # imports, the key, the allocator
    assert passed.state == VerdictState.PASSED, f"{exercise}: {passed}"
    added, own = [], []
    for _ in range(repeat):
        spent[0] = 0.0
        start = time.process_time()
        eval(code, namespace)._repr_html_()
        added.append(time.process_time() - start - spent[0])
        own.append(spent[0])
    return added, own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, milliseconds")
    chosen = parser.parse_args()
    every, ratios, figures = [], [], {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["AUTOGRADER_HOME"] = home
        for lesson in COURSE.read():
            exercises = COURSE.exercises(lesson)
            ran = run(lesson, exercises)
            autograder.start(lesson.name, language="en")
            for name, exercise in exercises.items():
                added, own = measure(name, exercise.asks, ran.solutions[name], chosen.repeat)
                every += added
                if sum(own):
                    ratios.append((sum(added) + sum(own)) / sum(own))
                figures[name] = 1e3 * statistics.median(added)
    median, p95 = 1e3 * statistics.median(every), 1e3 * statistics.quantiles(every, n=20)[-1]
    if chosen.json:
        print(
            json.dumps({"median_ms": median, "p95_ms": p95, "ratio": statistics.median(ratios), "exercises": figures})
        )
        return
    for name, value in figures.items():
        print(f"{name:24} {value:7.2f} ms")
    print(f"{'median':24} {median:7.2f} ms   (aim: at most 4)")
    print(f"{'95th percentile':24} {p95:7.2f} ms   (aim: at most 13)")
    print(f"{'check / answer alone':24} {statistics.median(ratios):7.2f}")


if __name__ == "__main__":
    main()
