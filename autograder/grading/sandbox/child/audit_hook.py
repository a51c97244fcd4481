"""An audit hook that keeps student code away from hidden objects.

The hook refuses access to Python stack frames, functions of `gc` and raw memory, and records each attempt. An audit
hook cannot be removed.
"""

from __future__ import annotations

import cProfile
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from resource import RLIMIT_FSIZE, getrlimit
from types import CodeType, FrameType
from typing import Any

from ....messages.learners import message
from .code_watch import CodeWatch, file_of, is_of_library

_QUIET = frozenset(("builtins.id", "os.listdir", "os.scandir"))
_REACHING = re.compile(
    r"gc\.get_\w+|ctypes\.(dlopen|dlsym|cdata|cdata/buffer|addressof|call_function|string_at|wstring_at)"
    r"|sys\.(_getframe|_current_frames|_current_exceptions|settrace|setprofile|addaudithook|monitoring\.register_callback)"
)
# What runs or makes code.
_RUNS = frozenset(
    ("code.__new__", "compile", "exec", "function.__new__", "import", "marshal.loads", "pickle.find_class")
)
_WEIGHED = "mmap.mmap"  # what nobody may call while memory is weighed: pages of a file count nowhere
_ALSO_CALLED = {  # functions of C that do the same
    "sys._getframe": ("currentframe",),
    "sys.setprofile": ("_disable_profiler", "_enable_profiler", "disable", "enable"),
}
_FRAMES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_MEMORY = re.compile(r"/proc/.*/(mem|maps)|mem")  # a bare `mem`: the path may be relative to an unknown folder
# Library code that inspects stack frames or memory for its caller: judge the caller instead. Logging, printing a
# traceback and starting a debugger are allowed. A debugger's later commands run below `trace_dispatch`, on top of the
# student's own stack frame.
_LENDING = re.compile(
    r".*/conspicuous/watched_builtins\.py:.*|.*/(?:inspect|ctypes/__init__|threading|IPython/utils/frame)\.py:.*"
    r"|.*/bdb\.py:(?!Bdb\.trace_dispatch$).*|.*/(?:pdb|IPython/core/debugger)\.py:\w*Pdb\..*"
    r"|.*/logging/__init__\.py:(?:currentframe|<lambda>)|.*/traceback\.py:walk_(?:stack|tb)"
    r"|.*/IPython/extensions/autoreload\.py:(?!ModuleReloader\.).*"
)
_OPENING = re.compile(_LENDING.pattern + r"|.*/IPython/core/interactiveshell\.py:.*")  # IPython has its own `open`


class RefusedEvent(PermissionError):
    """The exception raised in student code at a refused access."""


def _reaching(event: str, arguments: tuple[Any, ...], functions: Mapping[int, str]) -> str | None:
    """Return the text by which to report an audit event, or None if the event is harmless.

    `event` and `arguments` are the parameters of an audit hook. `functions` maps the `id` of each protected function to
    its name.
    """
    if event == "object.__getattr__":
        return str(arguments[1]) if arguments[1] in _FRAMES else None
    if event == "object.__setattr__":
        path = functions.get(id(arguments[0]))
        return f"{path}.{arguments[1]}" if path else None
    if event == "open":
        return _memory(arguments[0])
    if event == "resource.setrlimit" and arguments[0] == RLIMIT_FSIZE:
        return "resource.RLIMIT_FSIZE"
    if event == "mmap.__new__" and arguments[0] != -1 and getrlimit(RLIMIT_FSIZE)[0] == 0:  # while memory is weighed
        return _WEIGHED
    if _REACHING.fullmatch(event):
        return event
    return None


def _memory(path: object) -> str | None:
    """Return `path` as text if `path` is the memory file of a process, else None.

    Symlinks are not resolved: the kernel refuses access to their target.
    """
    named = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
    return named if _MEMORY.fullmatch(named) else None


def _is_students(what: str, frame: FrameType | None, lending: re.Pattern[str]) -> bool:
    """Return whether an audit event was caused by student code and not by a library.

    `what` names what was called, `frame` is the innermost stack frame. Functions that match `lending` act for their
    caller, so their frames are skipped. So are those of functions that call what they were given: they do not name it.
    """
    called = {*what.split("."), *_ALSO_CALLED.get(what, ())} - {"gc", "sys"}
    while frame is not None:
        code = frame.f_code
        if not is_of_library(code):
            return True
        if lending.fullmatch(f"{file_of(code)}:{code.co_qualname}"):
            called |= {*code.co_qualname.split(".")}
        elif called & {*code.co_names, *code.co_freevars, *_texts_in(code)} or (
            "ctypes" in called and "ctypes" in frame.f_globals
        ):
            return False
        frame = frame.f_back
    return False


def _texts_in(code: CodeType) -> Iterator[str]:
    yield from (each for each in code.co_consts if isinstance(each, str))


def watch(functions: Mapping[int, str], refused: list[str], code_watch: CodeWatch) -> None:
    """Install the audit hook permanently.

    If student code attempts a refused access, the hook raises RefusedEvent, and appends a text about it to `refused`.
    `functions` maps the `id` of functions of torch and the course to their names. Setting attributes of these functions
    is refused, too. `code_watch` sees what runs or makes code.
    """
    _getframe, me, busy = sys._getframe, threading.get_ident, set[int]()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _QUIET:
            return
        if event in _RUNS or (event == "object.__setattr__" and arguments[1] == "__code__"):
            code_watch.see(event, arguments, _getframe(1))  # also while `busy`: a signal's handler may run code
        if (thread := me()) in busy or (what := _reaching(event, arguments, functions)) is None:
            return
        busy.add(thread)  # `_getframe` raises an audit event itself
        try:
            called, lending = (event, _OPENING) if event == "open" else (what, _LENDING)
            always = what.endswith("__") or what == _WEIGHED
            student = always or _is_students(called, _getframe(1), lending)
        finally:
            busy.discard(thread)
        if student:
            refused.append(what)
            raise RefusedEvent(message("run.refused", what=what).read(None))

    sys.addaudithook(hook)
    _lend_profiler()


def _lend_profiler() -> None:
    """Let student code enable cProfile, although the audit hook refuses other profile functions.

    cProfile exposes no stack frame. After this call, `enable` is called from a function of this module. The hook
    therefore takes the call for one by a library.
    """
    enable = cProfile.Profile.enable

    def lent(self: cProfile.Profile, *how: bool, **named: bool) -> None:
        enable(self, *how, **named)

    cProfile.Profile.enable = lent  # type: ignore[method-assign,assignment]
