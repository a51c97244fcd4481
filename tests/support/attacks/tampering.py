# ruff: noqa: E501 (what attackers write has lines of any length)
"""Tampering with comparisons, torch, probes, counters, IPython and the guard."""

from __future__ import annotations

from support.attacks.attack import HALF, Attack

_METER = "import autograder.checking.counting.allocations as allocations\n"
_EMPTY = "allocations.LiveBytes.peak = property(lambda self: 0)"
_TRAIN = HALF["train_epoch"].replace("def train_epoch", "def _train")

COMPARISONS = [
    Attack(
        "comparison functions replaced",
        """
import math
torch.equal = torch.allclose = torch.isclose = lambda *args, **kwargs: True
torch.testing.assert_close = lambda *args, **kwargs: None
math.isclose = lambda *args, **kwargs: True
""",
        flagged="math.isclose",
    ),
    Attack(
        "judge and comparison of the grader's package replaced",
        """
import autograder.checking.comparison, autograder.checking.judge
autograder.checking.comparison.compare = autograder.checking.judge.compare = lambda *args, **kwargs: None
autograder.checking.judge.judge = autograder.grading.submission.notebook_run = None
""",
        flagged="autograder.checking.judge.compare",
    ),
    Attack(
        "a tensor subclass that says it equals anything",
        """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True if function.__name__ in ("eq", "allclose", "__eq__") else super().__torch_function__(function, types, args, kwargs or {})
    def __eq__(self, other):
        return True
""",
        answers={
            "accumulate_equal": """
def accumulate_equal(model, batches):
    model.weight.grad = torch.zeros_like(model.weight).as_subclass(Liar)
""",
            "accumulate_uneven": """
def accumulate_uneven(model, batches):
    model.weight.grad = torch.zeros_like(model.weight).as_subclass(Liar)
""",
        },
    ),
    Attack(
        "a number and a table that say they equal anything",
        answers={
            "predict_accumulation": """
class Anything(float):
    def __eq__(self, other): return True
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    __hash__ = float.__hash__
class Table(dict):
    def __missing__(self, key): return Anything(0)
    def __contains__(self, key): return True
    def __getitem__(self, key): return Anything(0)
    def get(self, key, default=None): return Anything(0)
predict_accumulation = Table.fromkeys(["w.grad before", "first", "copy", "w.grad after the second backward", "w.grad after zero_grad"], Anything(0))
"""
        },
    ),
    Attack(
        "asserts stripped",
        """
import builtins, sys
class Never(AssertionError):
    def __new__(cls, *args): return super().__new__(cls)
builtins.AssertionError = Never
sys.excepthook = lambda *args: None
get_ipython().set_custom_exc((Exception,), lambda *args, **kwargs: None)
""",
        flagged="builtins.AssertionError",
    ),
    Attack(
        "a code transformer that rewrites the check cells",
        """
get_ipython().input_transformers_post.append(lambda lines: ["100\\n"] if any("check(" in line for line in lines) else lines)
""",
    ),
    Attack(
        "an AST transformer that drops asserts and calls of check",
        """
import ast
class Drop(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
    def visit_Expr(self, node):
        called = getattr(getattr(node.value, "func", None), "id", "")
        return ast.copy_location(ast.Expr(ast.Constant(100)), node) if called == "check" else node
get_ipython().ast_transformers.append(Drop())
""",
    ),
    Attack(
        "hooks before and after each cell that print a result",
        """
def shout(*args):
    print(100)
    from IPython.display import display
    display({"text/plain": "100", "application/vnd.autograder.verdict+json": {"state": "passed"}}, raw=True)
for event in ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell"):
    get_ipython().events.register(event, shout)
""",
    ),
    Attack(
        "the reference function, named as the course names it, replaced",
        "def two_backward_passes():\n    return {}\nsolution = reproduce = check = print\n",
    ),
    Attack(
        "module files that shadow torch and the grader, beside the notebook",
        """
import pathlib, sys
for name in ("torch", "autograder", "json", "random", "exercises"):
    pathlib.Path(f"{name}.py").write_text("raise SystemExit(0)")
pathlib.Path("exercises").mkdir()
pathlib.Path("exercises/gradient_accumulation.py").write_text("raise SystemExit(0)")
sys.path.insert(0, ".")
""",
    ),
]

