"""Shut the calling process into namespaces and limits of its own. Linux only; kernel features, no system package.

What is inside sees: the interpreter, the installed packages and the standard libraries, read-only; empty folders for
home and tmp; its own processes and nothing of the machine's; no network. It holds no capability and can get none.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from . import syscalls

# From <sched.h>, <sys/mount.h>, <sys/prctl.h>; the numbers are part of the kernel's interface and do not change.
_NEW_MOUNTS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PIDS, _NEW_NET = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
_READ_ONLY, _NO_SUID, _NO_DEV, _NO_EXEC, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 8, 32, 4096, 0x4000, 1 << 18
_DETACH = 2  # umount2
_SET_PARENT_DEATH_SIGNAL, _SET_NO_NEW_PRIVILEGES, _SIGKILL = 1, 38, 9
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}  # libc has no function for it
_CAPABILITIES_3 = 0x20080522
_SYS_ADMIN = 21

INSIDE, NOBODY = 1000, 65534  # the user inside; the real one when the grader is root, whom limits do not bind
HOME, TMP = "/home/student", "/tmp"
_ALL = ["0", "0", "4294967295"]  # a uid_map that changes nothing: the machine itself
_NEW_ROOT = "/tmp"  # any folder that exists everywhere: it is covered in the new namespace only

_libc = ctypes.CDLL(None, use_errno=True)


class CannotIsolate(Exception):
    """A namespace or mount was refused: which step, and the kernel's word on it."""


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Seconds are wall time; bytes are bytes."""

    cell_seconds: float = 60
    total_seconds: float = 600
    memory: int = 4 << 30
    processes: int = 64
    open_files: int = 256
    file_bytes: int = 64 << 20
    disk_bytes: int = 256 << 20
    output_bytes: int = 1 << 20  # of one cell


def visible() -> list[Path]:
    """What of the disk can be seen inside: no more than Python, its packages and the system's libraries and tools.

    Of an editable install only the package's own folder is there, not the repository around it.
    """
    package = Path(__file__).parents[2]
    prefixes = [Path(prefix) for prefix in dict.fromkeys([sys.base_prefix, sys.prefix])]
    wanted = [Path("/usr/lib"), Path("/usr/lib64"), Path("/usr/bin"), Path("/lib"), Path("/lib64"), Path("/bin")]
    wanted += [prefix / part for prefix in prefixes for part in ("bin", "lib", "lib64", "pyvenv.cfg")]
    wanted += [Path(path) for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    wanted += [Path(sysconfig.get_paths()["stdlib"]), package, Path("/etc/ld.so.cache"), Path("/etc/localtime")]
    found: list[Path] = []
    for path in sorted({path for path in wanted if path.exists()}):
        if not any(path.is_relative_to(above) and not above.is_symlink() for above in found):
            found.append(path)
    return found


def enter(limits: Limits) -> None:
    """Go inside. Returns in a new process, which is process 1 there; the calling one waits for it and ends with it.

    Raises CannotIsolate, in the calling process, before anything is run. Standard file descriptors and others stay
    open: closing them is the caller's affair.
    """
    # Root of the machine, that is: in a container with users of its own, root is an ordinary user of the machine.
    root = os.geteuid() == 0 and Path("/proc/self/uid_map").read_text(encoding="utf-8").split() == _ALL
    as_root = root and bool(_effective_capabilities() >> _SYS_ADMIN & 1)
    user, group = os.geteuid(), os.getegid()
    if root and not as_root:
        _become_nobody()
        user = group = NOBODY
    spaces = _NEW_MOUNTS | _NEW_UTS | _NEW_IPC | _NEW_PIDS | _NEW_NET
    _check("unshare", _libc.unshare(spaces | (0 if as_root else _NEW_USER)))
    if not as_root:
        _map_user(user, group)
    _make_root(limits)
    _fork_first()
    _change_root()
    if as_root:
        _become_nobody()
        _check("unshare(CLONE_NEWUSER)", _libc.unshare(_NEW_USER))
        _map_user(NOBODY, NOBODY)
    _forbid_more_namespaces()
    _seal()
    _limit(limits)


def _check(what: str, result: int) -> None:
    if result != 0:
        raise CannotIsolate(f"{what}: {os.strerror(ctypes.get_errno())}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = (part.encode() if part is not None else None for part in (source, target, kind))
    result = _libc.mount(*encoded, ctypes.c_ulong(flags), data.encode() if data is not None else None)
    _check(f"mount {target}", result)


def _effective_capabilities() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("CapEff:")).split()[1], 16)


def _become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def _map_user(user: int, group: int) -> None:
    """Be user 1000 inside; outside, files and signals are still those of `user`."""
    try:
        # A process whose ids were changed does not own its /proc files until it says that it may be looked at.
        _libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
        Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
        Path("/proc/self/uid_map").write_text(f"{INSIDE} {user} 1", encoding="utf-8")
        Path("/proc/self/gid_map").write_text(f"{INSIDE} {group} 1", encoding="utf-8")
    except OSError as error:
        raise CannotIsolate(f"map the user: {error.strerror}") from error


def _make_root(limits: Limits) -> None:
    """A file system of its own: what is `visible` read-only, and tmpfs for home and tmp."""
    root = _NEW_ROOT
    _mount("none", "/", None, _RECURSIVE | _PRIVATE)
    # Opened before `root` is covered: what is shown may lie below it.
    shown = [(path, path.is_dir(), None if path.is_symlink() else os.open(path, os.O_PATH)) for path in visible()]
    links = {path: path.readlink() for path, _, opened in shown if opened is None}
    _mount("tmpfs", root, "tmpfs", _NO_SUID | _NO_DEV, "size=4m,mode=755")
    for folder in ("proc", "dev", "etc", "old", HOME[1:], TMP[1:]):
        Path(root, folder).mkdir(parents=True, exist_ok=True)
    for folder in (HOME, TMP):
        size = f"size={limits.disk_bytes // 2},nr_inodes=20000,mode=777"
        _mount("tmpfs", root + folder, "tmpfs", _NO_SUID | _NO_DEV, size)
    for path, is_folder, opened in shown:
        inside = Path(root + str(path))
        inside.parent.mkdir(parents=True, exist_ok=True)
        if opened is None:
            inside.symlink_to(links[path])
            continue
        if is_folder:
            inside.mkdir(exist_ok=True)
        else:
            inside.touch()
        _mount(f"/proc/self/fd/{opened}", str(inside), None, _BIND | _RECURSIVE)
        os.close(opened)
        kept = os.statvfs(inside).f_flag & (_NO_SUID | _NO_DEV | _NO_EXEC)  # a mount's own flags cannot be taken off
        _mount(None, str(inside), None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | kept)
    for device in ("null", "zero", "random", "urandom"):
        Path(root, "dev", device).touch()
        _mount(f"/dev/{device}", f"{root}/dev/{device}", None, _BIND)
    Path(root, "dev", "shm").symlink_to(TMP)
    Path(root, "etc", "passwd").write_text(f"student:x:{INSIDE}:{INSIDE}::{HOME}:/bin/sh\n", encoding="utf-8")


def _change_root() -> None:
    """In the new process namespace: its own /proc, which the kernel grants while the old one can be seen; then go."""
    _mount("proc", _NEW_ROOT + "/proc", "proc", _NO_SUID | _NO_DEV | _NO_EXEC)
    os.chdir(_NEW_ROOT)
    _check("pivot_root", _libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"old"))
    os.chdir("/")
    _check("umount2", _libc.umount2(b"/old", _DETACH))
    os.rmdir("/old")
    _mount(None, "/", None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | _NO_DEV)
    _check("sethostname", _libc.sethostname(b"grading", 7))
    os.chdir(HOME)


def _fork_first() -> None:
    """Become the first process of the new process namespace. When that one ends, all others inside end with it."""
    first = os.fork()
    if first:
        _, status = os.waitpid(first, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    end_with_parent()


def end_with_parent() -> None:
    """Let the kernel kill this process as soon as the one that forked it has ended."""
    _check("prctl", _libc.prctl(_SET_PARENT_DEATH_SIGNAL, _SIGKILL, 0, 0, 0))


def _forbid_more_namespaces() -> None:
    """Nested user namespaces would give capabilities back, over things inside only, but there is no need for them."""
    try:
        Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="utf-8")
    except OSError as error:
        raise CannotIsolate(f"forbid namespaces: {error.strerror}") from error


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _seal() -> None:
    """Give up every capability, and the ways to get one by running a program."""
    _check("prctl", _libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    for capability in range(64):
        _libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP; fails beyond the last one
    _check("capset", _libc.capset(ctypes.byref(_Header(_CAPABILITIES_3, 0)), (_Data * 2)()))
    end_with_parent()  # a change of user has cleared it
    _check("prctl(PR_SET_SECCOMP)", syscalls.refuse())


def _limit(limits: Limits) -> None:
    size = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_CPU, int(limits.total_seconds)),
        (resource.RLIMIT_AS, size + limits.memory),  # of each process; the sum of all is watched from outside
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
