"""Shell commands and the store of a notebook, inside: there is no terminal, and the home is empty."""

from __future__ import annotations

import codecs
import fnmatch
import subprocess
import sys
from typing import Any

_PART = 1 << 16  # bytes of output that are shown at a time


def run_command(command: str) -> int:
    """Run a line of `!...`, which can read nothing, and show what it writes. Returns its exit code."""
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
    """IPython's `db`, which `%cd`, `%bookmark` and `%store` write to, in memory."""

    def keys(self, pattern: str | None = None) -> Any:
        """Return the keys that match a pattern of file names, or all of them."""
        return super().keys() if pattern is None else fnmatch.filter(self, pattern)