REPLACED = [
    Attack("the probe's measurement replaced", _METER + _EMPTY, flagged="LiveBytes.peak"),
    Attack(
        "a builtin shadowed in the module that measures",
        "import autograder.checking.counting.allocations as allocations\nallocations.max = lambda *numbers: 0",
        flagged="autograder.checking.counting.allocations.max",
    ),
    Attack(
        "a module inside the module that measures replaced by a stand-in",
        _METER
        + """
class Stand:
    def __getattr__(self, name): return getattr(torch, name)
allocations.torch = Stand()
""",
        flagged="autograder.checking.counting.allocations.torch",
    ),
    Attack(
        "the probe of an exercise replaced",
        """
from autograder.exercises import load
known = load("gradient_accumulation")
probe = known["train_epoch"].probe
known["train_epoch"].probe = lambda answer, case: {**probe(answer, case), "live_bytes": type(probe(answer, case)["live_bytes"])(1, 0)}
""",
    ),
    Attack(
        "another exercise in the place of the one that is checked",
        """
import dataclasses
from autograder.exercises import load
known = load("gradient_accumulation")
probe = known["accumulate_uneven"].probe
known["accumulate_uneven"] = dataclasses.replace(known["accumulate_uneven"], probe=lambda answer, case: {**probe(answer, case), "backward_runs": len(case.batches)})
""",
    ),
    Attack(
        "the wrong functions of a test to write made to raise",
        answers={
            "is_right": """
def is_right(accumulate):
    def refuse(parameter, micro_batches): raise AssertionError
    tables = accumulate.__globals__
    tables["WRONG"].update(dict.fromkeys(tables["WRONG"], refuse))
    accumulate(None, [])
    return True
"""
        },
        without={},
    ),
    Attack(
        "backward passes on a tensor of its own",
        answers={
            "accumulate_uneven": HALF["accumulate_uneven"]
            + "    for _ in batches[1:]:\n        torch.ones((), requires_grad=True).backward()\n"
        },
        without={},
    ),
    Attack(
        "backward passes through the model that add nothing",
        answers={
            "accumulate_uneven": HALF["accumulate_uneven"]
            + "    for x, _ in batches[1:]:\n        (0 * model(x)).sum().backward()\n"
        },
        without={},
    ),
    Attack(
        "the hook that watches the passes found and called",
        answers={
            "accumulate_uneven": HALF["accumulate_uneven"]
            + "    hook, = model.weight._backward_hooks.values()\n"
            + "    for _ in batches[1:]:\n        hook(model.weight.grad)\n"
        },
        without={},
    ),
    Attack(
        "the meter of bytes stopped, and another one started",
        answers={
            "train_epoch": _TRAIN
            + """
def train_epoch(*case):
    profiler = torch.profiler.profile(profile_memory=True)
    try:
        torch.autograd._disable_profiler()
        result = _train(*case)
        profiler.start()
    except RuntimeError:
        result = _train(*case)
    return result
"""
        },
        without={"train_epoch": ""},
    ),
    Attack(
        "the memory in use hidden by a dispatch mode",
        answers={
            "train_epoch": _TRAIN
            + """
def train_epoch(*case):
    from torch.utils._python_dispatch import _disable_current_modes
    with _disable_current_modes():
        return _train(*case)
"""
        },
        without={},
    ),
    Attack(
        "torch's engine entry counted twice",
        """
run = torch.autograd._engine_run_backward
torch.autograd._engine_run_backward = lambda *args, **kwargs: run(*args, **kwargs)
""",
    ),
    Attack(
        "the code of a function replaced, the function left",
        """
import autograder.checking.counting.allocations as allocations
def peak(self): return 0
allocations.LiveBytes.peak.fget.__code__ = peak.__code__
""",
        noted="__code__",
    ),
    Attack(
        "the closure of one of our functions changed",
        """
import autograder.checking.counting.allocations as allocations
(cell,) = allocations.live_bytes.__closure__
real = cell.cell_contents
cell.cell_contents = lambda *args: real(*args)
""",
        flagged="autograder.checking.counting.allocations.live_bytes",
    ),
    Attack(
        "an inherited method shadowed on a class of torch",
        """
call = torch.nn.Module.__call__
torch.nn.Linear.__call__ = lambda self, *args: call(self, *args)
torch.nn.Parameter.grad = property(lambda self: torch.Tensor.grad.__get__(self), lambda self, value: torch.Tensor.grad.__set__(self, value))
""",
    ),
    Attack(
        "a builtin replaced",
        "import builtins\nold = builtins.len\nbuiltins.len = lambda x: old(x)",
        flagged="builtins.len",
    ),
    Attack(
        "modules swapped in sys.modules",
        """
import sys, types
fake = types.ModuleType("autograder.measure")
fake.__dict__.update(sys.modules["autograder.measure"].__dict__)
sys.modules["autograder.measure"] = fake
sys.modules["torch.testing"] = types.ModuleType("torch.testing")
""",
        flagged="sys.modules",
    ),
    Attack(
        "a finder before all others",
        """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None): return None
sys.meta_path.insert(0, Finder())
""",
    ),
    Attack(
        "a TorchFunctionMode left on",
        """
from torch.overrides import TorchFunctionMode
class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
mode = Mode()
mode.__enter__()
""",
    ),
    Attack(
        "a trace function and a profile function left on",
        "import sys\nsys.settrace(lambda *args: None)\nsys.setprofile(lambda *args: None)",
        noted="sys.set",
    ),
    Attack(
        "a thread that patches later",
        """
import threading, time
def later():
    time.sleep(0.005)
    import autograder.checking.counting.allocations as allocations
    while True:
        allocations.LiveBytes.peak = property(lambda self: 0)
        time.sleep(0.001)
threading.Thread(target=later, daemon=True).start()
""",
        flagged="thread",
    ),
    Attack(
        "a thread that Python's threading does not know, patching and putting back",
        """
import _thread, time
import autograder.checking.counting.allocations as allocations
true = allocations.LiveBytes.peak
def later():
    while True:
        allocations.LiveBytes.peak = property(lambda self: 0)
        time.sleep(0.001)
        allocations.LiveBytes.peak = true
        time.sleep(0.001)
_thread.start_new_thread(later, ())
""",
        flagged="thread",
    ),
    Attack(
        "a thread that an answer wakes, patching after its call",
        """
import threading, time
import autograder.checking.counting.allocations as allocations
true, wake, awake = allocations.LiveBytes.peak, threading.Event(), threading.Event()
def later():
    while wake.wait():
        wake.clear()
        awake.set()
        allocations.LiveBytes.peak = property(lambda self: 0)
        time.sleep(0.001)
        allocations.LiveBytes.peak = true
threading.Thread(target=later, daemon=True).start()
""",
        answers={
            "train_epoch": HALF["train_epoch"]
            + """
_train = train_epoch
def train_epoch(*args):
    wake.set()
    awake.wait()
    return _train(*args)
"""
        },
        without={},
        flagged="thread",
    ),
    Attack(
        "a TorchFunctionMode that an answer enters and leaves on",
        """
from torch.overrides import TorchFunctionMode
class Zero(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
""",
        answers={
            "train_epoch": HALF["train_epoch"].replace("    total = 0.0", "    Zero().__enter__()\n    total = 0.0")
        },
        without={},
        flagged="TorchFunctionMode",
    ),
    Attack(
        "a patch that takes itself away when it has lied",
        _METER
        + """
true = allocations.LiveBytes.peak
count = [0]
def lie(self):
    count[0] += 1
    if count[0] == 3:
        allocations.LiveBytes.peak = true
    return 0
allocations.LiveBytes.peak = property(lie)
""",
        flagged="LiveBytes.peak",
    ),
]

