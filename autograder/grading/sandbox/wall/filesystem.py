"""The file system of isolated processes: Python read-only, empty writable folders."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import sysconfig
from pathlib import Path

from ...limits import MOST_FILES
from .libc import check_call, libc

EXERCISES = Path(__file__).parents[3] / "exercises"
HOME, TMP = "/home/student", "/tmp"
# From <sys/mount.h>; the numbers are part of the kernel's interface and do not change.
_READ_ONLY, _NO_SUID, _NO_DEV, _NO_EXEC, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 8, 32, 4096, 0x4000, 1 << 18
_DETACH = 2  # umount2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}  # libc has no function for it
_NEW_ROOT = "/tmp"  # must exist on every machine; it is covered in the new namespace only


def visible() -> list[Path]:
    """Return the paths of files and folders that isolated processes can read.

    These are Python, its packages, and the system's libraries and tools. If a package is installed in editable mode,
    only its own folder is visible, not the repository around it.
    """
    package = Path(__file__).parents[3]
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


def make(user: int) -> None:
    """Assemble the sandbox's root file system in a folder. Afterwards the function `change` enters it.

    The caller must be the first process of a PID namespace, in a new mount namespace. `user` is the number of the only
    user in the sandbox.
    Raises CannotIsolate if a mount is refused.
    """
    root = _NEW_ROOT
    _mount("none", "/", None, _RECURSIVE | _PRIVATE)
    _below_writable()
    # Opened before `root` is covered, because a visible path may be below it.
    shown = [(path, path.is_dir(), None if path.is_symlink() else os.open(path, os.O_PATH)) for path in visible()]
    links = {path: path.readlink() for path, _, opened in shown if opened is None}
    _mount("tmpfs", root, "tmpfs", _NO_SUID | _NO_DEV, "size=4m,mode=755")
    for folder in ("proc", "dev", "etc", "old", HOME[1:], TMP[1:]):
        Path(root, folder).mkdir(parents=True, exist_ok=True)
    for path, is_folder, opened in shown:
        if opened is None:
            Path(root + str(path)).parent.mkdir(parents=True, exist_ok=True)
            Path(root + str(path)).symlink_to(links[path])
        else:
            _show(opened, Path(root + str(path)), is_folder)
    _cover(Path(root + str(EXERCISES)))
    for device in ("null", "zero", "random", "urandom"):
        Path(root, "dev", device).touch()
        _mount(f"/dev/{device}", f"{root}/dev/{device}", None, _BIND)
    Path(root, "dev", "shm").symlink_to(TMP)
    Path(root, "etc", "passwd").write_text(f"student:x:{user}:{user}::{HOME}:/bin/sh\n", encoding="utf-8")
    Path(root, "etc", "hosts").write_text("127.0.0.1 localhost grading\n", encoding="utf-8")
    Path(root, "etc", "nsswitch.conf").write_text("hosts: files\n", encoding="utf-8")
    _mount("proc", root + "/proc", "proc", _NO_SUID | _NO_DEV | _NO_EXEC)  # allowed only while the old /proc is visible


def _cover(exercises: Path) -> None:
    """Hide the package's folder `exercises` except the file `__init__.py`, which is needed inside.

    The modules in this folder hold mistakes, and the answer keys hold expected results.
    """
    loader = (exercises / "__init__.py").read_bytes()
    _mount("tmpfs", str(exercises), "tmpfs", _NO_SUID | _NO_DEV, "size=1m,mode=755")
    (exercises / "__init__.py").write_bytes(loader)
    _mount(None, str(exercises), None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | _NO_DEV)


def change() -> None:
    """Enter the file system that `make` has assembled: it becomes this process's root.

    Raises CannotIsolate if the kernel refuses.
    """
    os.chdir(_NEW_ROOT)
    check_call("pivot_root", libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"old"))
    os.chdir("/")
    check_call("umount2", libc.umount2(b"/old", _DETACH))
    os.rmdir("/old")
    _mount_empty(1 << 30)
    _mount(None, "/", None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | _NO_DEV)


def renew(disk_bytes: int) -> None:
    """Mount a new /proc and new, empty home and temporary folders, in a child.

    The child must have its own namespaces. `disk_bytes` is the size of the home and temporary folders together.
    Raises CannotIsolate if a mount is refused.
    """
    _mount("proc", "/proc", "proc", _NO_SUID | _NO_DEV | _NO_EXEC)
    _mount_empty(disk_bytes)
    os.chdir(HOME)


def _mount_empty(disk_bytes: int) -> None:
    """Mount empty writable home and temporary folders. `disk_bytes` is the size of both together.

    Paths that must stay visible may lie below these folders, such as a package installed in /tmp. These paths are
    mounted again.
    """
    kept = [(path, path.is_dir(), os.open(path, os.O_PATH)) for path in _below_writable()]
    for folder in (HOME, TMP):
        size = f"size={disk_bytes // 2},nr_inodes={MOST_FILES},mode=777"
        _mount("tmpfs", folder, "tmpfs", _NO_SUID | _NO_DEV, size)
    for path, is_folder, opened in kept:
        _show(opened, path, is_folder)


@functools.cache  # computed once, by the fork server, before anything is covered
def _below_writable() -> list[Path]:
    return [path for path in visible() if path.is_relative_to(HOME) or path.is_relative_to(TMP)]


def _show(opened: int, inside: Path, is_folder: bool) -> None:
    """Mount a file or folder read-only at the path `inside`.

    `opened` is an open file descriptor of the file or folder. The descriptor is closed.
    """
    inside.parent.mkdir(parents=True, exist_ok=True)
    if is_folder:
        inside.mkdir(exist_ok=True)
    else:
        inside.touch()
    _mount(f"/proc/self/fd/{opened}", str(inside), None, _BIND | _RECURSIVE)
    os.close(opened)
    kept = os.statvfs(inside).f_flag & (_NO_SUID | _NO_DEV | _NO_EXEC)  # a remount must keep the mount's own flags
    _mount(None, str(inside), None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | kept)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = (part.encode() if part is not None else None for part in (source, target, kind))
    result = libc.mount(*encoded, ctypes.c_ulong(flags), data.encode() if data is not None else None)
    check_call(f"mount {target}", result)
