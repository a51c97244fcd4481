"""Programs that raise torch's errors and warnings, run as a notebook runs its cells."""

from __future__ import annotations

import linecache
import sys
import warnings
from itertools import count
from typing import Any, NamedTuple

import torch

from autograder.explained.entry import PREAMBLE, Explanation
from autograder.explained.scene.frames import Scene
from autograder.explained.table import explain

_NUMBERS = count()


class Told(NamedTuple):
    """The text of an error or a warning, and its explanation."""

    text: str
    explanation: Explanation | None

    @property
    def by(self) -> str:
        """The name of the entry that explains the text, or ""."""
        return self.explanation.name if self.explanation else ""


def told(program: str, preamble: str = PREAMBLE) -> list[Told]:
    """Run a program in a new namespace, below `preamble`. Returns its warnings and, last, its error.

    Raises AssertionError if it raised and warned nothing.
    """
    found = heard(program, preamble)
    assert found, "it raised and warned nothing"
    return found


def heard(program: str, preamble: str = PREAMBLE) -> list[Told]:
    """Run a program in a new namespace, below `preamble`. Returns its warnings and, last, its error, if it has any."""
    found: list[Told] = []

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        found.append(Told(str(message), explain(str(message), Scene.of_warning(sys._getframe(1)))))

    names: dict[str, object] = {"__name__": "__main__"}
    torch.set_warn_always(True)  # some warnings are given once in a process
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        try:
            exec(_compiled(preamble), names)
            exec(_compiled(program), names)
        except Exception as error:
            found.append(Told(str(error), explain(str(error), Scene.of_error(error))))
        finally:
            torch.set_warn_always(False)
            if torch.distributed.is_initialized():
                torch.distributed.destroy_process_group()
    return found


def run_cell(program: str, preamble: str = PREAMBLE) -> dict[str, Any]:
    """Run a program that raises nothing, and return its names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(_compiled(preamble), names)
    exec(_compiled(program), names)
    return names


def _compiled(program: str) -> Any:
    """Compile a program under a file name of its own, and let Python find its lines."""
    name = f"<cell {next(_NUMBERS)}>"
    linecache.cache[name] = (len(program), None, program.splitlines(keepends=True), name)
    return compile(program, name, "exec")
