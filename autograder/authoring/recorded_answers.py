"""Recorded answers: what people wrote, with the verdict that each answer deserves.

A file LESSON.py holds cells:

    # %%
    import torch  # shared by the answers below

    # %% exercise="descend" verdict="refused" mistake="one_step"
    def descend(...): ...

`verdict` is "passed" or "refused". `mistake` names the mistake that the check must recognise, or is "" if it must
recognise none. If a cell has no such attribute, the check may recognise any mistake or none.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cells import Cell, execute, read_cells
from ..checking.exercise import Exercise
from ..checking.expected import Expected
from ..checking.judge import judge, screen
from ..checking.observe import code_digest, observe
from ..checking.verdict import Verdict
from ..exercises import key_of

KEYS = {"exercise", "verdict", "mistake"}


@dataclass(frozen=True)
class RecordedAnswer:
    """An answer to an exercise of a lesson.

    `path` is the file LESSON.py. `shared` are the cells that define what several answers use. `cell` is the answer's.
    """

    path: Path
    shared: tuple[Cell, ...]
    cell: Cell

    @property
    def exercise(self) -> str:
        return str(self.cell.metadata["exercise"])

    def judge(self, exercise: Exercise, expected: Expected) -> Verdict:
        """Run the answer in the current folder, and return the verdict on it."""
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for cell in (*self.shared, self.cell):
            execute(self.path, cell, namespace)
        given = namespace.get(exercise.asks)
        screened = screen(exercise, namespace)
        return screened or judge(
            exercise, observe(exercise, given, expected.seed), expected, lambda: code_digest(given)
        )


def recorded_answers(path: Path) -> Iterator[RecordedAnswer]:
    """Yield the answers of a file.

    Raises BrokenSource if the file is malformed.
    """
    shared: tuple[Cell, ...] = ()
    for cell in read_cells(path, KEYS):
        if cell.metadata:
            yield RecordedAnswer(path, shared, cell)
        else:
            shared += (cell,)


def never_made(exercises: Iterable[Exercise], path: Path) -> dict[str, list[str]]:
    """Return a dict from exercise name to the mistakes that no answer in a file makes.

    `path` is the file's. Answers are judged on the public cases.
    Raises BrokenSource if the file is malformed or an answer's cell raises.
    """
    known, made = {each.name: each for each in exercises}, defaultdict(set)
    answers = list(recorded_answers(path))  # before the folder changes, because `path` may be relative
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for answer in answers:
            if exercise := known.get(answer.exercise):
                made[exercise.name].add(answer.judge(exercise, key_of(exercise).expected).mistake)
    return {
        name: [each for each in key_of(one).misconceptions if each not in made[name]] for name, one in known.items()
    }
