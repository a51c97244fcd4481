"""The course's package, with the commands that notebooks import.

from autograder import start, check, hint, solution, why, progress, contents, ready, reproduce
from autograder import recall, review, again, placement, use_mine, save_mine
from autograder import draw, steps, play, explain, inspect_step, on_gpu, gpu_peak, two_processes
from autograder import plot_jacobian, plot_differences, plot_accumulation, plot_memory, plot_saved, plot_progress
from autograder import digits, plot_digits
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_COMMANDS = {
    "check": ".learner.checks.check",
    **dict.fromkeys(("start", "hint", "solution", "why", "reproduce"), ".learner.commands"),
    **dict.fromkeys(("progress", "contents", "ready", "recall", "review", "again", "placement"), ".learner.commands"),
    **dict.fromkeys(("on_gpu", "gpu_peak"), ".learner.gpu"),
    **dict.fromkeys(("use_mine", "save_mine"), ".learner.own_engine"),
    "explain": ".learner.explanations",
    "inspect_step": ".inspection.inspect_step",
    "two_processes": ".learner.two_processes",
    "digits": ".data.handwritten_digits",
    "draw": ".pictures.draw",
    "play": ".pictures.play",
    "steps": ".pictures.steps",
    "plot_accumulation": ".pictures.plots.accumulation",
    "plot_digits": ".pictures.plots.digits",
    "plot_differences": ".pictures.plots.differences",
    "plot_jacobian": ".pictures.plots.jacobian",
    "plot_memory": ".pictures.plots.live_bytes",
    "plot_progress": ".pictures.plots.progress",
    "plot_saved": ".pictures.plots.saved_bytes",
}
__all__ = [*_COMMANDS]


def __getattr__(name: str) -> Any:
    if name in _COMMANDS:
        return getattr(importlib.import_module(_COMMANDS[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Explain torch's errors and warnings in any notebook. IPython calls this at `%load_ext autograder`."""
    from .learner.tracebacks import explain_torch_errors

    explain_torch_errors()


def __dir__() -> list[str]:
    return sorted([*globals(), *_COMMANDS])
