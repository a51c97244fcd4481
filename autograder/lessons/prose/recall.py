"""Questions on what a lesson builds on, asked before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import exercises
from ..source import NOTEBOOKS

# nbgrader's config imports this module, and needs no torch.
if TYPE_CHECKING:
    from ...checking.exercise import Exercise

RECALL_CALL = "from autograder import recall\n\nrecall()"


def exercises_to_recall(lesson: str, needs: str) -> list[Exercise]:
    """Return the exercises whose questions why a lesson may ask, the most important first.

    They are those that count in the lessons whose numbers `needs` lists, such as "01, 04": one of each lesson in turn,
    the nearest first. Another lesson begins with others.
    """
    files = (file for number in reversed(needs.split(", ")) for file in (NOTEBOOKS / "en").glob(f"{number}_*.ipynb"))
    asking = [[each for each in exercises.load(file.stem).values() if each.core and each.why] for file in files]
    number = next(((file.name[:2]) for file in (NOTEBOOKS / "en").glob(f"[0-9][0-9]_{lesson}.ipynb")), "0")
    turned = [found[int(number) % len(found) :] + found[: int(number) % len(found)] for found in asking if found]
    rounds = range(max(map(len, turned), default=0))
    return [found[place] for place in rounds for found in turned if place < len(found)]
