"""Privileges and resource limits of a child: user, capabilities, system calls, parent.

Both walls use these steps: the module `namespaces`, and the module `landlock`.
"""

from __future__ import annotations

import ctypes
import os
import resource
from pathlib import Path

from ...limits import Limits
from ...wall_kinds import Wall
from . import seccomp
from .libc import check_call, libc

# From <sys/prctl.h>; the numbers are part of the kernel's interface and do not change.
_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE, _DROP_BOUNDING, _SET_NO_NEW_PRIVILEGES, _SIGKILL = 1, 4, 24, 38, 9
_SET_THP_DISABLE = 41
_CAPABILITIES_3 = 0x20080522

NOBODY = 65534  # the user of children if the grader is root: root has no limits


def effective_capabilities() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("CapEff:")).split()[1], 16)


def become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def set_dumpable(allowed: bool) -> None:
    """Let this process's memory be read by others of its user, or by nobody without a capability.

    After a change of ids, a process does not own its /proc files until it is dumpable.
    """
    check_call("prctl(PR_SET_DUMPABLE)", libc.prctl(_SET_DUMPABLE, int(allowed), 0, 0, 0))


def end_with_parent() -> None:
    """Let the kernel kill this process as soon as its parent process ends."""
    check_call("prctl", libc.prctl(_SET_PARENT_DEATH_SIGNAL, _SIGKILL, 0, 0, 0))


def refuse_huge_pages() -> None:
    """Give this process and its descendants pages of one size.

    Huge ones make a count of touched memory useless.
    """
    libc.prctl(_SET_THP_DISABLE, 1, 0, 0, 0)  # a kernel without them refuses


def forbid_new_privileges() -> None:
    """Let no program give this process or its descendants a privilege that they lack."""
    check_call("prctl(PR_SET_NO_NEW_PRIVS)", libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def seal(wall: Wall) -> None:
    """Drop every capability permanently, and install the seccomp filter of `wall`.

    Running another program cannot restore a capability.
    """
    forbid_new_privileges()
    for capability in range(64):
        libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0)  # fails beyond the last one
    check_call("capset", libc.capset(ctypes.byref(_Header(_CAPABILITIES_3, 0)), (_Data * 2)()))
    end_with_parent()  # a change of user has cleared it
    check_call("prctl(PR_SET_SECCOMP)", seccomp.refuse(wall))


def limit(limits: Limits, *, count: bool = True) -> None:
    """Set the kernel's limits on the resources of this process.

    The limit on processes counts all those of a user. This limit is set only if `count` is True.
    """
    size = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_CPU, int(limits.total_seconds)),
        (resource.RLIMIT_AS, size + limits.memory),  # per process; the grader watches the sum
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        if what == resource.RLIMIT_NPROC and not count:
            continue
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
