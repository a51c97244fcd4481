"""Programs whose text is not what runs, and programs that reach a library's class in a roundabout way."""

from __future__ import annotations

import base64
from collections.abc import Iterator

# What is to be seen: a change of the class whose iteration `saved_bytes` rests on.
CHANGE = "import weakref; weakref.WeakSet.__iter__ = f"

# CHANGE stands for the change, TEXT for its text, CODED for its text in base64. CELL begins another cell.
_WAYS = """
In [1]: CHANGE
---
>>> CHANGE
---
name = TEXT
%autocall 2
CELL
exec name
---
name = TEXT
get_ipython().run_line_magic('time', name)
---
name = TEXT
get_ipython().run_cell_magic('capture', '', name)
---
name = TEXT
get_ipython().run_cell(name)
---
name = TEXT
get_ipython().run_cell_magic('time', '', name)
---
name = TEXT
%time exec(name)
---
name = TEXT
%timeit -n1 -r1 exec(name)
---
import base64
exec(base64.b64decode('CODED'))
---
run = [exec][0]
run(TEXT)
---
import cProfile
cProfile.Profile().run(TEXT)
---
import timeit
timeit.timeit('pass', setup=TEXT, number=1, globals=globals())
---
import sympy
sympy.sympify("exec(" + repr(TEXT) + ")")
---
import typing
def g(x):
    pass
g.__annotations__ = {'x': 'exec(' + repr(TEXT) + ')'}
typing.get_type_hints(g, globals())
---
import torch.fx
class Module(torch.nn.Module):
    def forward(self, x):
        return x
graph = torch.fx.symbolic_trace(Module()).graph
graph.on_generate_code(lambda old: lambda body: [TEXT + chr(10), *body])
torch.fx.GraphModule(torch.nn.Module(), graph)
---
import doctest
def g():
    pass
g.__doc__ = '>>> ' + TEXT
doctest.run_docstring_examples(g, globals())
---
%%writefile helper.py
f = lambda *args: 0
(
CELL
%%writefile -a helper.py
)
CHANGE
CELL
import helper
---
from pathlib import Path
Path('helper.py').write_bytes(b'# coding: utf-7' + bytes([10]) + ('f = 1; ' + TEXT).encode('utf-7'))
import helper
---
from pathlib import Path
Path('helper.py').write_text('x = 1')
import helper, importlib
Path('helper.py').write_text('f = lambda *args: 0; ' + TEXT + '; y = 22')
importlib.reload(helper)
---
from pathlib import Path
Path('helper.py').write_text('f = lambda *args: 0; ' + TEXT)
%run helper.py
---
from pathlib import Path
Path('package').mkdir()
Path('package/__init__.py').write_text('')
Path('package/inner.py').write_text('f = lambda *args: 0; ' + TEXT)
from package import inner
---
import threading
def work():
    exec(TEXT, globals())
thread = threading.Thread(target=work)
thread.start()
thread.join()
CELL
1
---
import types
code = compile(TEXT, torch.__file__, 'exec')
types.FunctionType(code, globals())()
---
import runpy
from pathlib import Path
Path('helper.py').write_text('f = lambda *args: 0; ' + TEXT)
runpy.run_path('helper.py')
---
import IPython
IPython.get_ipython().ex(TEXT)
---
async def change():
    exec(TEXT, globals())
await change()
---
def run():
    pass
run.__code__ = compile(TEXT, 'x', 'exec')
run()
---
import importlib._bootstrap_external as b, pathlib
pathlib.Path('helper.pyc').write_bytes(b._code_to_timestamp_pyc(compile('f = 1; ' + TEXT, '<frozen helper>', 'exec')))
import helper
---
watch = [get_ipython()][0]
watch.run_code = type(watch).run_code.__get__(watch)
exec(TEXT)
""".strip("\n").split("\n---\n")

_CLASSES = """
import copy, weakref
W = copy.copy(weakref.WeakSet)
---
from collections import deque
import weakref
W = deque([weakref.WeakSet])[0]
---
import random, weakref
W = random.choice([weakref.WeakSet])
---
import weakref
class Mine(weakref.WeakSet):
    pass
W = Mine.__mro__[1]
---
import weakref
W = type(weakref.WeakSet())
---
import weakref
W = weakref.WeakSet().__class__
---
import weakref, functools
W = functools.reduce(lambda a, b: b, [weakref.WeakSet])
---
import weakref
W = next(each for each in vars(weakref).values() if getattr(each, '__name__', '') == 'WeakSet')
---
import weakref
class W:
    pass
W = max([weakref.WeakSet], key=id)
---
import weakref
W = getattr(weakref, 'Weak' + 'Set')
---
import weakref
class W(metaclass=lambda *given: weakref.WeakSet):
    pass
---
import weakref
@(lambda given: weakref.WeakSet)
class W:
    pass
---
import weakref
class Meta(type):
    def __new__(cls, name, bases, names):
        return super().__new__(cls, name, bases, names) if name == 'Base' else weakref.WeakSet
class Base(metaclass=Meta):
    pass
class W(Base):
    pass
---
import weakref
class W:
    pass
W = (lambda one, name: one)(weakref.WeakSet, 'W')
""".strip("\n").split("\n---\n")

_SETS = """
W.__iter__ = f
---
setattr(W, '__it' + 'er__', f)
---
W.add = W.remove = W.__len__ = f
---
def change(self):
    self.__iter__ = f
change(W)
---
class Change:
    def __init__(self, to):
        self.to = to
        self.to.__iter__ = f
Change(W)
---
for W.__iter__ in [f]:
    pass
---
del W.__iter__
---
list(map(lambda each: setattr(each, '__iter__', f), [W]))
---
class Name(str):
    def __str__(self):
        return 'x'
setattr(W, Name('__iter__'), f)
---
del setattr
setattr(W, '__iter__', f)
---
eval('setattr', {})(W, '__iter__', f)
---
self = W
type.__setattr__(self, '__iter__', f)
""".strip("\n").split("\n---\n")


def programs() -> Iterator[list[str]]:
    """Yield the cells of each program that hides a change of a class in a text or a file."""
    coded = base64.b64encode(CHANGE.encode()).decode()
    for way in _WAYS:
        text = way.replace("TEXT", repr(CHANGE)).replace("CODED", coded).replace("CHANGE", CHANGE)
        yield text.split("\nCELL\n")


def laundered() -> Iterator[str]:
    """Yield programs that change a class after it has gone through other hands."""
    yield from (f"{reach}\n{change}" for reach in _CLASSES for change in _SETS)
