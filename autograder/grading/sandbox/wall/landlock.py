"""Isolation of a child without namespaces: Landlock for files, seccomp for calls.

This is the second wall, for containers and machines that allow no namespaces. Landlock is part of the kernel and needs
no privilege. A child may read what isolated processes see (`filesystem.visible`), and write in a folder of its own. A
seccomp filter refuses new processes and sockets. The machine's other processes have the same namespaces, but can be
neither read nor signalled.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...limits import Limits
from ...wall_kinds import Wall
from . import filesystem, seccomp
from .libc import CannotIsolate, check_call, libc
from .privileges import NOBODY, end_with_parent, forbid_new_privileges, limit, seal, set_dumpable

# From <linux/landlock.h>; the numbers are part of the kernel's interface and do not change.
_CREATE, _ADD, _RESTRICT, _ONLY_VERSION, _PATH_BENEATH = 444, 445, 446, 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _ALL_FILES = 1, 1 << 1, 1 << 2, 1 << 3, 0xFFFF
_REMOVE, _RENAME, _TRUNCATE = 1 << 4 | 1 << 5, 1 << 13, 1 << 14
_MAKE = 1 << 7 | 1 << 8 | 1 << 10 | 1 << 12  # folders, files, pipes, links; no devices, no sockets
_ALL_NETWORK, _ALL_SCOPES = 0b11, 0b11  # TCP: bind, connect; out of reach: abstract sockets, signals
_OWN = _READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE | _RENAME | _REMOVE | _MAKE
_NEEDED = 6  # the version of Linux 6.12, the first that keeps signals and abstract sockets inside
_DEVICES = {"null": _WRITE_FILE, "zero": _WRITE_FILE, "random": 0, "urandom": 0}  # allowed beside reading
_ABOUT_THE_MACHINE = ("cpuinfo", "meminfo", "stat", "loadavg", "uptime")
_FIRST_USER = 1_900_000_000  # above the users of systems and of containers

_Rule = tuple[str, int]  # a path, and what is allowed beneath it


class _Handled(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def isolate_fork_server() -> None:
    """Restrict this process: it may read what its children may read, and write in its temporary folder only.

    The fork server runs a lesson's released cells, and children inherit all that these cells read. It may still run
    programs.
    Raises CannotIsolate if the kernel has no Landlock, or too old a version.
    """
    version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), _ONLY_VERSION)
    if version < 0:
        raise CannotIsolate(f"landlock_create_ruleset: {os.strerror(ctypes.get_errno())}")
    if version < _NEEDED:
        raise CannotIsolate(f"Landlock has version {version} here, and {_NEEDED} is needed: Linux 6.12 or later")
    folder = tempfile.gettempdir()
    if os.geteuid() == 0:
        os.chmod(folder, 0o711)  # children of another user pass through
        _first_of_users()
    seccomp.program(Wall.LANDLOCK)  # created once, for all children
    _restrict([*_readable(), (folder, _OWN), ("/proc", _READ_FILE | _READ_DIR)], _Handled(_ALL_FILES & ~_EXECUTE))


def isolate_child(folder: str, limits: Limits) -> None:
    """Isolate a child that has just been forked. `folder` is the child's own folder, and its current one.

    File descriptors stay open: the caller closes them.
    Raises CannotIsolate if the kernel refuses.
    """
    own_user = _become_another(folder)
    # The kernel forgets a rule for a folder of /proc with the folder's cache entry. An open descriptor keeps it.
    kept = os.open("/proc/self", os.O_PATH | os.O_CLOEXEC)
    limit(limits, count=own_user)
    set_dumpable(False)  # closes /proc/*/mem to the child
    rules = [*_readable(), (folder, _OWN), (f"/proc/self/fd/{kept}", _READ_FILE | _READ_DIR)]
    _restrict(rules, _Handled(_ALL_FILES, _ALL_NETWORK, _ALL_SCOPES))
    seal(Wall.LANDLOCK)


def _restrict(rules: Iterable[_Rule], handled: _Handled) -> None:
    """Forbid this process and its descendants all actions in `handled` that no rule allows, permanently.

    Raises CannotIsolate if the kernel refuses.
    """
    ruleset = libc.syscall(_CREATE, ctypes.byref(handled), ctypes.c_size_t(ctypes.sizeof(handled)), 0)
    if ruleset < 0:
        raise CannotIsolate(f"landlock_create_ruleset: {os.strerror(ctypes.get_errno())}")
    for path, allowed in rules:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = _Beneath(allowed, opened)
        check_call("landlock_add_rule", libc.syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
        os.close(opened)
    forbid_new_privileges()
    check_call("landlock_restrict_self", libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


@functools.cache
def _readable() -> tuple[_Rule, ...]:
    """Return the rules on files that every child may read."""
    hidden = filesystem.EXERCISES.resolve()
    rules = [rule for path in filesystem.visible() for rule in _without(hidden, path)]
    rules += [(f"/dev/{name}", _READ_FILE | allowed) for name, allowed in _DEVICES.items()]
    rules += [(f"/proc/{name}", _READ_FILE) for name in _ABOUT_THE_MACHINE]
    return tuple((path, allowed) for path, allowed in rules if os.path.exists(path))


def _without(hidden: Path, path: Path) -> Iterator[_Rule]:
    """Yield rules that let everything in `path` be read, except the files in the folder `hidden`.

    Landlock cannot forbid a folder inside an allowed one. On the way down to `hidden`, each neighbouring folder
    therefore gets a rule of its own. File names in `hidden` can still be listed. Links get no rule, because their
    targets may be hidden.
    """
    if path.is_symlink():
        return
    if not path.is_dir():
        yield str(path), _READ_FILE
    elif not hidden.is_relative_to(path.resolve()):
        yield str(path), _READ_FILE | _READ_DIR
    else:
        yield str(path), _READ_DIR
        if path.resolve() == hidden:
            yield str(path / "__init__.py"), _READ_FILE
            return
        for each in sorted(path.iterdir()):
            yield from _without(hidden, each)


def _become_another(folder: str) -> bool:
    """Become another user, who owns `folder`, if this process is root and the kernel allows the change.

    Returns whether no other process has the same user. If the change is not allowed, root stays, but without
    capabilities it has only the rights of an ordinary user.
    """
    first = _first_of_users()
    if first is None:
        return False
    user = NOBODY if first == NOBODY else first + os.getpid()
    _become(user, folder)
    end_with_parent()  # a change of user has cleared it
    return user != NOBODY


def _become(user: int, folder: str) -> None:
    os.chown(folder, user, user)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


@functools.cache
def _first_of_users() -> int | None:
    """Return the number to which a child adds its process id to get a user of its own, or NOBODY, or None.

    NOBODY means that all children share this user. None means that a child keeps the user that it has. A forked process
    tries out which users it can become. High numbers are unknown in a user namespace. Root cannot become another user
    without capabilities, or if only root can enter the folder of Python.
    """
    if os.geteuid() != 0:
        return None
    for user in (_FIRST_USER, NOBODY):
        folder = tempfile.mkdtemp()
        process = os.fork()
        if process == 0:
            with contextlib.suppress(OSError):
                _become(user, folder)
                needed = [folder, *(path for path, allowed in _readable() if allowed & _READ_FILE)]
                os._exit(not all(os.access(path, os.R_OK) for path in needed))
            os._exit(1)
        _, status = os.waitpid(process, 0)
        os.rmdir(folder)
        if status == 0:
            return user
    return None
