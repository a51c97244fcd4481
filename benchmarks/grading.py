"""Grading a class: our throughput, stock nbgrader's, and the limit of this way, on the same submissions in one run.

    python benchmarks/grading.py [--json] [--sizes 50 200 1000] [--stock 6]

The limit is the same cells and probes in one warm shell per core, without isolation, forks, judge or gradebook. The
lean limit leaves out the released cells that nothing in a submission needs, as our grading does.
Stock is `nbgrader autograde` with no config of ours, on a part of the submissions. Peak memory is that of all
processes together, shared pages counted once.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import nbformat
import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from autograder.grading.creating.course_folder import make_course
from autograder.lessons.collection import COURSE
from autograder.lessons.source import Lesson
from support.submissions import Submission, all_of, read

BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}


def make(folder: Path, lesson: Lesson, count: int) -> list[str]:
    """A course with `count` submissions: solved, blank and wrong ones in turn, nothing that waits or breaks."""
    quiet = subprocess.DEVNULL
    with contextlib.redirect_stdout(None):
        make_course(folder, None)
    for language in ("en", "ru"):
        command = [
            BIN / "nbgrader",
            "generate_assignment",
            lesson.file_name,
            *(["--no-db"] if language == "ru" else []),
        ]
        environment = {**ENVIRONMENT, "AUTOGRADER_LANGUAGE": language}
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=quiet, stderr=quiet)
    kinds = [each for each in all_of(lesson) if each.student.startswith(("solved", "blank", "mistakes"))]
    return [_hand_in(folder, lesson, kinds[number % len(kinds)], number) for number in range(count)]


def _hand_in(folder: Path, lesson: Lesson, submission: Submission, number: int) -> str:
    student = f"s{number:04}-{submission.student}"
    release = folder / ("release" if submission.language == "en" else "release-ru")
    path = folder / "submitted" / student / lesson.file_name / f"{lesson.file_name}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(submission.notebook(read(release / lesson.file_name / path.name)), path)
    return student


def seconds_of(command: list[str | Path], folder: Path) -> tuple[float, int]:
    """Wall seconds of a command, and the most bytes that it and its children held together.

    To look takes time of what is looked at: at most a hundredth of it.
    """
    peak, start = 0, time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    complaint: list[bytes] = []
    reader = threading.Thread(target=lambda: complaint.append(process.stderr.read()))
    reader.start()
    while process.poll() is None:
        looked = time.perf_counter()
        peak = max(peak, _memory(process.pid))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(1, 100 * (time.perf_counter() - looked)))
    reader.join()
    if process.returncode:
        raise SystemExit(complaint[0].decode()[-3000:])
    return time.perf_counter() - start, peak


def _memory(pid: int) -> int:
    """Bytes of a process and all below it. The kernel adds them up: to do it here takes a core of its own."""
    total = 0
    with contextlib.suppress(psutil.Error, OSError):
        main = psutil.Process(pid)
        for each in [main, *main.children(recursive=True)]:
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{each.pid}/smaps_rollup").read_text(encoding="utf-8")
                total += sum(int(kb) << 10 for kb in re.findall(r"^Pss: +(\d+) kB", text, re.M))
    return total


def scores(folder: Path, assignment: str) -> dict[str, float]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", folder.name) as gradebook:
        return {each.student_id: each.score for each in gradebook.find_assignment(assignment).submissions}


def limits(folder: Path, lesson: Lesson, students: list[str]) -> list[float]:
    """Seconds for the cells and probes of one submission in a warm shell on each core: all cells, and needed ones."""
    command = [sys.executable, Path(__file__).with_name("grading_limit.py"), folder, lesson.name, str(os.cpu_count())]
    done = subprocess.run([*command, *students], capture_output=True, text=True, check=True)
    return [float(seconds) / len(students) for seconds in done.stdout.split()[-2:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--stock", type=int, default=6, help="submissions that stock nbgrader grades")
    chosen = parser.parse_args()
    (lesson,) = COURSE.read(["gradient_accumulation"])
    base = Path(tempfile.mkdtemp(prefix="grading-"))
    per_submission: dict[str, float] = {}
    peaks: list[int] = []
    for size in chosen.sizes:
        folder = base / f"c{size}"
        students = make(folder, lesson, size)
        command = [BIN / "autograder", "grade", ".", lesson.file_name]
        if size == chosen.sizes[-1]:
            before = limits(folder, lesson, students)
        seconds, peak = seconds_of(command, folder)
        per_submission[str(size)] = seconds / size
        peaks.append(peak)
        print(f"{size:5} submissions: {seconds / size:.3f} s each, {peak / 2**20:.0f} MB at the peak", flush=True)
    # The largest class is the last. Starting up is a part of its time, and not of the limit's. A machine may get faster
    # or slower within a minute: the limit is measured before and after.
    ours = per_submission[str(chosen.sizes[-1])]
    after = limits(folder, lesson, students)
    least, lean = ((one + other) / 2 for one, other in zip(before, after))
    print(f"the limit: {before[0]:.4f} s each before, {after[0]:.4f} after; lean {before[1]:.4f} and {after[1]:.4f}")

    plain = base / "stock"
    shutil.copytree(folder, plain, ignore=shutil.ignore_patterns("autograded", "submitted", "nbgrader_config.py"))
    for student in students[: chosen.stock]:
        shutil.copytree(folder / "submitted" / student, plain / "submitted" / student)
    (plain / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.CourseDirectory.course_id = {folder.name!r}\nc.CourseDirectory.root = {str(plain)!r}\n"
    )
    seconds, _ = seconds_of([BIN / "nbgrader", "autograde", lesson.file_name], plain)
    stock = seconds / chosen.stock
    print(f"stock nbgrader: {stock:.2f} s each")
    graded, theirs = scores(folder, lesson.file_name), scores(plain, lesson.file_name)
    equal = all(theirs[student] == graded[student] for student in students[: chosen.stock])
    shutil.rmtree(base)
    figures = {
        "ratio_nbgrader": round(stock / ours, 1),
        "ratio_limit": round(ours / least, 2),
        "ratio_lean_limit": round(ours / lean, 2),
        "peak_bytes": max(peaks),
        "seconds_per_submission": {size: round(each, 4) for size, each in per_submission.items()},
        "scores_equal": equal,
    }
    print(json.dumps(figures) if chosen.json else "\n".join(f"{name}: {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
