# ruff: noqa: E501 (what attackers write has lines of any length)
"""Attempts to reach other processes, the host's files, the network and privileges."""

from __future__ import annotations

import os

from support.attacks.attack import Attack

# HOST is replaced by a folder of the host that holds SECRET and a file to write.
READING = [
    Attack(
        "the course folder, the solutions, the gradebook and other submissions read",
        """
import glob, os
for pattern in ("HOST/*", "HOST/../*", "/work/*", "/root/*", "/home/*/*", "/tmp/*", "/etc/shadow", "/etc/hostname",
                "/**/gradebook.db", "/**/secret", "/**/submitted", "/**/notebooks/lessons/*.py"):
    for path in glob.glob(pattern, recursive="**" not in pattern):
        try:
            print(path, open(path, "rb").read(200))
        except OSError:
            pass
import autograder
root = os.path.dirname(os.path.dirname(autograder.__file__))
print("beside the package:", sorted(os.listdir(root)))
assert os.listdir(root) == ["autograder"] or ".venv" in os.listdir(root) and "notebooks" not in os.listdir(root)
""",
        never="SECRET|root:[*!$]|BEGIN SOLUTION|beside the package: .*notebooks",
    ),
    Attack(
        "the host's files written",
        """
import os, pathlib
for folder in ("HOST", "/", "/usr", "/usr/lib", "/etc", "/proc/sys/kernel", os.path.dirname(torch.__file__)):
    try:
        os.makedirs(folder, exist_ok=True)
        pathlib.Path(folder, "hostile.txt").write_text("hostile")
        print("WRITTEN", folder) if folder != "HOST" else None  # there, a folder of its own in /tmp
    except OSError:
        pass
for line in open("/proc/self/mountinfo"):
    place = line.split()[4]
    try:
        pathlib.Path(place, "hostile.txt").write_text("hostile")
        if place not in ("/tmp", "/home/student"):
            print("WRITTEN", place)
    except OSError:
        pass
for module in (torch, __import__("autograder"), __import__("IPython")):
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_TRUNC):
        try:
            os.open(module.__file__, flags)
            print("WRITTEN", module.__file__)
        except OSError:
            pass
    try:
        os.chmod(module.__file__, 0o777)
        print("WRITTEN", module.__file__)
    except OSError:
        pass
""",
        never="WRITTEN",
    ),
    Attack(
        "other processes read through /proc",
        """
import os
for process in [name for name in os.listdir("/proc") if name.isdigit()]:
    for part in ("environ", "cmdline", "maps", "root", "cwd", "exe", "fd"):
        try:
            path = f"/proc/{process}/{part}"
            print(os.listdir(path) if part == "fd" else os.readlink(path) if part in ("root", "cwd", "exe") else open(path, "rb").read(300))
        except OSError:
            pass
others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
print("OTHERS", others) if others else None
""",
        never="OTHERS|SECRET",
        noted="/proc",
        on_landlock={"noted": ""},  # the list of processes is refused
    ),
    Attack(
        "the grader's memory searched through /proc/self/mem",
        """
found = []
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps"):
        place, rights = line.split()[:2]
        start, end = (int(part, 16) for part in place.split("-"))
        if "r" in rights and "heap" in line:
            memory.seek(start)
            data = memory.read(min(end - start, 50_000_000))
            found.append(b"SEC" + b"RET" in data)
print("FOUND") if any(found) else None
""",
        noted="/proc",
        never="FOUND",
    ),
    Attack(
        "the worker's memory opened in other ways and by another program",
        """
import os, pathlib, subprocess, sys
os.symlink("/proc/self/mem", "link")
ways = [lambda: os.open(b"/proc/self/mem", os.O_RDWR), lambda: os.open("link", os.O_RDWR),
        lambda: pathlib.Path("/proc/self/mem").open("r+b"), lambda: os.open("mem", os.O_RDWR, dir_fd=os.open("/proc/self", 0))]
for number, way in enumerate(ways):
    try:
        way()
        print("OPENED", number)
    except OSError:
        pass
here = os.getcwd()
os.chdir("/proc/self")
try:
    open("mem", "r+b")
    print("OPENED relative")
except OSError:
    pass
os.chdir(here)
code = "open('/proc/1/mem', 'r+b'); print('OPENED by another')"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
""",
        noted="mem",
        never="OPENED" if os.geteuid() == 0 else "",  # THREATS.md says what holds for other users
    ),
    Attack(
        "ctypes in the notebook",
        "import ctypes\nprint('CALLED', ctypes.CDLL(None).getpid())",
        never="CALLED",
        noted="ctypes",
    ),
    Attack(
        "ptrace and process_vm_readv on the worker, by another program",
        """
import subprocess, sys
code = '''
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
class Vector(ctypes.Structure):
    _fields_ = (("place", ctypes.c_void_p), ("size", ctypes.c_size_t))
buffer = ctypes.create_string_buffer(8)
here, there = Vector(ctypes.addressof(buffer), 8), Vector(id(None), 8)
if libc.ptrace(16, 1, 0, 0) == 0 or libc.process_vm_readv(1, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
    print("ATTACHED")
'''
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
""",
        never="ATTACHED",
    ),
    Attack(
        "hidden values looked for by gc and frames",
        """
import gc, sys
for thing in gc.get_objects():
    if type(thing).__name__ in ("Expected", "Answers", "Lesson", "Gradebook", "Engine"):
        print("HIDDEN", type(thing))
frame = sys._getframe()
while frame:
    for name in frame.f_locals:
        if name in ("expected", "answers", "secret"):
            print("HIDDEN", name)
    frame = frame.f_back
""",
        never="HIDDEN",
        noted="gc.",
    ),
    Attack(
        "solutions looked for in the package",
        """
import glob, os, autograder
for path in glob.glob(os.path.dirname(autograder.__file__) + "/**/*", recursive=True):
    if "authoring" in path or "lessons/" in path or "templates/course" in path:  # They explain a lesson's form.
        continue
    if os.path.isfile(path) and ("BEGIN SOL" + "UTION") in open(path, errors="replace").read():
        print("FOUND", path)
from autograder import solution
solution("train_epoch")
""",
        never="FOUND|window = batches\\[first : first",
    ),
]

