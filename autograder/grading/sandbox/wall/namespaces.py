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
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from ...limits import Limits
from ...wall_kinds import Wall
from . import filesystem as root
from . import seccomp as syscalls
from .libc import CannotIsolate, check_call, libc
from .privileges import become_nobody, effective_capabilities, end_with_parent, limit, seal, set_dumpable

# From <sched.h>; the numbers are part of the kernel's interface and do not change.
_NEW_MOUNTS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PIDS, _NEW_NET = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
_SYS_PTRACE, _SYS_ADMIN = 19, 21
_SET_INTERFACE_FLAGS, _UP = 0x8914, 1  # from <linux/sockios.h> and <linux/if.h>

INSIDE = 1000  # user id in the sandbox
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
    as_root = root_user and bool(effective_capabilities() >> _SYS_ADMIN & 1)
    if root_user and not as_root:
        become_nobody()
        if unreadable := [path for path in root.visible() if not os.access(path, os.R_OK | os.X_OK) and path.is_dir()]:
            raise CannotIsolate(
                f"as user nobody {unreadable[0]} cannot be read: install Python and the course elsewhere"
            )
    user, group = os.geteuid(), os.getegid()
    check_call("unshare", libc.unshare(_NEW_MOUNTS | _NEW_PIDS | (0 if as_root else _NEW_USER)))
    if not as_root:
        _map_user(user, group)
    _fork_first()


def enter_root() -> None:
    """Enter the sandbox's root file system (see the module `filesystem`).

    Must be called after `isolate_fork_server`. Raises CannotIsolate if the kernel refuses.
    """
    root.make(INSIDE)
    root.change()
    syscalls.program(Wall.FULL)  # created once, for all children


@contextlib.contextmanager
def new_pid_namespace() -> Iterator[None]:
    """Make the process that is forked in the `with` block the first one of a new PID namespace.

    This is a context manager.
    """
    check_call("unshare(CLONE_NEWPID)", libc.unshare(_NEW_PIDS))
    server = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == server:
            own = os.open("/proc/self/ns/pid", os.O_RDONLY)
            check_call("setns", libc.setns(own, _NEW_PIDS))
            os.close(own)


def isolate_child(limits: Limits) -> None:
    """Finish the isolation of a child that has just been forked: namespaces, user, limits.

    File descriptors stay open: the caller closes them.
    Raises CannotIsolate if the kernel refuses.
    """
    check_call("unshare", libc.unshare(_NEW_MOUNTS | _NEW_UTS | _NEW_IPC | _NEW_NET))
    _start_loopback()
    root.renew(limits.disk_bytes)
    check_call("sethostname", libc.sethostname(b"grading", 7))
    # Whether the grader may read the memory of any child. A user other than root has CAP_SYS_PTRACE in the fork server
    # only.
    may_look = os.geteuid() == 0 and bool(effective_capabilities() >> _SYS_PTRACE & 1)
    if os.geteuid() == 0:
        become_nobody()
    user, group = os.geteuid(), os.getegid()
    check_call("unshare(CLONE_NEWUSER)", libc.unshare(_NEW_USER))
    _map_user(user, group)
    _forbid_more_namespaces()
    seal(Wall.FULL)
    limit(limits)
    if may_look:  # a grader without the capability could not measure the child's memory any more
        set_dumpable(False)  # closes /proc/*/mem to the child


def _map_user(user: int, group: int) -> None:
    """Map `user` and `group` to the number 1000 inside the new user namespace.

    For processes outside the namespace, files and signals still belong to `user`.
    Raises CannotIsolate if the kernel refuses.
    """
    try:
        set_dumpable(True)
        Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
        Path("/proc/self/uid_map").write_text(f"{INSIDE} {user} 1", encoding="utf-8")
        Path("/proc/self/gid_map").write_text(f"{INSIDE} {group} 1", encoding="utf-8")
    except OSError as error:
        raise CannotIsolate(f"map the user: {error.strerror}") from error


def _start_loopback() -> None:
    """Let processes of a new network namespace reach each other, as `torch.distributed` needs it.

    Without it, a connection to localhost waits until its time is up. Nothing else can be reached.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end, contextlib.suppress(OSError):
        fcntl.ioctl(end, _SET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", _UP))


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


def _forbid_more_namespaces() -> None:
    """Forbid nested user namespaces, which would grant capabilities over the sandbox.

    Raises CannotIsolate if the kernel refuses.
    """
    try:
        Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="utf-8")
    except OSError as error:
        raise CannotIsolate(f"forbid namespaces: {error.strerror}") from error
