"""A finding on a step, tied to an exercise that teaches it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from ..language import Note
from .places import Place


class Level(StrEnum):
    """The certainty of a finding."""

    WRONG = "wrong"
    LOOK = "look"  # right in some programs: worth a look


@dataclass(frozen=True, eq=False)
class Finding:
    """A sentence on a step, tied to a mistake of an exercise.

    `subject` is what the sentence is about.
    """

    note: Note
    level: Level
    exercise: str
    mistake: str
    subject: str = ""
    place: Place | None = None

    @property
    def key(self) -> tuple[str, str]:
        """A second finding with the same key says nothing new."""
        return self.note.id, self.subject


def take_new(found: Iterable[Finding], said: set[tuple[str, str]]) -> list[Finding]:
    """Return the findings whose keys are not in `said` yet, and put these keys there."""
    new = [each for each in found if each.key not in said]
    said |= {each.key for each in new}
    return new


def listed(names: Collection[str], most: int = 3) -> str:
    """Return names of parameters as code, the first ones and how many others."""
    shown = ", ".join(f"`{name}`" for name in [*names][:most])
    return f"{shown} (+{len(names) - most})" if len(names) > most else shown
