"""Programs that change a library or reach a stack frame, out of a grammar.

Each is a way to write it, filled with something that grading uses. None is to be missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A name of a library: `owner` is a module or a class."""

    owner: str
    name: str

    @property
    def module(self) -> str:
        return self.owner.partition(".")[0]


TARGETS = [
    Target("numpy", "flatnonzero"),
    Target("contextlib._GeneratorContextManager", "__exit__"),
    Target("contextlib.ExitStack", "pop_all"),
    Target("tempfile", "TemporaryFile"),
    Target("warnings", "catch_warnings"),
    Target("threading", "enumerate"),
    Target("torch", "equal"),
    Target("torch._C", "_current_graph_task_id"),
    Target("torch._C._profiler._ProfilerEvent", "extra_fields"),
    Target("torch.Tensor", "register_hook"),
    Target("autograder.measure", "live_bytes"),
]

# OWNER, NAME and MODULE are replaced, CELL begins another cell. `f` is a function of the student.
CHANGES = """
import MODULE
OWNER.NAME = f
---
import MODULE
owner = OWNER
owner.NAME = f
---
import MODULE
import contextlib
with contextlib.nullcontext(OWNER) as owner:
    owner.NAME = f
---
import MODULE
(lambda owner: setattr(owner, "NAME", f))(OWNER)
---
import MODULE, types
types.SimpleNamespace(owner=OWNER).owner.NAME = f
---
import MODULE, functools
def patch(owner):
    owner.NAME = f
functools.partial(patch, OWNER)()
---
import MODULE
def patch(owner):
    owner.NAME = f
list(map(patch, [OWNER]))
---
import MODULE
from concurrent.futures import ThreadPoolExecutor
def patch(owner):
    owner.NAME = f
ThreadPoolExecutor().submit(patch, OWNER)
---
import MODULE
match OWNER:
    case owner:
        owner.NAME = f
---
import MODULE
(o := OWNER).NAME = f
---
import MODULE
setattr(OWNER, "NAME", f)
---
import MODULE
setattr(OWNER, "NA"[:0] + "NAME"[:2] + "NAME"[2:], f)
---
import MODULE
for owner in (OWNER,):
    owner.NAME = f
---
import MODULE
[setattr(o, "NAME", f) for o in [OWNER]]
---
import MODULE
def patch(what, how):
    what.NAME = how
patch(OWNER, f)
---
import MODULE
def patch(*, what):
    what.NAME = f
patch(what=OWNER)
---
import MODULE
def patch(what=OWNER):
    what.NAME = f
patch()
---
import MODULE
class Holder:
    kept = OWNER
Holder.kept.NAME = f
---
import MODULE
class Holder:
    def __init__(self):
        self.kept = OWNER
    def patch(self):
        self.kept.NAME = f
Holder().patch()
---
import MODULE
class Patch:
    def patch(self, what):
        what.NAME = f
Patch().patch(OWNER)
---
import MODULE
owners = {"one": OWNER}
owners["one"].NAME = f
---
import MODULE
def owner():
    return OWNER
owner().NAME = f
---
import MODULE
a, b = OWNER, 1
a.NAME = f
---
import MODULE
next(iter([OWNER])).NAME = f
---
import MODULE
for OWNER.NAME in [f]:
    pass
---
import MODULE
import contextlib
with contextlib.nullcontext(f) as OWNER.NAME:
    pass
---
import MODULE
[OWNER.NAME, _] = f, 1
---
import MODULE
del OWNER.NAME
---
import MODULE
OWNER.__dict__["NAME"] = f
---
import MODULE
OWNER.__dict__.update(NAME=f)
---
import MODULE
vars(OWNER)["NAME"] = f
---
import MODULE
vars(OWNER).update(NAME=f)
---
import MODULE
object.__setattr__(OWNER, "NAME", f)
---
import MODULE
type.__setattr__(OWNER, "NAME", f)
---
import MODULE
OWNER.__setattr__("NAME", f)
---
import MODULE, functools
functools.partial(setattr, OWNER, "NAME")(f)
---
import MODULE
list(map(setattr, [OWNER], ["NAME"], [f]))
---
import MODULE
change = setattr
change(OWNER, "NAME", f)
---
import MODULE, operator
operator.setitem(vars(OWNER), "NAME", f)
---
from unittest import mock
mock.patch("OWNER.NAME", f).start()
---
from unittest.mock import patch
patch("OWNER.NAME", f).start()
---
import torch
torch.builtins.exec("import MODULE\\nOWNER.NAME = f")
---
import torch
torch.builtins.setattr(f, "x", 1)
---
import dataclasses, MODULE
dataclasses.sys.modules["MODULE"].OTHER.NAME = f
---
import dataclasses
dataclasses.sys.modules
---
%config Application.x = 1
---
%alias_magic t time
---
import operator
get = [operator.attrgetter][0]
---
exec("import MODULE\\nOWNER.NAME = f")
---
import MODULE
eval("setattr(OWNER, 'NAME', f)")
---
run = __builtins__["exec"]
run("import MODULE\\nOWNER.NAME = f")
---
import timeit
timeit.timeit("OWNER.NAME = f", setup="import MODULE", number=1, globals=globals())
---
import timeit
what = "import MODULE; OWNER" + ".NAME = f"
timeit.timeit(what, number=1)
---
import MODULE
%timeit -n 1 OWNER.NAME = f
---
%%capture
import MODULE
OWNER.NAME = f
---
%%time
import MODULE
OWNER.NAME = f
---
get_ipython().run_cell("import MODULE; OWNER.NAME = f")
---
get_ipython().input_transformers_post.append(lambda lines: ["import MODULE; OWNER.NAME = f"])
---
get_ipython().ex("import MODULE; OWNER.NAME = f")
---
import sys
import MODULE
sys.modules["MODULE"].OTHER.NAME = f
---
import sys
sys.modules.get("MODULE").OTHER.NAME = f
---
import importlib
importlib.import_module("MODULE").OTHER.NAME = f
---
import importlib
m = importlib.import_module("MO" + "DULE"[2:])
m.OTHER.NAME = f
---
m = __import__("MODULE")
m.OTHER.NAME = f
---
import MODULE, inspect
inspect.getmodule(OWNER.NAME).NAME = f
---
import MODULE
class Change:
    def __reduce__(self):
        return setattr, (OWNER, "NAME", f)
import copy
copy.copy(Change())
---
import pickle
pickle.loads("cbuiltins\\nexec\\n(Vimport MODULE; OWNER.NAME = 1\\ntR.".encode())
---
%%writefile change.py
import MODULE
OWNER.NAME = len
CELL
import change
---
with open("change.py", "w") as file:
    file.write("import MODULE\\nOWNER" + ".NAME = len")
import change
---
!echo "import MODULE; OWNER.NAME = len" > change.py
import change
---
import MODULE
class Meta(type):
    def __setattr__(cls, name, value):
        type.__setattr__(OWNER, name, value)
---
import doctest
def g():
    '''
    >>> import MODULE
    >>> OWNER.NAME = f
    '''
doctest.run_docstring_examples(g, globals())
---
import ctypes, MODULE
ctypes.pythonapi.PyObject_SetAttrString(ctypes.py_object(OWNER), b"NAME", ctypes.py_object(f))
---
import MODULE, types
change = types.MethodType(lambda what, how: setattr(what, "NAME", how), OWNER)
change(f)
---
import MODULE
import weakref
def finalize(what=[OWNER]):
    what[0].NAME = f
weakref.finalize(finalize, finalize)
---
import MODULE, torch
torch.utils.swap_tensors = f
OWNER.NAME += f
""".strip("\n").split("\n---\n")

