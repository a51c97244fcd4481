"""From submission to feedback: `autograder watch` with 50 submissions in a minute.

    python benchmarks/watch.py [--json] [--count 50] [--seconds 60]

The limit is the same for submissions that come one by one, while nothing else is to do: two looks at the folder, one
run, one page. Seconds are from the moment when a submission lies in the folder to the moment when its page exists.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from autograder.lessons.collection import COURSE
from grading import BIN, ENVIRONMENT, make

ALONE, APART = 5, 4.0  # submissions that come one by one; seconds between them
PATIENCE = 300.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    (lesson,) = COURSE.read(["gradient_accumulation"])
    with tempfile.TemporaryDirectory() as folder:
        course, inbox = Path(folder, "course"), Path(folder, "inbox")
        inbox.mkdir()
        students = make(course, lesson, ALONE + chosen.count)
        (course / "submitted").rename(course.parent / "ready")
        command = [BIN / "autograder", "watch", course, inbox]
        with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL) as watch:
            time.sleep(5)  # the fork server warms up
            alone = measure(course, inbox, lesson.file_name, students[:ALONE], APART)
            together = measure(course, inbox, lesson.file_name, students[ALONE:], chosen.seconds / chosen.count)
            watch.send_signal(signal.SIGINT)
    limit = statistics.median(alone)
    found = {
        "submissions": chosen.count,
        "in seconds": chosen.seconds,
        "limit": round(limit, 2),
        "median": round(statistics.median(together), 2),
        "95th percentile": round(statistics.quantiles(together, n=20)[-1], 2),
        "median to limit": round(statistics.median(together) / limit, 2),
    }
    print(json.dumps(found) if chosen.json else "\n".join(f"{name}: {value:g}" for name, value in found.items()))


def measure(course: Path, inbox: Path, assignment: str, students: list[str], apart: float) -> list[float]:
    """Put submissions into the folder, `apart` seconds between them. Returns the seconds until each has its page."""
    begin = time.monotonic()
    came: dict[str, float] = {}
    seconds: dict[str, float] = {}
    while len(seconds) < len(students):
        now = time.monotonic()
        if now - begin > len(students) * apart + PATIENCE:
            raise TimeoutError(f"no page for {sorted(came.keys() - seconds.keys())}")
        if len(came) < len(students) and now - begin >= len(came) * apart:
            student = students[len(came)]
            (course.parent / "ready" / student).rename(inbox / student)
            came[student] = time.monotonic()
        for student in came.keys() - seconds.keys():
            if (course / "feedback" / student / assignment / f"{assignment}.html").exists():
                seconds[student] = time.monotonic() - came[student]
        time.sleep(0.02)
    return list(seconds.values())


if __name__ == "__main__":
    main()