LEAVING = [
    Attack(
        "signals to everybody",
        """
import os, signal
for process in (1, -1, 0, os.getppid(), 2, 3):
    for number in (signal.SIGSTOP, signal.SIGTERM):
        try:
            if process not in (0, -1) or number != signal.SIGSTOP:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.kill(process, number)
        except (OSError, ValueError):
            pass
""",
    ),
    Attack(
        "detached processes",
        """
import os, subprocess, time
subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
if not os.fork():
    os.setsid()
    if not os.fork():
        time.sleep(1000)
    os._exit(0)
""",
    ),
    Attack(
        "the cores of others asked for, by many processes",
        """
import os, time
cores = os.sched_getaffinity(0)
for _ in range(6):
    if not os.fork():
        os.sched_setaffinity(0, range(os.cpu_count()))
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            pass
        os._exit(0)
os.sched_setaffinity(0, [min(cores)])
print("MOVED") if os.sched_getaffinity(0) != cores else None
""",
        never="MOVED",
    ),
    Attack(
        "the death signal taken away by another program in the worker's place",
        """
import os, sys
code = '''
import ctypes, os, time
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
os.fork() or ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
time.sleep(1000)
'''
for name in os.listdir("/proc/self/fd"):
    try:
        os.set_inheritable(int(name), True)
    except OSError:
        pass
os.execv(sys.executable, [sys.executable, "-c", code])
""",
        ended="time",
        on_landlock={"ended": ""},  # no program is run
    ),
    Attack("the end, quietly", "import os\nos._exit(0)", ended="died"),
    Attack(
        "the end, by a signal",
        "import os\nos.kill(os.getpid(), 9) or torch.zeros(1).as_strided((1,), (1,), 0)\nos.abort()",
        ended="died",
    ),
    Attack(
        "the end inside an answer",
        answers={"accumulate_uneven": "import os\ndef accumulate_uneven(model, batches):\n    os._exit(0)\n"},
        without={
            "accumulate_uneven": "def accumulate_uneven(model, batches):\n    raise ValueError\n",
            "train_epoch": "",
        },
        ended="died",
    ),
    Attack(
        "atexit and finalizers that print and patch",
        """
import atexit, weakref
@atexit.register
def late():
    import autograder.checking.judge
    autograder.checking.judge.compare = lambda *args, **kwargs: None
    print(100)
class Thing: pass
thing = Thing()
weakref.finalize(thing, late)
""",
    ),
    Attack(
        "exits that a cell can raise",
        "raise SystemExit(0)",
        answers={"predict_accumulation": "raise KeyboardInterrupt"},
        last="exit()\nquit()\nget_ipython().ask_exit()",
    ),
]

