# ruff: noqa: E501 (what attackers write has lines of any length)
"""Attacks of a second trial: names that grading looks up late, lent frames, threads, raw memory, texts as code.

Some of these gain points. All are to be refused, flagged or shown to a person.
"""

from __future__ import annotations

from support.attacks.attack import HALF, Attack

_TRAIN = HALF["train_epoch"].replace("def train_epoch", "def _train")
_BLIND = """
def blind(frame):
    while frame is not None:
        worker = frame.f_locals.get("worker")
        if worker is not None:
            worker._guard.changed = lambda: []
            worker._guard.left_on = lambda: []
            worker._changed = []
        frame = frame.f_back
    import autograder.checking.counting.allocations as allocations
    allocations.LiveBytes.peak = property(lambda self: 0)
"""

# Each replaces a name that our own code looks up when it is called, and patches the meter while it runs.
_PATCH = """
import autograder.checking.counting.allocations as _allocations
_peak = _allocations.LiveBytes.peak
def _patch():
    _allocations.LiveBytes.peak = property(lambda self: 0)
def _restore():
    _allocations.LiveBytes.peak = _peak
"""
LATE_NAMES = [
    Attack("numpy.flatnonzero replaced", "import numpy\nnumpy.flatnonzero = lambda a: ()", seen="numpy.flatnonzero"),
    Attack(
        "the end of context managers replaced",
        """
import contextlib
_exit = contextlib._GeneratorContextManager.__exit__
def _lie(self, kind, error, tb):
    done = _exit(self, kind, error, tb)
    for value in getattr(self, "args", ()):
        pass
    return done
contextlib._GeneratorContextManager.__exit__ = _lie
""",
        flagged="contextlib._GeneratorContextManager.__exit__",
    ),
    Attack(
        "tempfile.TemporaryFile replaced by what patches inside the containment",
        _PATCH
        + """
import tempfile
_file = tempfile.TemporaryFile
def _evil(*args, **kwargs):
    _patch()
    return _file(*args, **kwargs)
tempfile.TemporaryFile = _evil
""",
        flagged="tempfile.TemporaryFile",
    ),
    Attack(
        "warnings.catch_warnings replaced by what patches inside the containment",
        _PATCH
        + """
import warnings
class _Evil(warnings.catch_warnings):
    def __enter__(self):
        _patch()
        return super().__enter__()
    def __exit__(self, *error):
        _restore()
        return super().__exit__(*error)
warnings.catch_warnings = _Evil
""",
        flagged="warnings.catch_warnings",
    ),
    Attack(
        "threading.enumerate replaced by what patches inside the containment",
        _PATCH
        + """
import threading
_enumerate = threading.enumerate
_calls = []
def _evil():
    _calls.append(1)
    (_patch if len(_calls) % 2 else _restore)()
    return _enumerate()
threading.enumerate = _evil
""",
        flagged="threading.enumerate",
    ),
    Attack(
        "the numbers of torch's passes replaced",
        "torch._C._current_graph_task_id = lambda: 0",
    ),
    Attack(
        "the profiler's events replaced",
        "torch._C._profiler._ProfilerEvent.extra_fields = property(lambda self: None)",
    ),
]

FRAMES = [
    Attack(
        "a frame by a signal",
        _BLIND
        + "import os, signal\nsignal.signal(signal.SIGUSR1, lambda number, frame: blind(frame))\nos.kill(os.getpid(), signal.SIGUSR1)",
        flagged="LiveBytes.peak",
        seen="f_back",
    ),
    Attack(
        "a frame by IPython's scope",
        _BLIND
        + "for depth in range(30):\n    try:\n        scope = get_ipython().get_local_scope(depth)\n    except ValueError:\n        break\n    if 'worker' in scope:\n        scope['worker']._guard.changed = lambda: []\nimport autograder.checking.counting.allocations as allocations\nallocations.LiveBytes.peak = property(lambda self: 0)",
        seen="get_local_scope",
    ),
    Attack(
        "a frame by torch's resolution callback",
        _BLIND
        + "worker = None\nfor depth in range(30):\n    try:\n        found = torch._jit_internal.createResolutionCallbackFromFrame(depth)('worker')\n    except Exception:\n        break\n    if found is not None:\n        found._guard.changed = lambda: []\nimport autograder.checking.counting.allocations as allocations\nallocations.LiveBytes.peak = property(lambda self: 0)",
        seen="_jit_internal",
    ),
    Attack(
        "a frame by a traceback",
        _BLIND + "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    blind(error.__traceback__.tb_frame)",
        noted="tb_frame",
        seen="f_back",
    ),
    Attack(
        "a frame by string.Formatter",
        _BLIND
        + """
import string
class Take(string.Formatter):
    def format_field(self, value, spec):
        blind(value)
        return ""
try:
    1 / 0
except ZeroDivisionError as error:
    Take().format("{0.tb_frame}", error.__traceback__)
""",
        seen="string.Formatter",
    ),
    Attack(
        "a frame by asyncio",
        _BLIND
        + "import asyncio\nasync def look():\n    for frame in asyncio.current_task().get_stack():\n        blind(frame)\nawait look()",
        seen="asyncio.current_task",
    ),
    Attack("a frame by trace", _BLIND + "import trace\ntrace.Trace().globaltrace", seen="trace"),
    Attack("a frame by profile", _BLIND + "import profile\nprofile.Profile().dispatcher", seen="profile"),
    Attack(
        "a frame by a patched StackSummary",
        _BLIND
        + """
import traceback
_walk = traceback.walk_stack
def _take(frames, **more):
    for frame, _ in frames:
        blind(frame)
    return []
traceback.StackSummary.extract = _take
traceback.format_stack()
""",
        seen="StackSummary",
    ),
]

