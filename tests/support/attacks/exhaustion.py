# ruff: noqa: E501 (what attackers write has lines of any length)
"""Exhaustion of processes, memory, disk, output and time, inside small limits."""

from __future__ import annotations

from typing import Any

from support.attacks.attack import Attack, Edit

_STUBBORN = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
"""

FLOODS = [
    Attack(
        "a fork bomb",
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        ended="|time|memory",
    ),
    Attack(
        "a thread bomb",
        "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
        on_landlock={"ended": "|memory"},  # their number is watched
    ),
    Attack("memory in one piece", "torch.ones(3 << 30, dtype=torch.uint8)"),
    Attack(
        "memory piece by piece, in many processes",
        """
import os, time
for _ in range(8):
    if not os.fork():
        break
kept = [b"x" * 10_000_000 for _ in range(40)]  # less than one process may have
time.sleep(1000)
""",
        ended="|memory|time",  # on a slow machine, the cell reaches its time limit before
        on_landlock={"ended": ""},  # no process is made
    ),
    Attack(
        "memory, while a message drips so that nobody looks",
        """
import os, stat, threading, time
def drip():
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                end = int(name)
        except OSError:
            pass
    os.write(end, bytes([0, 1, 0, 0]))
    while True:
        os.write(end, b" ")
        time.sleep(0.02)
threading.Thread(target=drip, daemon=True).start()
if os.fork():
    os.fork()
kept = [b"x" * 10_000_000 for _ in range(40)]  # less than one process may have
time.sleep(1000)
""",
        flagged="not a message",
        ended="memory|time|nonsense|died",  # on a slow machine, the cell reaches its time limit, and says so
        on_landlock={"ended": "nonsense|died", "flagged": "not a message"},  # no process is made: the cell ends
    ),
    Attack(
        "memory in files without a name",
        """
import os
kept = 0
try:
    for _ in range(100):
        file = os.memfd_create("hostile")
        for _ in range(15):
            kept += os.write(file, bytes(4_000_000))
except OSError:
    pass
print("KEPT") if kept > 1_200_000_000 else None
""",
        never="KEPT",
    ),
    Attack(
        "shared memory that no process holds",
        """
import subprocess, sys
code = '''
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
kept = 0
for _ in range(24):
    segment = libc.shmget(0, 50_000_000, 0o1600)
    if segment < 0:
        break
    place = libc.shmat(segment, None, 0)
    ctypes.memset(place, 1, 50_000_000)
    libc.shmdt(ctypes.c_void_p(place))
    kept += 50_000_000
print("KEPT") if kept > 1_100_000_000 else None
'''
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
""",
        never="KEPT",
    ),
    Attack(
        "a flood of the disk",
        """
kept = 0
for folder in ("/tmp", ".", "/dev/shm", "/var/tmp"):
    try:
        for number in range(100):
            with open(f"{folder}/{number}", "wb") as file:
                for _ in range(30):
                    kept += file.write(bytes(1_000_000))
    except OSError:
        pass
print("KEPT") if kept > 100_000_000 else None
""",
        never="KEPT",
        on_landlock={"ended": "|disk"},  # watched, not refused
    ),
    Attack(
        "a flood of inodes",
        """
import os
made = 0
try:
    while made < 40_000:  # each has to be deleted in the end
        os.mkdir(f"{os.environ['TMPDIR']}/{made}")
        made += 1
except BaseException:
    pass
print("KEPT") if made > 30_000 else None
""",
        never="KEPT",
        on_landlock={"ended": "|disk"},
    ),
]


def _cells(source: str, count: int) -> Edit:
    """Add cells that end at once."""

    def add(raw: dict[str, Any]) -> None:
        for number in range(count):
            cell = {"cell_type": "code", "id": f"quick{number}", "metadata": {}, "outputs": [], "execution_count": None}
            raw["cells"].insert(3, {**cell, "source": source.replace("NUMBER", str(number))})

    return add


QUICK = [
    Attack(
        "memory in processes of cells that end at once",
        edit=_cells(
            """
