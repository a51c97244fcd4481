"""Options shared by commands, and the form of a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..language import LANGUAGES

Run = Callable[[argparse.Namespace], int]


def add_command(commands: Any, name: str, run: Run, does: str, *, extra: str = "") -> argparse.ArgumentParser:
    """Add a command to argparse's `commands` and return its parser.

    `run` gets the chosen options and returns the exit status. `extra` is the extra whose packages it imports, "" if
    torch and numpy are enough. In the options, `refuse` ends the process with a message on wrong usage.
    """
    command: argparse.ArgumentParser = commands.add_parser(name, description=f"{does[0].upper()}{does[1:]}.")
    command.set_defaults(run=run, extra=extra, refuse=command.error)
    return command


def add_language(command: argparse.ArgumentParser) -> None:
    """Add the language in which a learner is answered."""
    command.add_argument("--language", choices=LANGUAGES, default=LANGUAGES[0])


def add_course_folder(command: argparse.ArgumentParser) -> None:
    """Add the course folder that a command is about."""
    command.add_argument("directory", type=Path, metavar="DIR", help="the course folder")


def add_assignment(command: argparse.ArgumentParser, default: str) -> None:
    """Add an assignment that may be left out. `default` says which are meant then."""
    command.add_argument("assignment", nargs="?", type=assignment, help=f"an assignment (default: {default})")


def add_worksheet(command: argparse.ArgumentParser, use: str) -> None:
    """Add the files with grades that an LMS exports."""
    command.add_argument(
        "--worksheet",
        "--gradebook",
        action="append",
        default=[],
        type=Path,
        metavar="CSV",
        help=f"what the LMS exports, Moodle's worksheet, Canvas' or Blackboard's gradebook: {use}; once for each group",
    )


def assignment(text: str) -> str:
    """Return the name of an assignment from a command-line argument.

    The argument may be a path, because shells complete a name to the folder's path.
    """
    return Path(text).name or text


def natural(text: str, least: int = 0) -> int:
    """Return the number that a command-line argument states.

    Raises ArgumentTypeError if the argument is no whole number of at least `least`.
    """
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return int(text)


def positive(text: str) -> int:
    return natural(text, least=1)
