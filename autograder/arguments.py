"""The arguments of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import __version__
from .commands import authoring, classes, grading, learning
from .commands.options import assignment


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command and options of a command line.

    `arguments` are its words, or None for the process's own. Ends the process with a message if the command line is
    wrong.
    """
    parser = argparse.ArgumentParser(
        prog="autograder", description="A course on torch.autograd and its graded checker."
    )
    parser.add_argument("--version", action="version", version=f"autograd-course {__version__}")
    commands = parser.add_subparsers(dest="command")
    for group in (learning, authoring, classes, grading):
        group.add_commands(commands)
    chosen, rest = parser.parse_known_args(arguments)
    # Until Python 3.13 argparse takes an assignment that may be left out for left out once an option comes before it.
    if any(word.startswith("-") for word in rest):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest and isinstance(getattr(chosen, "assignments", None), list):
        chosen.assignments += map(assignment, rest)
    elif len(rest) == 1 and getattr(chosen, "assignment", "") is None:
        chosen.assignment = assignment(rest[0])
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return chosen
