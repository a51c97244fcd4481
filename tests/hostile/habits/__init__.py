"""Habits of honest notebooks: lines that people really have in them.

A file here is of one kind, in the form that `habit.py` describes. It is IPython's code: magics stand as people write
them.
"""

from __future__ import annotations

from pathlib import Path

from .habit import Habit, read_habits

KINDS = {path.stem: list(read_habits(path)) for path in sorted(Path(__file__).parent.glob("*.ipy"))}
ALL = [habit for habits in KINDS.values() for habit in habits]

# Habits with which the answers fail wherever they are run: `range`, or `sum`, is another one then.
LOSES = ("everything of torch", "all of numpy's names by pylab")

_FRAME = "an answer looks at a frame or at all objects, and is refused while it is checked"
HARMED = {
    "the answer that prints its own name": _FRAME,
    "the answer that makes a trainer with its hyperparameters": _FRAME,
    "the answer that counts live tensors": _FRAME,
}  # habits that cost points in grading and not in the learner's own `check`, by name


def together(most: int = 12) -> dict[str, list[Habit]]:
    """Return the habits that cost nothing, at most so many of a kind in one notebook."""
    found = {}
    for kind, habits in KINDS.items():
        harmless = [habit for habit in habits if habit.name not in HARMED and habit.name not in LOSES]
        parts = -(-len(harmless) // most)
        for part in range(parts):
            found[f"{kind}-{part + 1}"] = harmless[part::parts]
    return found
