"""State of the kernel that a learner works in."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ..checking.verdict import Verdict


@dataclass
class Session:
    """What this kernel knows: the language and lesson that `start` named, and the last verdict on each exercise."""

    language: str | None = None
    lesson: str | None = None
    last: dict[str, Verdict] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)

    @property
    def speaks(self) -> str:
        """The language, or English where none was chosen."""
        return self.language or "en"


SESSION = Session()


def being_graded() -> str:
    """ "autograde" or "validate" when nbgrader runs this notebook, else empty. Then nothing is written to the home."""
    return os.environ.get("NBGRADER_EXECUTION", "")
