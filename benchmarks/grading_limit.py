"""The limits that grading.py compares with: the cells and probes of submissions in warm shells, and nothing else.

    python benchmarks/grading_limit.py COURSE LESSON JOBS STUDENT...

Prints the seconds that the slowest of JOBS processes took, their warm-up not counted: first with all cells, then
without released cells that nothing in a submission needs.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import nbformat
import torch

from autograder import exercises
from autograder.checking.exercise import Exercise
from autograder.checking.judge import screen
from autograder.checking.observe import observe
from autograder.grading.conspicuous.code_reader import released_paths
from autograder.grading.demonstrations.needless_cells import Demonstrations, RehearsedCell
from autograder.grading.sandbox.child.shell import Shell
from autograder.grading.sandbox.server.warmup import warm_shell
from autograder.grading.submission.self_test import plain_cells
from autograder.lessons.collection import COURSE
from autograder.lessons.notebooks import source_notebook

CHECK = re.compile(r'^check\("(\w+)"\)\s*\Z', re.M)


def grade(shell: Shell, path: Path, known: dict[str, Exercise], demonstrations: Demonstrations | None) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    needless: Sequence[int] = ()
    if demonstrations:
        locked = {place for place, cell in enumerate(cells) if CHECK.search(cell.source)}
        asked = {each.asks for each in known.values()}
        needless = demonstrations.needless([cell.source for cell in cells], locked, asked)
    for place, cell in enumerate(cells):
        check = CHECK.search(cell.source)
        if check:
            exercise = known[check[1]]
            if screen(exercise, shell.user_ns) is None:
                observe(exercise, shell.user_ns[exercise.asks], "limit")
        elif place not in needless:
            shell.outputs.clear(1 << 20)
            shell.run_cell(cell.source, store_history=True)
    shell.reset()


def main() -> None:
    course, name, jobs, *students = sys.argv[1:]
    (lesson,) = COURSE.read([name])
    known = exercises.load(lesson.name)
    torch.set_num_threads(1)
    shell = warm_shell()
    # As in a child: nobody has learned anything on this machine.
    os.environ.update(NBGRADER_EXECUTION="autograde", AUTOGRADER_HOME=tempfile.mkdtemp())
    paths = [Path(course, "submitted", each, lesson.file_name, f"{lesson.file_name}.ipynb") for each in students]
    notebooks = plain_cells(source_notebook(lesson, known))
    names = released_paths((source for cells in notebooks for source in cells), shell.transform_cell)
    rehearsed = [RehearsedCell(source, True) for cells in notebooks for source in cells]
    lean = Demonstrations(rehearsed, names)
    gc.collect()
    gc.freeze()  # as the fork server does: no collection walks over all of torch
    seconds = [slowest(shell, paths, known, int(jobs), each) for each in (None, lean)]
    print(*seconds)


def slowest(
    shell: Shell, paths: list[Path], known: dict[str, Exercise], jobs: int, demonstrations: Demonstrations | None
) -> float:
    """Seconds that the slowest of `jobs` processes took for its part of the submissions."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    workers = []
    for number in range(jobs):
        ended, told = os.pipe()
        if os.fork() == 0:
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            grade(shell, paths[0], known, demonstrations)  # what is imported at first use
            start = time.perf_counter()
            for path in paths[number::jobs]:
                grade(shell, path, known, demonstrations)
            os.write(told, str(time.perf_counter() - start).encode())
            os._exit(0)
        os.close(told)
        workers.append(ended)
    seconds = [float(os.read(each, 100)) for each in workers]
    for _ in workers:
        os.wait()
    os.close(nowhere)
    return max(seconds)


if __name__ == "__main__":
    main()
