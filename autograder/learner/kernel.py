"""The learner's kernel, as our commands prepare it."""

from __future__ import annotations

from ..language import LANGUAGES
from ..session import SESSION
from .cells_run import remember_cells, show_cards_in_terminal
from .points import saved_notebook


def attend() -> None:
    """Make IPython explain torch's errors and record each cell that is run. Speak the notebook's language."""
    from .tracebacks import explain_torch_errors

    explain_torch_errors()
    remember_cells()
    show_cards_in_terminal()
    if SESSION.lesson is None:  # a new kernel in which nobody has run `start` yet
        language = saved_notebook({}).metadata.get("autograder", {}).get("language")
        SESSION.language = SESSION.language or (language if language in LANGUAGES else None)
