"""Isolation of processes with Linux namespaces and resource limits.

Only kernel features are needed, no system package.

Isolated processes see the interpreter, the installed packages and the standard libraries, all read-only. The home and
temporary folders are empty. No other processes are visible. There is no network and no capability, and a process cannot
get a capability again.

The fork server is isolated once (`isolate_fork_server`, `enter_root`), which is the expensive part. For each child
further steps follow: `new_pid_namespace` in the fork server, `isolate_child` in the child.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from ..limits import Limits
from . import filesystem as root
from . import seccomp as syscalls
from .libc import CannotIsolate, check, libc

# From <sched.h>, <sys/prctl.h>; the numbers are part of the kernel's interface and do not change.
_NEW_MOUNTS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PIDS, _NEW_NET = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE, _DROP_BOUNDING, _SET_NO_NEW_PRIVILEGES, _SIGKILL = 1, 4, 24, 38, 9
_CAPABILITIES_3 = 0x20080522
_SYS_PTRACE, _SYS_ADMIN = 19, 21

INSIDE, NOBODY = 1000, 65534  # user id in the sandbox; id outside if the grader is root, who has no limits
_ALL = ["0", "0", "4294967295"]  # the uid_map of the machine itself, which maps all users to themselves


def isolate_fork_server() -> None:
    """Isolate the calling process from the machine's processes and mounts.

    Must be called before torch is imported, while the process is small.
    Forks, and returns only in the new process, the first of its PID namespace. The calling process waits for the new
    process, and exits with the same status.
    Raises CannotIsolate in the calling process if the kernel refuses.
    """
    # Root of the machine: in a container with user namespaces, root is an ordinary user of the machine.
    root_user = os.geteuid() == 0 and Path("/proc/self/uid_map").read_text(encoding="utf-8").split() == _ALL
    as_root = root_user and bool(_effective_capabilities() >> _SYS_ADMIN & 1)
    if root_user and not as_root:
        _become_nobody()
        if unreadable := [path for path in root.visible() if not os.access(path, os.R_OK | os.X_OK) and path.is_dir()]:
            raise CannotIsolate(
                f"as user nobody {unreadable[0]} cannot be read: install Python and the course elsewhere"
            )
    user, group = os.geteuid(), os.getegid()
    check("unshare", libc.unshare(_NEW_MOUNTS | _NEW_PIDS | (0 if as_root else _NEW_USER)))
    if not as_root:
        _map_user(user, group)
    _fork_first()


def enter_root() -> None:
    """Enter the sandbox's root file system (see the module `filesystem`).

    Must be called after `isolate_fork_server`. Raises CannotIsolate if the kernel refuses.
    """
    root.make(INSIDE)
    root.change()
    syscalls.program()  # created once, for all children


@contextlib.contextmanager
def new_pid_namespace() -> Iterator[None]:
    """Make the process that is forked in the `with` block the first one of a new PID namespace.

    This is a context manager.
    """
    check("unshare(CLONE_NEWPID)", libc.unshare(_NEW_PIDS))
    server = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == server:
            own = os.open("/proc/self/ns/pid", os.O_RDONLY)
            check("setns", libc.setns(own, _NEW_PIDS))
            os.close(own)


def isolate_child(limits: Limits) -> None:
    """Finish the isolation of a child that has just been forked: namespaces, user, limits.

    File descriptors stay open: the caller closes them.
    Raises CannotIsolate if the kernel refuses.
    """
    check("unshare", libc.unshare(_NEW_MOUNTS | _NEW_UTS | _NEW_IPC | _NEW_NET))
    root.renew(limits.disk_bytes)
    check("sethostname", libc.sethostname(b"grading", 7))
    # Whether the grader may read the memory of any child. A user other than root has CAP_SYS_PTRACE in the fork server
    # only.
    may_look = os.geteuid() == 0 and bool(_effective_capabilities() >> _SYS_PTRACE & 1)
    if os.geteuid() == 0:
        _become_nobody()
    user, group = os.geteuid(), os.getegid()
    check("unshare(CLONE_NEWUSER)", libc.unshare(_NEW_USER))
    _map_user(user, group)
    _forbid_more_namespaces()
    _seal()
    _limit(limits)
    if may_look:  # a grader without the capability could not measure the child's memory any more
        check("prctl(PR_SET_DUMPABLE)", libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0))  # closes /proc/*/mem to the child


def _effective_capabilities() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("CapEff:")).split()[1], 16)


def _become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def _map_user(user: int, group: int) -> None:
    """Map `user` and `group` to the number 1000 inside the new user namespace.

    For processes outside the namespace, files and signals still belong to `user`.
    Raises CannotIsolate if the kernel refuses.
    """
    try:
        # After a change of ids, a process does not own its /proc files until it is dumpable.
        libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0)
        Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
        Path("/proc/self/uid_map").write_text(f"{INSIDE} {user} 1", encoding="utf-8")
        Path("/proc/self/gid_map").write_text(f"{INSIDE} {group} 1", encoding="utf-8")
    except OSError as error:
        raise CannotIsolate(f"map the user: {error.strerror}") from error


def _fork_first() -> None:
    """Fork, and return only in the new process, the first one of the new PID namespace.

    When the new process ends, the kernel kills all others in the namespace. The calling process waits and exits with
    the same status.
    """
    first = os.fork()
    if first:
        _, status = os.waitpid(first, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    end_with_parent()


def end_with_parent() -> None:
    """Let the kernel kill this process as soon as its parent process ends."""
    check("prctl", libc.prctl(_SET_PARENT_DEATH_SIGNAL, _SIGKILL, 0, 0, 0))


def _forbid_more_namespaces() -> None:
    """Forbid nested user namespaces, which would grant capabilities over the sandbox.

    Raises CannotIsolate if the kernel refuses.
    """
    try:
        Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="utf-8")
    except OSError as error:
        raise CannotIsolate(f"forbid namespaces: {error.strerror}") from error


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _seal() -> None:
    """Drop every capability permanently, and install the seccomp filter.

    Running another program cannot restore a capability.
    """
    check("prctl", libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    for capability in range(64):
        libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0)  # fails beyond the last one
    check("capset", libc.capset(ctypes.byref(_Header(_CAPABILITIES_3, 0)), (_Data * 2)()))
    end_with_parent()  # a change of user has cleared it
    check("prctl(PR_SET_SECCOMP)", syscalls.refuse())


def _limit(limits: Limits) -> None:
    """Set the kernel's limits on the resources of this process."""
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
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
