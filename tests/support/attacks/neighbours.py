# ruff: noqa: E501 (what attackers write has lines of any length)
"""Attempts on what a machine without namespaces shares: paths, owners of files, processes of one user."""

from __future__ import annotations

from support.attacks.attack import Attack

FILES = [
    Attack(
        "the secret reached by other ways than its path",
        """
import mmap, os, shutil
def folder_first():
    folder = os.open("HOST", os.O_PATH)
    return os.open("secret", os.O_RDONLY, dir_fd=folder)
def named(path):
    return lambda: os.open(path, os.O_RDONLY)
def linked():
    os.link("HOST/secret", "linked")
    return os.open("linked", os.O_RDONLY)
def moved():
    os.rename("HOST/secret", "moved")
    return os.open("moved", os.O_RDONLY)
def exchanged():
    os.symlink("HOST", "exchanged")
    return os.open("exchanged/secret", os.O_RDONLY)
def inside():
    os.chdir("HOST")
    return os.open("secret", os.O_RDONLY)
def through_path():
    return os.open(f"/proc/self/fd/{os.open('HOST/secret', os.O_PATH)}", os.O_RDONLY)
here = os.getcwd()
for way in (folder_first, linked, moved, exchanged, inside, through_path, named("/proc/self/rootHOST/secret"), named("/proc/self/cwd/../../../../../..HOST/secret"), named("/proc/self/task/../../self/rootHOST/secret")):
    try:
        print("READ", way.__name__, os.read(way(), 100))
    except OSError:
        pass
    os.chdir(here)
for folder in ("HOST", "HOST/..", "/", "/tmp", "/var", "/home", "/root", "/proc"):
    try:
        print("LISTED", folder) if {"secret", "course"} & set(os.listdir(folder)) else None
    except OSError:
        pass
""",
        never="SECRET|LISTED|READ",
    ),
    Attack(
        "modes, owners, times and attributes of the machine's files changed",
        """
import os
for path in ("HOST/secret", "HOST", torch.__file__, os.path.dirname(torch.__file__), "/dev/null", "/usr/lib"):
    for change in (lambda: os.chmod(path, 0o777), lambda: os.chmod(path, 0), lambda: os.chown(path, os.getuid(), -1), lambda: os.utime(path, (1, 1)), lambda: os.lchown(path, -1, os.getgid()),
                   lambda: os.setxattr(path, "user.hostile", b"1"), lambda: os.truncate(path, 0), lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o777), lambda: os.utime(os.open(path, os.O_RDONLY), (1, 1)),
                   lambda: os.rename(path, path + ".hostile"), lambda: os.unlink(path), lambda: os.rmdir(path), lambda: os.mkfifo(path + "/pipe"), lambda: os.symlink("/", path + "/link")):
        try:
            change()
            print("CHANGED", path)
        except OSError:
            pass
""",
        never="CHANGED",
    ),
    Attack(
        "folders deeper than a path is long",
        """
import os
here = os.getcwd()
for _ in range(1000):  # 600 are enough
    os.mkdir("deeper")
    os.chdir("deeper")
os.chdir(here)
""",
        on_landlock={"ended": "|time|disk"},  # each access looks at all folders above
    ),
    Attack(
        "a folder that nobody may open",
        """
import os
os.makedirs("closed/inner")
os.umask(0o777)
os.mkdir("closed/inner/nobody")
""",
    ),
]

PROCESSES = [
    Attack(
        "limits, priorities and signals of the fork server and the first process",
        """
import fcntl, os, resource, signal, socket
others = {os.getppid(), 1} - {0, os.getpid()}
def by_descriptor(other):
    ours, theirs = socket.socketpair()
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    fcntl.fcntl(ours, fcntl.F_SETOWN, other)
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    theirs.send(b"x")
    raise OSError("told nothing")
for other in others:
    for reach in (lambda: os.kill(other, 0), lambda: os.kill(other, signal.SIGSTOP), lambda: signal.pidfd_send_signal(os.pidfd_open(other), signal.SIGKILL), lambda: by_descriptor(other),
                  lambda: resource.prlimit(other, resource.RLIMIT_CPU), lambda: resource.prlimit(other, resource.RLIMIT_NOFILE, (0, 0)), lambda: os.setpriority(os.PRIO_PROCESS, other, 19),
                  lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19), lambda: os.sched_setscheduler(other, os.SCHED_IDLE, os.sched_param(0)),
                  *(lambda part=part: open(f"/proc/{other}/{part}", "rb").read() for part in ("environ", "cmdline", "maps", "status", "root/etc/passwd", "cwd/etc/passwd", "mem")),
                  *(lambda part=part: os.listdir(f"/proc/{other}/{part}") for part in ("", "fd", "task", "root"))):
        try:
            reach()
            print("REACHED", other)
        except OSError:
            pass
""",
        never="REACHED",
        on_landlock={"noted": "mem"},  # in namespaces there is no other process to try
    ),
    Attack(
        "threads with small stacks, as many as there may be",
        """
import threading, time
threading.stack_size(32768)
made = 0
try:
    while made < 5000:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        made += 1
except RuntimeError:
    pass
print("MADE") if made >= 5000 else None
""",
        never="MADE",
        on_landlock={"ended": "|memory"},
    ),
]

ALL = [*FILES, *PROCESSES]
