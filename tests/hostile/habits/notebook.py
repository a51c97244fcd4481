"""Notebooks with habits beside right answers, and the points a learner gets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.assignment import Assignment, code_cell

from .habit import Habit

Points = dict[str, dict[str, float]]  # by habit, or by kind, and exercise

_LEARNER = Path(__file__).parents[1] / "learner_points.py"


def notebook(assignment: Assignment, habits: Sequence[Habit]) -> dict[str, Any]:
    """Return the solved assignment with habits in it, each in a cell of its own."""
    answer = "\n".join([assignment.solved["accumulate_equal"], *(habit.answer for habit in habits)])
    raw = assignment.notebook({**assignment.solved, "accumulate_equal": answer})
    at = next(number for number, cell in enumerate(raw["cells"]) if cell["source"].startswith("import torch"))
    imports = raw["cells"][at]
    imports["source"] = "\n".join([*(habit.top for habit in habits), imports["source"]])
    after = next(number for number, cell in enumerate(raw["cells"]) if cell["id"] == "first")
    own = [code_cell(f"habit-{number}", habit.cell) for number, habit in enumerate(habits)]
    raw["cells"][after : after + 1] = own
    return raw


def learners_points(notebooks: Mapping[str, dict[str, Any]], home: Path) -> Points:
    """Return the points from the learner's own `check`, by the names of the notebooks."""
    cells = {name: [cell["source"] for cell in raw["cells"]] for name, raw in notebooks.items()}
    environment = {**os.environ, "PIP_NO_INDEX": "1", "AUTOGRADER_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, _LEARNER], input=json.dumps(cells), env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found: Points = json.loads(done.stdout)
    return found
