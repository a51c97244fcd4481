"""Memory that another process touches, counted by Linux.

Pages are 4 kB: the fork server refuses huge ones. It lets malloc give back what is freed, from 64 kB on. Then ten
counts of one answer differ by 0.3 MB.
"""

from __future__ import annotations

import re
from pathlib import Path

_MAPPING = re.compile(r"^\S+ .(.).(.) .*\n(?:[A-Z].*\n)*?Referenced: +(\d+) kB\nAnonymous: +(\d+) kB", re.M)
_KB = 1 << 10
_MOST_CODE = 24 << 10  # kB of code that an answer's first large run reads; 16 MB were seen


class TouchedMemory:
    """A count of the memory that a process touches from now on.

    Raises OSError if the kernel does not let this process count.
    """

    def __init__(self, process: int) -> None:
        self._folder = Path(f"/proc/{process}")
        for what in ("1", "5"):  # the marks of touched pages, the peak of the resident memory
            self._folder.joinpath("clear_refs").write_text(what, encoding="utf-8")
        self._before = self._bytes_written()
        self._of_files = self._number(self._read("status"), "RssFile")

    def bytes(self) -> int:
        """Return the bytes touched so far, and those written to files and pipes.

        They are the largest resident memory, without what has been there untouched all the time. So memory from before
        counts when it is used, and so does memory that is gone by now. Code and other contents of files do not count,
        unless the process shares them and can write. Source: proc_pid_smaps(5), proc_pid_status(5), proc_pid_io(5).
        Raises OSError if the process has ended.
        """
        touched = 0
        for writable, shared, referenced, anonymous in _MAPPING.findall(self._read("smaps")):
            is_shared = writable == "w" and shared == "s"
            touched += int(referenced) if is_shared else min(int(referenced), int(anonymous))
        status = self._read("status")
        most, now = self._number(status, "VmHWM"), self._number(status, "VmRSS")
        # What was there untouched. Many new pages of files were not: they would hide as much of what is gone.
        untouched = now - touched - max(self._number(status, "RssFile") - self._of_files - _MOST_CODE, 0)
        return (most - untouched) * _KB + self._bytes_written() - self._before

    def _bytes_written(self) -> int:
        return self._number(self._read("io"), "wchar")

    def _read(self, name: str) -> str:
        return self._folder.joinpath(name).read_text(encoding="utf-8", errors="replace")

    def _number(self, text: str, name: str) -> int:
        found = re.search(rf"^{name}:\s+(\d+)", text, re.M)
        if found is None:  # a process that has ended has no memory
            raise ProcessLookupError(f"{self._folder} has no {name}")
        return int(found[1])
