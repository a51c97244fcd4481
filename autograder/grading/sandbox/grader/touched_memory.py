"""Memory that another process touches, counted by Linux.

Pages are 4 kB: the fork server refuses huge ones. It lets malloc give back what is freed, from 64 kB on. Then ten
counts of one answer differ by 0.3 MB.
"""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

_MAPPING = re.compile(r"^(\S+ .*)\n(?:[A-Z].*\n)*?Referenced: +(\d+) kB\nAnonymous: +(\d+) kB", re.M)
_KB = 1 << 10


class TouchedMemory:
    """A count of the memory that a process touches from now on.

    `code` are the mappings of files that the process was born with.
    Raises OSError if the kernel does not let this process count.
    """

    def __init__(self, process: int, code: Set[str]) -> None:
        self._folder, self._code = Path(f"/proc/{process}"), code
        for what in ("1", "5"):  # the marks of touched pages, the peak of the resident memory
            self._folder.joinpath("clear_refs").write_text(what, encoding="utf-8")
        self._before = self._bytes_written()

    def bytes(self) -> int:
        """Return the bytes touched so far, and those written to files and pipes.

        They are the largest resident memory, without what is there untouched at the end. So memory from before counts
        when it is used, and so does memory that is gone by now. Code does not count: how much of a library one call
        makes resident, 64 kB or 2 MB, differs between file systems. Other mapped files count.
        Source: proc_pid_smaps(5), proc_pid_status(5), proc_pid_io(5). Raises OSError if the process has ended.
        """
        touched = 0
        for mapping, referenced, anonymous in _MAPPING.findall(self._read("smaps")):
            touched += min(int(referenced), int(anonymous)) if mapping in self._code else int(referenced)
        status = self._read("status")
        untouched = self._number(status, "VmRSS") - touched
        return (self._number(status, "VmHWM") - untouched) * _KB + self._bytes_written() - self._before

    def _bytes_written(self) -> int:
        return self._number(self._read("io"), "wchar")

    def _read(self, name: str) -> str:
        return self._folder.joinpath(name).read_text(encoding="utf-8", errors="replace")

    def _number(self, text: str, name: str) -> int:
        found = re.search(rf"^{name}:\s+(\d+)", text, re.M)
        if found is None:  # a process that has ended has no memory
            raise ProcessLookupError(f"{self._folder} has no {name}")
        return int(found[1])


def files_mapped(process: int) -> frozenset[str]:
    """Return a process's private mappings of files, as Linux names them. Raises OSError if they may not be read."""
    text = Path(f"/proc/{process}/maps").read_text(encoding="utf-8", errors="replace")
    return frozenset(line for line in text.splitlines() if re.match(r"\S+ ...p \S+ \S+ [1-9]", line))
