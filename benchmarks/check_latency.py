"""What `check` adds to a learner's own computation, over all exercises.

For each exercise the solution is checked again and again, as in a live kernel; the time spent inside the answer is
taken off. Prints a line per exercise, then the median and the 95th percentile over all checks, and how long a check
takes relative to the answer's own time (the limit: a checker that costs nothing has the ratio 1).

    python benchmarks/check_latency.py [--repeat 30] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable

import autograder
from autograder.lessons.collection import COURSE
from autograder.lessons.execute import run


def timed(answer: Callable[..., object], spent: list[float]) -> Callable[..., object]:
    """`answer`, adding the seconds spent in it to `spent[0]`."""

    def call(*args: object) -> object:
        start = time.process_time()
        try:
            return answer(*args)
        finally:
            spent[0] += time.process_time() - start

    return call


def measure(name: str, answer: object, repeat: int) -> tuple[list[float], list[float]]:
    """Seconds that each check of `answer` added, and seconds that the answer itself took."""
    spent = [0.0]
    namespace = {name: timed(answer, spent) if callable(answer) else answer, "check": autograder.check}
    code = compile(f"check({name!r})", "cell", "eval")
    eval(code, namespace)  # imports, the key, the allocator
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
                added, own = measure(exercise.asks, ran.solutions[name], chosen.repeat)
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
    print(f"{'median':24} {median:7.2f} ms   (aim: under 8)")
    print(f"{'95th percentile':24} {p95:7.2f} ms   (aim: under 40)")
    print(f"{'check / answer alone':24} {statistics.median(ratios):7.2f}")


if __name__ == "__main__":
    main()