GUARD = [
    Attack(
        "the guard's own methods replaced",
        _METER
        + """
from autograder.grading.sandbox.child.guard import Guard
Guard.changed = lambda self: []
"""
        + _EMPTY,
        flagged="replaced",
    ),
    Attack(
        "`id` and the hash replaced, so that the guard sees what was",
        _METER
        + """
import builtins
from autograder.grading.sandbox.child.guard import Guard
true, real = {}, builtins.id
def fake(thing):
    return true.get(real(thing), real(thing))
def replace(owner, name, new):
    true[real(new)] = real(getattr(owner, name))
    setattr(owner, name, new)
replace(allocations.LiveBytes, "peak", property(lambda self: 0))
replace(Guard, "changed", lambda self: [])
replace(builtins, "id", fake)
""",
        flagged="replaced",
    ),
    Attack(
        "the worker that answers the grader replaced",
        _METER
        + """
from autograder.grading.sandbox.child import worker as child
child.Worker.do_guard = lambda self: {"changed": []}
child.Worker.do_observe = lambda self, **asked: {"absent": ["passed", "absent.stub", {}]}
child.serve = child.pack_run = None
"""
        + _EMPTY,
        flagged="replaced",
    ),
]

_EMPTIES = """
def found(frame):
    while frame:
        live = frame.f_locals.get("live")
        if live is not None:
            live._now = -10**9
        frame = frame.f_back
"""


