"""Commands in a process for which a seccomp filter refuses system calls, as a container's profile does."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from pathlib import Path

# By machine, as in autograder/grading/sandbox/wall/system_calls.py.
NAMESPACES = {"unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "pivot_root": (155, 41)}
LANDLOCK = {"landlock_create_ruleset": (444, 444)}

_RUN = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))
refuse, allow = (6, 0, 0, 0x00050001), (6, 0, 0, 0x7FFF0000)
steps = [(0x20, 0, 0, 0)]
for number in map(int, sys.argv[1].split(",")):
    steps += [(0x15, 0, 1, number), refuse]
steps += [(0x15, 0, 3, int(sys.argv[2])), (0x20, 0, 0, 16), (0x45, 0, 1, 0x10000000), refuse, allow]
code = b"".join(struct.pack("HBBI", *step) for step in steps)
program = Program(len(steps), ctypes.cast(ctypes.create_string_buffer(code, len(code)), ctypes.c_char_p))
assert libc.prctl(38, 1, 0, 0, 0) == libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execv(sys.argv[3], sys.argv[3:])
"""


def forbid(calls: dict[str, tuple[int, int]], command: Sequence[str | Path]) -> list[str]:
    """Return the command line that runs `command` where these calls are refused, and new user namespaces.

    The first word of `command` is the path of a program.
    """
    column = ("x86_64", "aarch64").index(platform.machine())
    numbers = ",".join(str(each[column]) for each in calls.values())
    return [sys.executable, "-c", _RUN, numbers, str((56, 220)[column]), *map(str, command)]