# How a frame is lent, with FRAME as the name that it gets, and how a frame leads on.
LENT = """
import sys
FRAME = sys._getframe()
---
import inspect
FRAME = inspect.currentframe()
---
import inspect
FRAME = inspect.stack()[1][0]
---
try:
    1 / 0
except ZeroDivisionError as error:
    FRAME = error.__traceback__
---
import sys
try:
    1 / 0
except ZeroDivisionError:
    FRAME = sys.exc_info()[2]
---
FRAME = (i for i in [1])
---
async def g():
    pass
FRAME = g()
---
import asyncio
FRAME = asyncio.current_task().get_stack()[0]
---
import logging
FRAME = logging.currentframe()
---
import trace
FRAME = trace.Trace()
---
import profile
FRAME = profile.Profile()
---
import torch
FRAME = torch._jit_internal.createResolutionCallbackFromFrame(3)
""".strip("\n").split("\n---\n")

LEADS = """
FRAME.f_back
---
FRAME.tb_frame.f_locals
---
FRAME.gi_frame
---
getattr(FRAME, "f_locals")
---
getattr(FRAME, "f_" + "locals")
---
getattr(FRAME, f"{'f_'}locals")
---
getattr(FRAME, "".join(["f_", "back"]))
---
import operator
operator.attrgetter("f_back.f_locals")(FRAME)
---
import operator
operator.attrgetter("f_" + "back")(FRAME)
---
[getattr(FRAME, name) for name in dir(FRAME)]
---
for name in dir(FRAME):
    if name.startswith("_saved"):
        pass
    else:
        getattr(FRAME, name)
---
"{0.tb_frame.f_locals}".format(FRAME)
---
object.__getattribute__(FRAME, "f_" + "back")
---
type(FRAME).__dict__["f_" + "back"].__get__(FRAME)
---
import inspect
inspect.getargvalues(FRAME)
---
import inspect
inspect.getinnerframes(FRAME)
---
(lambda look: look(FRAME, "f_" + "back"))(getattr)
---
look = getattr
look(FRAME, "f_" + "back")
---
match FRAME:
    case object(f_back=found):
        pass
""".strip("\n").split("\n---\n")

