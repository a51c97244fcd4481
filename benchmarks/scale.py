"""The costs of grading on Dask workers, and a simulation for more workers.

    python benchmarks/scale.py [--json] [--count 120] [--plot FILE]

The peer is one process with the same number of threads, on the same submissions in the same run. Both are measured by
two runs, a short and a long one: the difference leaves out imports and warm-up.
"""

from __future__ import annotations

import argparse
import heapq
import json
import pickle
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from autograder.grading.scale.dask_executor import BATCH
from autograder.grading.scale.packing import pack
from autograder.lessons.collection import COURSE
from grading import BIN, ENVIRONMENT, make
from support.dask_cluster import DaskCluster

SHORT = 16  # submissions of the short run
SIMULATED = (1, 3, 10, 30, 100, 300, 1000)  # workers


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--plot", type=Path)
    chosen = parser.parse_args()
    (lesson,) = COURSE.read(["gradient_accumulation"])
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder, "course")
        students = make(course, lesson, chosen.count)
        sent = pack(course / "submitted" / students[0] / lesson.file_name)
        found: dict[str, float] = {"bytes sent per submission": len(pickle.dumps(sent))}
        for cores in (1, 2):
            peer = per_submission(course, students, ["--jobs", str(cores)], cores)
            with DaskCluster(Path(folder, f"cluster-{cores}"), hidden=course) as cluster:
                for core in range(cores):
                    cluster.add_worker(core=core)
                ours = per_submission(course, students, ["--scheduler", cluster.address], cores)
            found |= {
                f"seconds per submission, one process, {cores} threads": peer.wall,
                f"seconds per submission, {cores} workers": ours.wall,
                f"overhead, {cores} workers": ours.wall / peer.wall - 1,
                "processor seconds of the head per submission": ours.head,
            }
            if cores == 2:
                found["seconds to the first result"] = ours.first
        found["seconds lost by a killed worker"] = lost_by_a_killed_worker(course, students, Path(folder))
    found["workers that one head can feed"] = (
        found["seconds per submission, 1 workers"] / found["processor seconds of the head per submission"]
    )
    if chosen.plot:
        plot(found, chosen.plot)
    rounded = {name: float(f"{value:.3g}") for name, value in found.items()}
    print(json.dumps(rounded) if chosen.json else "\n".join(f"{name}: {value:g}" for name, value in rounded.items()))


class Cost:
    """The costs of a run per submission, in seconds: wall time, and processor time of the head."""

    def __init__(self, wall: float, head: float, first: float) -> None:
        self.wall, self.head, self.first = wall, head, first


def per_submission(course: Path, students: list[str], arguments: list[str], cores: int) -> Cost:
    """Return the difference between a long and a short run, per submission.

    A run before them warms the workers up, which stay warm.
    """
    run(course, students[:SHORT], arguments, cores)
    few = run(course, students[:SHORT], arguments, cores)
    many = run(course, students, arguments, cores)
    more = len(students) - SHORT
    return Cost((many.wall - few.wall) / more, (many.head - few.head) / more, few.first)


def run(course: Path, students: list[str], arguments: list[str], cores: int) -> Cost:
    """Grade these students from scratch on the first cores of this machine."""
    shutil.rmtree(course / "autograded", ignore_errors=True)
    only = [word for student in students for word in ("--student", student)]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = ["taskset", "--cpu-list", f"0-{cores - 1}", BIN / "autograder", "grade", course, *arguments, "--force"]
    process = subprocess.Popen([*command, *only], env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    first = 0.0
    while process.poll() is None:
        if not first and list((course / "autograded").glob("*/*")):
            first = time.monotonic() - start
        time.sleep(0.02)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    head = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - start, head, first)


def lost_by_a_killed_worker(course: Path, students: list[str], folder: Path) -> float:
    """Return the seconds by which a run is longer if one of two workers dies.

    Another worker comes at once.
    """
    seconds = []
    for kill in (False, True):
        shutil.rmtree(course / "autograded", ignore_errors=True)
        with DaskCluster(folder / f"killed-{kill}", hidden=course) as cluster:
            first, _ = cluster.add_worker(), cluster.add_worker()
            start = time.monotonic()
            command = [BIN / "autograder", "grade", course, "--force", "--scheduler", cluster.address]
            process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
            while kill and len(list((course / "autograded").glob("*/*"))) < len(students) // 4:
                time.sleep(0.05)
            if kill:
                first.kill()
                cluster.add_worker()
            process.wait()
            seconds.append(time.monotonic() - start)
    return seconds[1] - seconds[0]


def simulate(submissions: int, workers: int, grading: float, head: float, warm_up: float) -> float:
    """Return the seconds until all submissions are graded and written.

    Each worker takes a batch when it is free; one head writes one result after the other. `grading` and `head` are
    seconds per submission, `warm_up` is a worker's time before its first batch.
    """
    free = [warm_up] * workers
    heapq.heapify(free)
    written = 0.0
    for start in range(0, submissions, BATCH):
        batch = min(BATCH, submissions - start)
        ended = heapq.heappop(free) + batch * grading
        heapq.heappush(free, ended)
        written = max(written, ended) + batch * head
    return written


def plot(found: dict[str, float], path: Path) -> None:
    """Draw submissions per second over workers, for several numbers of submissions."""
    import matplotlib.pyplot as plt

    grading, head = found["seconds per submission, 1 workers"], found["processor seconds of the head per submission"]
    plt.style.use("autograder.pictures.plots.autograd")
    figure, axes = plt.subplots(figsize=(7, 4))
    for submissions in (10_000, 100_000, 1_000_000):
        speed = [
            submissions / simulate(submissions, n, grading, head, found["seconds to the first result"])
            for n in SIMULATED
        ]
        axes.plot(SIMULATED, speed, marker="o", label=f"{submissions:,} submissions")
    fed = grading / head
    axes.axvline(fed, linestyle="--", color="gray")
    axes.annotate("limit: the workers", (fed, 6), (-8, 0), textcoords="offset points", ha="right")
    axes.annotate("limit: the head", (fed, 6), (8, 0), textcoords="offset points")
    axes.set(xscale="log", yscale="log", xlabel="workers with one core each", ylabel="submissions per second")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.0f}")
    axes.legend()
    figure.savefig(path, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