THREADS = [
    Attack(
        "bytes in a thread that is started and joined",
        answers={
            "train_epoch": _TRAIN
            + """
import threading
def train_epoch(model, optimizer, batches, accumulation_steps):
    kept = []
    thread = threading.Thread(target=lambda: kept.append(_train(model, optimizer, batches, accumulation_steps)))
    thread.start()
    thread.join()
    return kept[0]
"""
        },
    ),
    Attack(
        "bytes in a pool that an answer makes",
        answers={
            "train_epoch": _TRAIN
            + """
from concurrent.futures import ThreadPoolExecutor
def train_epoch(model, optimizer, batches, accumulation_steps):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_train, model, optimizer, batches, accumulation_steps).result()
"""
        },
    ),
    Attack(
        "bytes in a pool that was there before",
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\npool.submit(abs, 1).result()",
        answers={
            "train_epoch": _TRAIN
            + """
def train_epoch(model, optimizer, batches, accumulation_steps):
    return pool.submit(_train, model, optimizer, batches, accumulation_steps).result()
"""
        },
        flagged="another thread",
    ),
    Attack(
        "bytes in a thread of the lower module",
        answers={
            "train_epoch": _TRAIN
            + """
import _thread
def train_epoch(model, optimizer, batches, accumulation_steps):
    kept, done = [], _thread.allocate_lock()
    done.acquire()
    def work():
        kept.append(_train(model, optimizer, batches, accumulation_steps))
        done.release()
    _thread.start_new_thread(work, ())
    done.acquire()
    return kept[0]
"""
        },
        seen="_thread",
    ),
]

TEXTS = [
    Attack(
        "a patch out of a text",
        "exec('import autograder.checking.counting.allocations as a; a.LiveBytes.peak = property(lambda self: 0)')",
        flagged="LiveBytes.peak",
        seen="changes a library",
    ),
    Attack(
        "a patch out of a file",
        "with open('patch.py', 'w') as file:\n    file.write('import autograder.checking.counting.allocations as a\\na.LiveBytes.peak = property(lambda self: 0)')\nimport sys\nsys.path.insert(0, '.')\nimport patch",
        flagged="LiveBytes.peak",
        seen="patch.py, line 2: changes a library",
    ),
    Attack(
        "a patch by a pickle",
        "import pickle\nclass Change:\n    def __reduce__(self):\n        return setattr, (torch, 'equal', print)\npickle.loads(pickle.dumps(Change()))",
        seen="__reduce__",
    ),
    Attack(
        "a finalizer that restores between call and guard",
        _PATCH,
        answers={
            "train_epoch": _TRAIN
            + """
import weakref
class Token:
    pass
def train_epoch(model, optimizer, batches, accumulation_steps):
    _patch()
    token = Token()
    weakref.finalize(model.weight, _restore)
    return _train(model, optimizer, batches, accumulation_steps)
"""
        },
        seen="LiveBytes.peak",
    ),
]

COUNTED_RUNS = [
    Attack(
        "an answer that does nothing in the run that is measured",
        answers={
            "train_epoch": HALF["train_epoch"].replace(
                "    total = 0.0\n", "    total = 0.0\n    if len(batches[0][0]) == 64:\n        return 0.0\n"
            )
        },
    )
]

SECOND = LATE_NAMES + FRAMES + THREADS + TEXTS + COUNTED_RUNS
