"""Grading by otter-grader beside ours and stock nbgrader's: processor time per submission of the same class.

otter-grader gets an environment of its own, with this package in it:

    python3 -m venv /tmp/otter
    /tmp/otter/bin/pip install --constraint constraints.txt 'otter-grader[grading]==7.0.0' --editable .
    python benchmarks/otter_grading.py /tmp/otter/bin/python [--count 80] [--peers 6]

Each check becomes an otter test with a case for each aspect, worth that aspect's points. All tests call `check`, so all
graders run the same probes and give the same points. An otter test cannot express a hidden case that the student's
process never sees, a recognised mistake, or points that a person gives. otter grades without containers, all
submissions in one process, each in a kernel of its own.

Our start-up is taken off: `--count` submissions and a quarter of them are graded, and the difference counts. Each peer
grades the first `--peers` of them, its start-up included.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import nbformat

from autograder import exercises
from autograder.checking.exercise import Exercise
from autograder.lessons.collection import COURSE
from grading import BIN, ENVIRONMENT, make, scores

CHECK = re.compile(r'^check\("(\w+)"\)\s*\Z', re.M)
GRADER = "import otter\n\ngrader = otter.Notebook()"
GRADE = """
import json, sys
from otter.api import grade_submission
print(json.dumps([grade_submission(path, sys.argv[1], quiet=True).total for path in sys.argv[2:]]))
"""
FIRST = """
>>> from autograder import check
>>> _ = check({!r})"""
EACH = """
>>> from autograder.session import SESSION
>>> str(SESSION.last[{!r}].aspects[{}].state)
'right'"""
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2): processes whose parent has ended become our children


def otter_test(exercise: Exercise) -> str:
    """Return the source of an otter test of an exercise, in the format "OK"."""
    # Each case has a copy of the notebook's names: the verdict of the first is found in the session by the others.
    cases = [
        {
            "code": ("" if number else FIRST.format(exercise.name)) + EACH.format(exercise.name, number),
            "points": exercise.core * aspect.points,
        }
        for number, aspect in enumerate(exercise.aspects)
    ]
    test = {"name": exercise.name, "suites": [{"cases": cases, "scored": True, "type": "doctest"}]}
    return f"OK_FORMAT = True\ntest = {test!r}\n"


def convert(notebook: Path, target: Path) -> Path:
    """Write a notebook that was handed in as a student of otter's would have it, with `grader.check` for `check`."""
    converted = nbformat.read(notebook, as_version=4)
    for cell in converted.cells:
        if cell.cell_type == "code":
            cell.source = CHECK.sub(r'grader.check("\1")', cell.source)
    converted.cells.insert(0, nbformat.v4.new_code_cell(GRADER))
    nbformat.write(converted, target)
    return target


def processor_seconds(command: list[str | Path], folder: Path, **variables: str) -> tuple[float, str]:
    """Return the processor seconds of a command and all processes that it has started, and its standard output."""
    before = os.times()
    environment = {**ENVIRONMENT, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    with contextlib.suppress(ChildProcessError):
        while os.wait():
            pass
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4]), done.stdout


def by_otter(python: str, base: Path, known: dict[str, Exercise], notebooks: list[Path]) -> tuple[float, list[float]]:
    """Return processor seconds of the whole run, and the points of each notebook."""
    tests, submissions = base / "tests", base / "submissions"
    for folder in (tests, submissions):
        folder.mkdir()
    for exercise in known.values():
        (tests / f"{exercise.name}.py").write_text(otter_test(exercise), encoding="utf-8")
    (base / "requirements.txt").touch()
    generate = [Path(python).with_name("otter"), "generate", "--tests-dir", tests, "--no-environment"]
    subprocess.run(generate, cwd=base, check=True, capture_output=True)
    converted = [convert(path, submissions / f"{number}.ipynb") for number, path in enumerate(notebooks)]
    command = [python, "-c", GRADE, base / "autograder.zip", *converted]
    variables = {"NBGRADER_EXECUTION": "autograde", "AUTOGRADER_HOME": str(base)}  # as nbgrader sets it: no history
    seconds, printed = processor_seconds(command, base, **variables)
    return seconds, json.loads(printed.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the Python of otter-grader's environment")
    parser.add_argument("--count", type=int, default=80, help="submissions that we grade")
    parser.add_argument("--peers", type=int, default=6, help="submissions that each peer grades")
    chosen = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    (lesson,) = COURSE.read(["gradient_accumulation"])
    base = Path(tempfile.mkdtemp(prefix="otter-"))
    folder, name = base / "course", lesson.file_name
    students = make(folder, lesson, chosen.count)
    some = students[: chosen.peers]

    grade = [BIN / "autograder", "grade", ".", name, "--force"]
    fewer = [word for student in students[: chosen.count // 4] for word in ("--student", student)]
    processor_seconds([*grade, *fewer], folder)  # not counted: a first run makes files and tables
    few, _ = processor_seconds([*grade, *fewer], folder)
    many, _ = processor_seconds(grade, folder)
    ours = (many - few) / (chosen.count - chosen.count // 4)

    notebooks = [folder / "submitted" / student / name / f"{name}.ipynb" for student in some]
    theirs, points = by_otter(chosen.python, base, exercises.load(lesson.name), notebooks)

    plain = base / "stock"
    shutil.copytree(folder, plain, ignore=shutil.ignore_patterns("autograded", "submitted", "nbgrader_config.py"))
    for student in some:
        shutil.copytree(folder / "submitted" / student, plain / "submitted" / student)
    (plain / "nbgrader_config.py").write_text(f"c = get_config()\nc.CourseDirectory.root = {str(plain)!r}\n")
    stock, _ = processor_seconds([BIN / "nbgrader", "autograde", name], plain)

    print(f"{'grader':<12}{'of ours':>9}{'s each':>9}")
    each = {"ours": ours, "nbgrader": stock / chosen.peers, "otter": theirs / chosen.peers}
    for grader, seconds in each.items():
        print(f"{grader:<12}{seconds / ours:9.1f}{seconds:9.2f}")
    graded = scores(folder, name)
    print("points, ours and otter's:", [(student, graded[student], got) for student, got in zip(some, points)])
    shutil.rmtree(base)


if __name__ == "__main__":
    main()