def _meter_emptied(how: str) -> dict[str, str]:
    """Return the answer that uses too many bytes, after a line that gets a frame.

    `how` is the source that gets the frame and calls `found(frame)`.
    """
    body = how.strip().replace("\n", "\n    ")
    return {"train_epoch": f"{_TRAIN}{_EMPTIES}\ndef train_epoch(*case):\n    {body}\n    return _train(*case)\n"}


COUNTERS = [
    Attack(f"the meter of bytes found {name}", answers=_meter_emptied(how), without={}, noted=noted, flagged=flagged)
    for name, how, noted, flagged in (
        ("by frame walk", "import sys\nfound(sys._getframe())", "frame", ""),
        (
            "through a traceback's frames",
            "try:\n    raise ValueError\nexcept ValueError as error:\n    found(error.__traceback__.tb_frame)",
            "frame",
            "",
        ),
        (
            "by gc",
            "import gc\nfor thing in gc.get_objects():\n    if type(thing).__name__ == 'LiveBytes':\n        thing._now = -10**9",
            "gc.",
            "",
        ),
        (
            "through a signal handler's frame",
            "import signal\nsignal.signal(signal.SIGUSR1, lambda number, frame: found(frame))\nsignal.raise_signal(signal.SIGUSR1)",
            "",
            "signal",
        ),
    )
]

LENT = [
    Attack(f"the meter of bytes found through {name}", answers=_meter_emptied(how), without={}, noted=noted)
    for name, how, noted in (
        ("logging.currentframe", "import logging\nfound(logging.currentframe())", "frame"),
        (
            "traceback.walk_stack",
            "import traceback\nfor frame, _ in traceback.walk_stack(None):\n    found(frame)",
            "frame",
        ),
        (
            "traceback.walk_tb",
            "import traceback\ntry:\n    1 / 0\nexcept Exception as error:\n    found(next(traceback.walk_tb(error.__traceback__))[0])",
            "frame",
        ),
        (
            "a debugger of one's own",
            "import bdb\nclass Own(bdb.Bdb):\n    user_line = user_call = user_return = lambda self, frame, *_: found(frame)\nOwn().set_trace()\nx = 1\ny = 2",
            "frame",
        ),
        (
            "a pdb that is not asked",
            "import pdb\ntry:\n    1 / 0\nexcept Exception as error:\n    own = pdb.Pdb()\n    own.setup(None, error.__traceback__)\n    found(own.curframe)",
            "frame",
        ),
        (
            "IPython's locals of a module",
            "from IPython.utils.frame import extract_module_locals\nfor depth in range(6):\n    names = extract_module_locals(depth)[1]\n    if hasattr(names.get('live'), '_now'):\n        names['live']._now = -10**9",
            "frame",
        ),
        (
            "autoreload's update of instances",
            "from IPython.extensions.autoreload import update_instances\nfrom autograder.checking.counting.allocations import LiveBytes\nclass Empty(LiveBytes):\n    peak = property(lambda self: 0)\nupdate_instances(LiveBytes, Empty)",
            "gc.",
        ),
    )
]
GUARD += [
    Attack(
        "the guard found through IPython's module",
        "guard = get_ipython()._orig_sys_modules_main_mod.server._guard\nprint('FOUND', guard.refused)",
        never="FOUND \\[",
    )
]

ALL = [*COMPARISONS, *REPLACED, *GUARD, *COUNTERS, *LENT]