import os, time
read, write = os.pipe()
if not os.fork():
    kept = b"x" * 300_000_000
    os.write(write, b"taken")
    time.sleep(1000)
os.read(read, 1)
""",
            8,
        ),
        ended="memory",
        on_landlock={"ended": ""},  # no process is made
    ),
    Attack(
        "files of cells that end at once",
        edit=_cells("with open('NUMBER', 'wb') as file:\n    file.write(bytes(30_000_000))", 8),
        ended="",
        on_landlock={"ended": "disk"},
    ),
    Attack(
        "open files without a name",
        "kept = []",
        edit=_cells(
            "import os\nkept.append(open('NUMBER', 'wb'))\nos.remove('NUMBER')\n_ = kept[-1].write(bytes(30_000_000))",
            8,
        ),
        ended="",
        on_landlock={"ended": "disk"},
    ),
]

OUTPUTS = [
    Attack("a flood of stdout", "while True:\n    print('x' * 100_000)"),
    Attack(
        "a flood of displays", "while True:\n    display({'text/plain': 'x' * 100, 'text/html': '<b>' * 50}, raw=True)"
    ),
    Attack(
        "a flood of descriptor 1 by another program",
        "import subprocess\nsubprocess.run('yes | head -c 300000000', shell=True)",
    ),
    Attack(
        "a traceback of a million characters",
        "def deeper(n):\n    deeper(n + 1)\nimport sys\nsys.setrecursionlimit(3000)\ntry:\n    deeper(0)\nexcept RecursionError:\n    raise ValueError('x' * 5_000_000)",
    ),
    Attack(
        "recursion until the stack ends",
        "import sys\nsys.setrecursionlimit(10**9)\nclass R:\n    def __getattr__(self, name): return getattr(self, name + 'x')\ndef f(): f()\nf()",
        ended="|memory|time|died",
    ),
    Attack(
        "the limit of outputs lifted",
        "get_ipython().outputs.left = 10**12\nget_ipython().outputs.clear = lambda limit: None\nprint('x' * 20_000_000)",
        last="print('x' * 20_000_000)",
    ),
    Attack(
        "a page that takes a browser or a cleaner for ever",
        "for _ in range(100):\n    display({'text/html': '<div>' * 150_000}, raw=True)\n    break\nfrom IPython.display import HTML\ndisplay(HTML('<b><p>' * 100_000))",
        last="get_ipython().outputs.left = 10**9\nfor _ in range(150):\n    display({'text/html': '<div>' * 3000}, raw=True)",
    ),
]

TIME = [
    Attack(
        "an endless loop that swallows every exception",
        _STUBBORN
        + "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        ended="time",
    ),
    Attack(
        "an endless loop inside an answer, with every signal ignored",
        answers={
            "accumulate_uneven": f"def accumulate_uneven(model, batches):\n    {_STUBBORN.strip().replace(chr(10), chr(10) + '    ')}\n    while True:\n        pass\n"
        },
        without={"accumulate_uneven": "", "train_epoch": ""},
        ended="time",
    ),
    Attack(
        "sleep in C, with signals blocked",
        "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(1000)",
        ended="time",
    ),
    Attack("a loop in C that holds the lock", "import itertools\nall(itertools.repeat(True))", ended="time"),
    Attack("a read that never ends", "import os\nos.mkfifo('pipe')\nopen('pipe').read()"),
    Attack("input that never comes", "input()\nimport sys\nsys.stdin.read()"),
    Attack(
        "many slow cells",
        edit=lambda raw: raw["cells"].extend(
            {
                "cell_type": "code",
                "source": "import time\ntime.sleep(0.9)",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
                "id": f"slow{n}",
            }
            for n in range(40)
        ),
        ended="time",
    ),
]

ALL = [*FLOODS, *QUICK, *OUTPUTS, *TIME]
