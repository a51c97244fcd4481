"""The state of the kernel in which a learner works."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

from .checking.verdict import Verdict


@dataclass(frozen=True)
class CellRun:
    """The last run of a cell.

    `error` is the type of the error that ended it, such as "NameError", and `line` the error's line. `above` is the
    number of lines above the cell in a plain file, or None in a notebook.
    """

    source: str
    error: str | None = None
    line: int | None = None
    above: int | None = None


@dataclass
class Session:
    """The state of one kernel, kept between commands.

    `language`, `lesson` and `device` are the arguments of `start`. `last` is a dict from exercise name to the last
    verdict on the CPU, the latest last. `hints` is a dict from exercise name to the number of the last hint shown.
    `told` holds ids of notes that are shown once in a session. `cells` is a dict from cell id to the cell's last run,
    the latest last. `variants` is a dict from exercise name to the number of the variant shown last. `varied` holds
    names of exercises: what was shown or checked last is a variant. `recalled` holds names of exercises: `recall` has
    asked why.
    """

    language: str | None = None
    lesson: str | None = None
    device: str | None = None
    last: dict[str, Verdict] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    cells: dict[str, CellRun] = field(default_factory=dict)
    variants: dict[str, int] = field(default_factory=dict)
    varied: set[str] = field(default_factory=set)
    recalled: tuple[str, ...] = ()

    @property
    def speaks(self) -> str:
        """The chosen language, or "en" if none was chosen."""
        return self.language or "en"

    @property
    def printed(self) -> str | None:
        """The language of printed text, or None for both: a notebook without a choice.

        In a script without a choice it is the language of the system, if the course has it.
        """
        if self.language or in_ipython():
            return self.language
        system = os.environ.get("LC_ALL") or os.environ.get("LANG", "")
        return "ru" if system.startswith("ru") else "en"


SESSION = Session()


def in_ipython() -> bool:
    """Return whether this process is a kernel or a terminal of IPython."""
    loaded = sys.modules.get("IPython")
    return bool(loaded and loaded.get_ipython())


def being_graded() -> str:
    """Return "autograde" or "validate" if nbgrader runs this notebook, else "".

    While nbgrader runs the notebook, the package writes nothing to the home folder.
    """
    return os.environ.get("NBGRADER_EXECUTION", "")