ESCAPING = [
    Attack(
        "sockets and name resolution",
        """
import socket
for family, kind, address in ((socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 53)), (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 22)),
                              (socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)), (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 22)),
                              (socket.AF_UNIX, socket.SOCK_STREAM, "/run/docker.sock"), (socket.AF_UNIX, socket.SOCK_STREAM, "\\0hostile")):
    try:
        with socket.socket(family, kind) as one:
            one.settimeout(0.2)
            one.connect(address)
            print("CONNECTED", address)
    except OSError:
        pass
try:
    print("RESOLVED", socket.getaddrinfo("example.com", 80))
except OSError:
    pass
for raw in (socket.SOCK_RAW,):
    try:
        socket.socket(socket.AF_INET, raw, 1)
        print("CONNECTED raw")
    except OSError:
        pass
""",
        never="CONNECTED|RESOLVED",
    ),
    Attack(
        "sockets of every family, leases and locks on files that all see",
        """
import fcntl, os, socket, torch
for family in range(64):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind)
            if family not in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
                print("FAMILY", family)
        except OSError:
            pass
file = os.open(torch.__file__, os.O_RDONLY)
try:
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    print("LEASE")
except OSError:
    pass
for lock in (lambda: fcntl.flock(file, fcntl.LOCK_EX), lambda: fcntl.lockf(file, fcntl.LOCK_SH)):
    try:
        lock()
    except OSError:
        pass
print(open("/proc/locks").read().replace("POSIX", "LOCKED").replace("FLOCK", "LOCKED") if os.path.exists("/proc/locks") else "")
os.sync()
""",
        never="FAMILY|LEASE|LOCKED",
    ),
    Attack(
        "mount, unshare, chroot, pivot_root, setns, setuid, mknod",
        """
import os
from subprocess import run
for command in (["mount", "-t", "tmpfs", "x", "/home"], ["mount", "-o", "remount,rw", "/"], ["umount", "/proc"], ["unshare", "-r", "id"],
                ["unshare", "-m", "id"], ["chroot", "/tmp", "/bin/true"], ["nsenter", "-t", "1", "-m", "id"], ["su", "-c", "id"], ["sudo", "id"],
                ["mknod", "/tmp/sda", "b", "8", "0"], ["setcap", "cap_sys_admin+ep", "/tmp/x"], ["hostname", "hostile"]):
    try:
        done = run(command, capture_output=True, timeout=2, stdin=-3)
        if done.returncode == 0:
            print("ALLOWED", command)
    except OSError:
        pass
for call, arguments in ((os.setuid, (0,)), (os.setgid, (0,)), (os.chroot, ("/tmp",)), (os.setgroups, ([0],)), (os.sethostname, ("x",)) if hasattr(os, "sethostname") else (os.nice, (-5,)),
                        (os.mknod, ("/tmp/dev", 0o60600, os.makedev(8, 0))), (os.chown, ("/home/student", 0, 0)), (os.sched_setscheduler, (0, os.SCHED_FIFO, os.sched_param(50)))):
    try:
        call(*arguments)
        print("ALLOWED", call.__name__)
    except (OSError, PermissionError):
        pass
import shutil
shutil.copy("/bin/sh", "/tmp/sh")
os.chmod("/tmp/sh", 0o6755)
print("ALLOWED setuid") if run(["/tmp/sh", "-p", "-c", "id -u"], capture_output=True, text=True).stdout.strip() == "0" else None
status = open("/proc/self/status").read()
print("ALLOWED capabilities") if any(line.split()[1] != "0000000000000000" for line in status.splitlines() if line.startswith("Cap")) else None
print("ALLOWED privileges") if "NoNewPrivs:\\t1" not in status else None
""",
        never="ALLOWED",
    ),
    Attack(
        "links and pipes where a file is expected",
        """
import os, pathlib
for name in ("torch.py", "notebook.ipynb"):
    os.symlink("/proc/self/mem", name)
os.mkfifo("pipe")
os.symlink("HOST/secret", "secret")
os.symlink("/", "root")
for path in ("secret", "root/HOST/secret", "root/etc/shadow"):
    try:
        print(open(path).read())
    except OSError:
        pass
pathlib.Path("/tmp/torch").symlink_to("/dev/zero")
""",
        never="SECRET",
    ),
    Attack(
        "keys left in the kernel for another submission",
        """
import subprocess, sys
code = '''
import ctypes
number = {"x86_64": 248, "aarch64": 217}[__import__("os").uname().machine]
if ctypes.CDLL(None).syscall(number, b"user", b"hostile", b"message", 7, ctypes.c_long(-4)) > 0:
    print("KEPT")
'''
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
""",
        never="KEPT",
    ),
    Attack(
        "descriptors that were left open",
        """
import os, stat
open_ones = {name: os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{name}")}
bad = {name: where for name, where in open_ones.items() if where.startswith("/") and not where.startswith(("/dev/", "/proc/", "/tmp", "/home/student"))}
print("LEFT", bad) if bad else None
print("LEFT sockets", open_ones) if sum("socket" in where for where in open_ones.values()) > 1 else None
""",
        never="LEFT",
    ),
]

ALL = [*READING, *LEAVING, *ESCAPING]
