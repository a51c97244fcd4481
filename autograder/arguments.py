"""The arguments of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from . import __version__
from .commands import authoring, classes, grading, learning
from .commands.options import assignment

_USERS = {"to learn": (learning,), "to teach a class": (classes, grading), "to write lessons": (authoring,)}


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command and options of a command line.

    `arguments` are its words, or None for the process's own. Ends the process with a message if the command line is
    wrong.
    """
    parser = argparse.ArgumentParser(
        prog="autograder",
        description="A course on torch.autograd and its graded checker.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"autograd-course {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", help="one of those below")
    parser.epilog = "\n\n".join(f"{users}:\n{_added(commands, groups)}" for users, groups in _USERS.items())
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


def _added(commands: Any, groups: Iterable[ModuleType]) -> str:
    """Add the commands of modules, and return a line on each for the terminal."""
    before = set(commands.choices)
    for group in groups:
        group.add_commands(commands)
    added = {name: command.description for name, command in commands.choices.items() if name not in before}
    return "\n".join(f"  {name:<11} {does}" for name, does in added.items())
