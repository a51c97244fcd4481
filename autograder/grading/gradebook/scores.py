"""Scores of the cells of a submitted notebook."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Score:
    """The score of one graded cell.

    `points` is None if the cell needs manual grading. `waits` tells whether a person must review the score.
    """

    points: float | None
    waits: bool


@dataclass
class NotebookScores:
    """The scores and nbgrader's comments of one submitted notebook.

    `scores` and `comments` are dicts whose keys are grade ids. A graded cell that is missing in `scores` is missing in
    the notebook. `handed_in` is False if the notebook itself is missing.
    """

    scores: dict[str, Score] = field(default_factory=dict)
    comments: dict[str, str | None] = field(default_factory=dict)
    handed_in: bool = True
    same: frozenset[str] = frozenset()  # cells with the same answers as in the previous grading
