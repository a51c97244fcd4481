"""What a submission must not have changed: torch's functions, the builtins, IPython and the course's own code.

Every child is a fork of one template, so in an untouched child each of these objects has the address that it has in
any other. A salted hash of the addresses is compared with an untouched sibling's; the salt comes after the answer.
"""

from __future__ import annotations

import asyncio
import builtins
import hashlib
import os
import re
import signal
import sys
import sysconfig
import threading
from array import array
from collections.abc import Mapping
from itertools import chain
from operator import is_, itemgetter
from pathlib import Path
from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from ...exercise import Exercise
from .channel import pin
from .isolation import visible

_GUARDED = re.compile(
    r"builtins|torch|torch\.autograd(\.(anomaly_mode|forward_ad|function|functional|grad_mode|gradcheck|graph|variable))?|torch\.func|torch\._functorch\.(apis|eager_transforms|vmap)|torch\._tensor"
    r"|torch\.nn\.(functional|parameter|modules\.(module|linear|activation|loss|container))|torch\.linalg|torch\.random"
    r"|torch\.optim\.(optimizer|sgd|adam)|torch\.utils\.(checkpoint|_python_dispatch)|torch\.overrides"
    r"|torch\.testing\._comparison|autograder(\.\w+)*|IPython\.core\.(interactiveshell|displayhook|displaypub|events)"
    r"|copy|hashlib|inspect|itertools|json(\.\w+)?|linecache|math|operator|os|random|signal|socket|struct|weakref"
)  # what probes and our own code call by name
_WATCHED = (
    FunctionType,
    BuiltinFunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
    GetSetDescriptorType,
    property,
    type,
)


def _is_old(kind: type) -> bool:
    """torch.FloatTensor and the like: stand-ins of torch.Tensor that nothing calls."""
    return kind.__module__ == "torch" and kind.__name__.endswith("Tensor") and kind is not torch.Tensor


class _Slots:
    """Names of one namespace and what they stand for. Thousands are looked at for each check: in C, name by name only
    where something is not as it was."""

    def __init__(self, where: str, namespace: Mapping[str, Any], was: dict[str, Any]) -> None:
        self.where, self.namespace, self.was = where, namespace, was
        self._get = itemgetter(*was) if len(was) > 1 else lambda names: (names[next(iter(was))],)
        self._values = tuple(was.values())

    def now(self) -> tuple[Any, ...]:
        try:
            return self._get(self.namespace)
        except KeyError:
            return tuple(map(self.namespace.get, self.was))

    def changed(self) -> list[str]:
        if all(map(is_, self.now(), self._values)):
            return []
        return [f"{self.where}.{name}" for name, value in self.was.items() if self.namespace.get(name) is not value]


