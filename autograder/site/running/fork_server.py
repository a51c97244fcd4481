"""Process with warm imports, forked for each notebook and program."""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext

# Not pyplot, with which IPython would not show figures.
_IMPORTED = [
    "torch._dynamo",
    "torch.utils.checkpoint",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "ipykernel.kernelapp",
    "stack_data",  # by which IPython shows errors
    "autograder.learner.commands",
    "autograder.explained.table",
    "autograder.pictures.draw",
    "autograder.site.errors.runs",
    "autograder.site.running.forked_kernel",
]


def warm_forks() -> ForkServerContext:
    """Return the context of `multiprocessing` whose processes are forks of this server.

    The server starts with the first of them, so a build that runs nothing imports nothing.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    return context
