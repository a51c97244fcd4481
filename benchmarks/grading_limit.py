"""The limit that grading.py compares with: the cells and probes of submissions in warm shells, and nothing else.

    python benchmarks/grading_limit.py COURSE LESSON JOBS STUDENT...

Prints the seconds that the slowest of JOBS processes took, their warm-up not counted.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import torch

from autograder import exercises
from autograder.checking.judge import screen
from autograder.checking.observe import observe
from autograder.grading.sandbox.child.shell import Shell
from autograder.grading.sandbox.server.warmup import warm_shell
from autograder.lessons.collection import COURSE

CHECK = re.compile(r'^check\("(\w+)"\)\s*\Z', re.M)


def grade(shell: Shell, path: Path, known: dict[str, object]) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        check = CHECK.search(cell.source) if cell.cell_type == "code" else None
        if check:
            exercise = known[check[1]]
            if screen(exercise, shell.user_ns) is None:
                observe(exercise, shell.user_ns[exercise.asks], "limit")
        elif cell.cell_type == "code":
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
    gc.collect()
    gc.freeze()  # as the fork server does: no collection walks over all of torch
    nowhere, out = os.open(os.devnull, os.O_WRONLY), os.dup(1)
    workers = []
    for number in range(int(jobs)):
        ended, told = os.pipe()
        if os.fork() == 0:
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            grade(shell, paths[0], known)  # what is imported at first use
            start = time.perf_counter()
            for path in paths[number :: int(jobs)]:
                grade(shell, path, known)
            os.write(told, str(time.perf_counter() - start).encode())
            os._exit(0)
        os.close(told)
        workers.append(ended)
    seconds = [float(os.read(each, 100)) for each in workers]
    for _ in workers:
        os.wait()
    os.write(out, f"{max(seconds)}\n".encode())


if __name__ == "__main__":
    main()
