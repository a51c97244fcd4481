"""Habits of honest notebooks: lines that people really have in them.

Those of `PUBLIC` were seen in public notebooks and forums, each at the place that it names.
"""

from __future__ import annotations

from .answers import ANSWERS
from .classes import CLASSES
from .display import DISPLAY
from .engines import ENGINES
from .habit import Habit
from .imports import IMPORTS
from .known import KNOWN
from .looking import LOOKING
from .magics import MAGICS
from .names import NAMES
from .running import RUNNING
from .tools import TOOLS

PUBLIC = {
    "imports": IMPORTS,
    "magics": MAGICS,
    "display": DISPLAY,
    "names": NAMES,
    "classes": CLASSES,
    "engines": ENGINES,
    "tools": TOOLS,
    "looking": LOOKING,
    "running": RUNNING,
    "answers": ANSWERS,
}
ALL = [*KNOWN, *(habit for habits in PUBLIC.values() for habit in habits)]

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
    for kind, habits in {"known": KNOWN, **PUBLIC}.items():
        harmless = [habit for habit in habits if habit.name not in HARMED and habit.name not in LOSES]
        parts = -(-len(harmless) // most)
        for part in range(parts):
            found[f"{kind}-{part + 1}"] = harmless[part::parts]
    return found