# Ways that hand out what a frame holds, without a frame in the student's hands.
OTHERS = """
get_ipython().get_local_scope(3)
---
get_ipython().var_expand("{worker}", depth=5)
---
from IPython.core.magic import needs_local_scope, register_line_magic
@register_line_magic
@needs_local_scope
def look(line, local_ns):
    local_ns
---
import stack_data
stack_data.core.FrameInfo
---
import executing
executing.Source
---
import string
class Look(string.Formatter):
    def format_field(self, value, spec):
        return str(value)
---
import traceback
traceback.StackSummary.extract = print
---
from traceback import walk_stack
list(walk_stack(None))
---
import gc
getattr(gc, "get_" + "referents")
---
import gc
gc.callbacks.append(print)
---
import sys
sys.addaudithook(print)
---
(lambda: 0).__code__.co_code
---
print.__code__ = None
---
import _thread, _ctypes
---
from torch._C import _profiler
---
import torch.utils.cpp_extension
---
import torch
torch.library.Library("at" + "en", "IMPL")
---
from torch.library import *
Library("aten", "IMPL")
---
import torch
torch.library.register_kernel("aten::equal", "cpu", lambda a, b: True)
---
import numpy
numpy.lib.stride_tricks.as_strided
---
import numpy
numpy.ones(3).__array_interface__
---
import numpy as np
class Memory:
    __array_interface__ = {}
---
import os
os.fork()
---
import os
os.write(5, b"")
---
open("/proc/self/mem", "rb")
---
Exception.__subclasses__()
---
(lambda: 0).__globals__
---
from autograder.grading.sandbox.wall.libc import libc
""".strip("\n").split("\n---\n")


def changes() -> Iterator[str]:
    """Yield programs that change a target."""
    for target in TARGETS:
        other = target.owner.partition(".")[2]
        for text in CHANGES:
            if "vars(OWNER)" in text and target.owner.rpartition(".")[2].strip("_")[0].isupper():
                continue  # what `vars` returns of a class cannot be changed
            text = text.replace(".OTHER", f".{other}" if other else "")
            yield text.replace("MODULE", target.module).replace("OWNER", target.owner).replace("NAME", target.name)


def looks() -> Iterator[str]:
    """Yield programs that get hold of a frame, or of what it holds."""
    yield from (f"{lent}\n{lead}".replace("FRAME", "thing") for lent in LENT for lead in LEADS)
    yield from OTHERS
