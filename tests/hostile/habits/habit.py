"""A habit of honest students."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Habit:
    """A line or two of an honest student.

    `cell` is a cell of its own above the answers. `top` is put above the imports, in their cell. `answer` is appended
    to the cell of an answer. `refused` is a part of the note about what was refused, "" where nothing is. `to_look_at`
    marks an assignment to what is torch's: a person may be asked to look. `seen` is where people write it: a file of a
    public repository, or an address. A habit was seen there and is written anew, shorter.
    """

    name: str
    cell: str = ""
    top: str = ""
    answer: str = ""
    refused: str = ""
    to_look_at: bool = False
    seen: str = ""
