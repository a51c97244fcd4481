"""A habit of honest students."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.cells import read_cells

KEYS = {"habit", "seen", "place", "refused", "more"}


@dataclass(frozen=True)
class Habit:
    """A line or two of an honest student.

    `cell` is a cell of its own above the answers. `top` is put above the imports, in their cell. `answer` is appended
    to the cell of an answer. `refused` is a part of the note about what was refused, "" where nothing is. `seen` is
    where people write it: a file of a public repository, an address, or "experience". What was seen is written anew,
    shorter.
    """

    name: str
    seen: str
    refused: str = ""
    cell: str = ""
    top: str = ""
    answer: str = ""


def read_habits(path: Path) -> Iterator[Habit]:
    """Yield the habits in the cells of a file: `# %% habit="NAME" seen="WHERE"`, then the code.

    `place="top"` or `place="answer"` puts the code there, in place of a cell. A second cell of the same habit follows
    its first one, with `more="NAME"`.
    Raises KeyError if a habit does not tell where it was seen.
    """
    found: dict[str, Habit] = {}
    for each in read_cells(path, KEYS):
        told = each.metadata
        name = told.get("more") or told["habit"]
        habit = found[name] if "more" in told else Habit(name, told["seen"], told.get("refused", ""))
        found[name] = replace(habit, **{told.get("place", "cell"): each.source})
    yield from found.values()