class Guard:
    """The objects that are watched. Made in the template, before any student's line; it keeps the originals alive."""

    def __init__(self) -> None:
        self._slots: list[_Slots] = []
        self._functions: dict[int, str] = {}
        self._closures: list[tuple[str, Any, Any]] = []
        self._hiding: list[tuple[str, Mapping[str, Any], frozenset[str]]] = []
        self.reached: list[str] = []  # what `watch` has refused
        seen: set[int] = set()
        modules: dict[str, Any] = {}
        # Ours last: what they take from torch is then watched, and called, as torch's.
        for name, module in sorted(sys.modules.items(), key=lambda item: (item[0].startswith("autograder"), item[0])):
            if _GUARDED.fullmatch(name) and module is not None:
                modules[name] = module
                self._hiding.append((name, vars(module), frozenset(vars(builtins)) - vars(module).keys()))
                self._watch(name, vars(module), seen, whole=name.startswith("autograder"))
        self._watch("torch.Tensor", vars(torch._C.TensorBase), seen)
        self._slots.append(_Slots("sys.modules", sys.modules, modules))
        self._looked_at, self._looked_for = self._slots, self._hiding
        self._finders = list(sys.meta_path)
        self._handlers = _handlers()
        pin(self)

    def _watch(self, where: str, namespace: Mapping[str, Any], seen: set[int], whole: bool = False) -> None:
        """`whole`: every name, not only functions and classes. Of an exercise, and a table beside it, what is in it."""
        slots: dict[str, Any] = {}
        for name, value in list(namespace.items()):
            # By type: `isinstance` would ask some of torch's stand-in objects what they are, and they warn or raise.
            inner = value.__func__ if type(value) in (staticmethod, classmethod) else value
            if not whole and not issubclass(type(inner), _WATCHED):
                continue
            path = f"{where}.{name}"
            slots[name] = value
            if id(inner) in seen:
                continue
            seen.add(id(inner))
            if isinstance(inner, FunctionType):
                self._functions[id(inner)] = path
                if whole:
                    self._closures += [(path, cell, cell.cell_contents) for cell in inner.__closure__ or ()]
            elif type(inner) is Exercise:
                self._watch(path, vars(inner), seen, whole=True)
            elif type(inner) is dict and where.startswith("autograder.exercises.") and name != "__builtins__":
                self._watch(path, inner, seen, whole=True)
            elif isinstance(inner, type) and _GUARDED.fullmatch(str(inner.__module__)) and not _is_old(inner):
                inherited = frozenset(name for base in inner.__mro__[1:] for name in vars(base))
                self._hiding.append((path, vars(inner), inherited - vars(inner).keys()))
                self._watch(path, vars(inner), seen)
        if slots:
            self._slots.append(_Slots(where, namespace, slots))

    def focus(self, lesson: str) -> None:
        """Look at the exercises of one lesson only from now on: those of the others are most of what there is."""
        others = re.compile(rf"autograder\.exercises\.(?!{lesson}\b)[a-z]\w*(\..*)?")
        self._looked_at = [slots for slots in self._slots if not others.fullmatch(slots.where)]
        self._looked_for = [hiding for hiding in self._hiding if not others.fullmatch(hiding[0])]

    def changed(self) -> list[str]:
        """Names of what is not what it was, of what stands between a call and torch, and of what was reached for."""
        found = [path for slots in self._looked_at for path in slots.changed()]
        found += [path for path, cell, was in self._closures if cell.cell_contents is not was]
        for path, namespace, names in self._looked_for:
            if not namespace.keys().isdisjoint(names):
                found += [f"{path}.{name}" for name in names & namespace.keys()]
        return found + self._in_the_way() + self.reached

    def _in_the_way(self) -> list[str]:
        ways = {
            "a TorchFunctionMode is left on": bool(_get_current_function_mode_stack()),
            "a TorchDispatchMode is left on": bool(_get_current_dispatch_mode_stack()),
            "sys.settrace": sys.gettrace() is not None,
            "sys.setprofile": sys.getprofile() is not None,
            "sys.meta_path": sys.meta_path[: len(self._finders)] != self._finders,
            "a signal handler is left on": _handlers() != self._handlers,
            "a thread is left running": _threads() > 1,
        }
        return [name for name, holds in ways.items() if holds]

    def fingerprint(self, salt: str) -> str:
        """The same in every untouched child of one template. `salt` is new for each time it is asked."""
        # An object's own hash is its address; `id` would ask the audit hook, thousands of times.
        now = array("q", map(object.__hash__, chain.from_iterable(slots.now() for slots in self._looked_at)))
        now.extend(object.__hash__(cell.cell_contents) for _, cell, _ in self._closures)
        return hashlib.sha256(salt.encode() + now.tobytes()).hexdigest()

    def watch(self) -> None:
        """Note and refuse, for good, the ways to frames, to all objects and to raw memory. For a student's own code.

        The interpreter asks an audit hook before it does any of this, and a hook cannot be taken off.
        """
        functions, reached, getframe, busy = self._functions, self.reached, sys._getframe, []  # type: ignore[var-annotated]

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if event in _QUIET or busy:
                return
            what = _reaching(event, arguments, functions)
            if what is None:
                return
            busy.append(True)  # `getframe` asks, too
            try:
                student = what.endswith("__") or _is_students(getframe(1), _OPENING if event == "open" else _LENDING)
            finally:
                busy.pop()
            if student:
                reached.append(what)
                raise PermissionError(f"{what}: not while a submission is graded")

        sys.addaudithook(hook)


_QUIET = frozenset(("compile", "exec", "import", "marshal.loads", "os.listdir", "os.scandir"))
_REACHING = re.compile(
    r"gc\.get_\w+|ctypes\.(dlopen|dlsym|cdata|cdata/buffer|addressof|call_function|string_at|wstring_at)"
    r"|sys\.(_getframe|_current_frames|_current_exceptions|settrace|setprofile|addaudithook)"
)
_FRAMES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_MEMORY = re.compile(r"/proc/.*/(mem|maps)")
_LIBRARY = tuple(map(str, (*visible(), Path(sysconfig.get_paths()["purelib"]), "<frozen")))
_LENDING = ("/inspect.py", "/ctypes/__init__.py", "/threading.py")  # do it for whoever calls them


_OPENING = (*_LENDING, "/IPython/core/interactiveshell.py")  # has an `open` of its own


def _threads() -> int:
    """How many threads run, without the event loop that IPython starts for `%%bash` and keeps."""
    loop = asyncio.BaseEventLoop.run_forever.__code__
    targets = [getattr(thread, "_target", None) for thread in threading.enumerate()]
    return len(os.listdir("/proc/self/task")) - any(getattr(each, "__code__", None) is loop for each in targets)


def _handlers() -> list[Any]:
    """The functions that signals call: with the frame that they interrupt."""
    return [found for number in signal.valid_signals() if callable(found := signal.getsignal(number))]


def _reaching(event: str, arguments: tuple[Any, ...], functions: Mapping[int, str]) -> str | None:
    """What an event of the interpreter's is called in a reason, if it is one that tampering needs."""
    if event == "object.__getattr__":
        return f"a frame ({arguments[1]})" if arguments[1] in _FRAMES else None
    if event == "object.__setattr__":
        path = functions.get(id(arguments[0]))
        return f"{path}.{arguments[1]}" if path else None
    if event == "open":
        found = isinstance(arguments[0], str) and _MEMORY.fullmatch(arguments[0])
        return str(arguments[0]) if found else None
    if _REACHING.fullmatch(event):
        return "a frame (sys._getframe)" if event == "sys._getframe" else event
    return None


def _is_students(frame: FrameType | None, lending: tuple[str, ...]) -> bool:
    """Does code run there that is no installed file's?"""
    while frame is not None and frame.f_code.co_filename.endswith(lending):
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith(_LIBRARY)
