"""Shell commands and the `%store` database of a notebook in the sandbox.

There is no terminal, and the home folder is empty.
"""

from __future__ import annotations

import codecs
import fnmatch
import subprocess
import sys
from typing import Any

_PART = 1 << 16  # bytes of output per read
_NOT_RUN = 126  # the exit status of shells


def run_command(command: str) -> int:
    """Run a `!` command with empty input, and show its output in the notebook cell.

    Returns the command's exit code. If the sandbox allows no programs, the cell shows the reason. No exception is
    raised then, because the rest of the cell may hold an answer.
    """
    try:
        return _run(command)
    except PermissionError as refused:
        sys.stdout.write(f"{refused}\n")
        return _NOT_RUN


def _run(command: str) -> int:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with subprocess.Popen(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        try:
            while part := process.stdout.read1(_PART):  # type: ignore[attr-defined]
                sys.stdout.write(decoder.decode(part))
        except BaseException:
            process.kill()
            raise
    return process.returncode


class Store(dict[str, Any]):
    """An in-memory replacement of IPython's database `db`.

    The commands `%cd`, `%bookmark` and `%store` use the database.
    """

    def keys(self, pattern: str | None = None) -> Any:
        """Return the keys that match `pattern`, a file name pattern such as `auto*`.

        If `pattern` is None, returns all keys.
        """
        return super().keys() if pattern is None else fnmatch.filter(self, pattern)
