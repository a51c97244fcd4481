"""Record what the lessons show of a GPU: `python benchmarks/record_cuda.py` on a machine that has one.

Torch is all it needs. Runs every lesson, takes the median of what each `on_gpu(measure)` measures in five runs, and
writes autograder/lessons/recordings/<name of measure>.json with the device and torch's version. Then it tells of each
statement in the lessons about these values whether it is true, and ends with 1 if one is not: mend the prose. Commit
the files: a notebook without a GPU shows them.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable

import torch

import autograder
from autograder import exercises
from autograder.lessons import gpu_recordings
from autograder.lessons.execute import run
from autograder.lessons.gpu_recordings import RECORDINGS, Claims, Measured
from autograder.lessons.source import SOURCES, read

RUNS = 5


def record(measure: Callable[[], Measured]) -> None:
    """Write the recording of `measure`. Raises ValueError when its runs disagree on something that is no number."""
    runs = [measure() for _ in range(RUNS)]
    measured: Measured = {}
    for label, first in runs[0].items():
        values = [run[label] for run in runs]
        if isinstance(first, bool) and values != [first] * RUNS:
            raise ValueError(f"{measure.__name__}: {label!r} is not the same in every run: {values}")
        measured[label] = first if isinstance(first, bool) else type(first)(statistics.median(values))
    recording = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "runs": RUNS, "measured": measured}
    RECORDINGS.mkdir(exist_ok=True)
    path = RECORDINGS / f"{measure.__name__}.json"
    path.write_text(json.dumps(recording, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    if not torch.cuda.is_available():
        print("There is no GPU that torch can use here; nothing was recorded.", file=sys.stderr)
        return 1
    said: dict[str, bool] = {}

    def try_claims(measure: Callable[[], Measured], claims: Claims) -> None:
        recording = json.loads((RECORDINGS / f"{measure.__name__}.json").read_text(encoding="utf-8"))
        found = claims(recording["measured"])
        said.update({f"{measure.__name__}: {statement}": holds for statement, holds in found.items()})

    autograder.on_gpu, gpu_recordings.check_claims = record, try_claims  # what the cells import
    for path in sorted(SOURCES.glob("[0-9][0-9]_*.py")):
        lesson = read(path)
        if any("on_gpu(" in cell.source for cell in lesson.cells):
            run(lesson, exercises.load(lesson.name))  # which discards what cells print
    for statement, holds in said.items():
        print("true " if holds else "FALSE", statement)
    return 0 if all(said.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
