"""The command line of `autograder`: exit statuses, signals, names of files."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

# Everything else is imported in `main`, so that Ctrl+C during imports also ends with one line.
if TYPE_CHECKING:
    from collections.abc import Sequence

_STOPPED, _NOBODY_READS = 130, 141  # the exit statuses that shells use for SIGINT and SIGPIPE
_BEGIN = """\
A course on torch.autograd, and the grader of its notebooks.

to learn:          autograder lab
without notebooks: autograder check FILE.py
по-русски:         autograder lab --language ru
to teach a class:  autograder course DIR
all commands:      autograder --help"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of `autograder` and return its exit status.

    The status is 0, or 1 if something must be fixed, which stderr then names. It is 130 after Ctrl+C. It is 141 if the
    program that reads the output has ended, such as `head` in a pipe.
    """
    _accept_any_name(own_process=arguments is None)
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("autograder: stopped", file=sys.stderr)
        return _STOPPED
    except BrokenPipeError:
        if not _drop_unread_output():
            raise
        return _NOBODY_READS


def _accept_any_name(own_process: bool) -> None:
    """Let the command read and print every name of a file or a person, whatever the locale.

    Characters that the terminal lacks are escaped. Where file names are not in UTF-8, this process is replaced by one
    in which they are (PEP 540), unless `own_process` is False.
    """
    import contextlib
    import os

    if own_process and sys.getfilesystemencoding() != "utf-8":
        said = f"{sys.stdout.encoding}:backslashreplace"
        os.environ |= {"PYTHONUTF8": "1", "PYTHONIOENCODING": os.environ.get("PYTHONIOENCODING", said)}
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors != "backslashreplace":
            with contextlib.suppress(OSError):  # a file that has become a pipe has no position
                stream.reconfigure(errors="backslashreplace")


def _drop_unread_output() -> bool:
    """Redirect stdout and stderr to the null device if nobody reads them any more.

    Python would otherwise report an error at exit. Returns whether a stream was redirected.
    """
    import os
    import select

    poll = select.poll()
    for stream in (1, 2):
        poll.register(stream, 0)  # poll reports errors even with an empty mask
    unread = [stream for stream, _ in poll.poll(0)]
    for stream in unread:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    return bool(unread)


def _run(arguments: Sequence[str] | None) -> int:
    """Run one command of `autograder` and return its exit status."""
    from .arguments import read_arguments
    from .errors import UserError
    from .extras import require

    chosen = read_arguments(arguments)
    if chosen.command is None:
        print(_BEGIN)
        return 0
    try:
        if chosen.extra:
            require(chosen.extra, f"`autograder {chosen.command}`")
        return int(chosen.run(chosen))
    except UserError as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
