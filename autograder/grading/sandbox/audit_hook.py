"""The ways to frames, to all objects and to raw memory: refused to a student's own code, and noted.

The interpreter asks an audit hook before it does any of this, and a hook cannot be taken off.
"""

from __future__ import annotations

import cProfile
import os
import re
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from ...messages.interface import message
from .filesystem import visible

_QUIET = frozenset(("builtins.id", "compile", "exec", "import", "marshal.loads", "os.listdir", "os.scandir"))
_REACHING = re.compile(
    r"gc\.get_\w+|ctypes\.(dlopen|dlsym|cdata|cdata/buffer|addressof|call_function|string_at|wstring_at)"
    r"|sys\.(_getframe|_current_frames|_current_exceptions|settrace|setprofile|addaudithook|monitoring\.register_callback)"
)
_FRAMES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_MEMORY = re.compile(r"/proc/.*/(mem|maps)|mem")  # the last in a folder that is not known
_LIBRARY = tuple(map(str, (*visible(), Path(sysconfig.get_paths()["purelib"]), "<frozen")))
# Files and functions that do it for whoever calls them. To log, to print a traceback or to start a debugger is allowed;
# what a debugger does later runs below `trace_dispatch`, on top of the student's own frame.
_LENDING = re.compile(
    r".*/(?:inspect|ctypes/__init__|threading|IPython/utils/frame)\.py:.*"
    r"|.*/bdb\.py:(?!Bdb\.trace_dispatch$).*|.*/(?:pdb|IPython/core/debugger)\.py:\w*Pdb\..*"
    r"|.*/logging/__init__\.py:(?:currentframe|<lambda>)|.*/traceback\.py:walk_(?:stack|tb)"
    r"|.*/IPython/extensions/autoreload\.py:(?!ModuleReloader\.).*"
)
_OPENING = re.compile(_LENDING.pattern + r"|.*/IPython/core/interactiveshell\.py:.*")  # has an `open` of its own


class Refused(PermissionError):
    """The error in a student's own code that asked for something refused."""


def _reaching(event: str, arguments: tuple[Any, ...], functions: Mapping[int, str]) -> str | None:
    """What an event of the interpreter's is called in a reason, if it is one that tampering needs."""
    if event == "object.__getattr__":
        return str(arguments[1]) if arguments[1] in _FRAMES else None
    if event == "object.__setattr__":
        path = functions.get(id(arguments[0]))
        return f"{path}.{arguments[1]}" if path else None
    if event == "open":
        return _memory(arguments[0])
    if _REACHING.fullmatch(event):
        return event
    return None


def _memory(path: object) -> str | None:
    """Return `path` as text if it is the memory of a process. The kernel refuses what a link leads to."""
    named = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
    return named if _MEMORY.fullmatch(named) else None


def _is_students(frame: FrameType | None, lending: re.Pattern[str]) -> bool:
    """Return whether code runs there that is no installed file's."""
    while frame is not None and lending.fullmatch(f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"):
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith(_LIBRARY)


def watch(functions: Mapping[int, str], refused: list[str]) -> None:
    """Refuse them from now on, for good, and append what was asked for to `refused`.

    `functions` are ours and torch's by address: their parts may not be set either.
    """
    getframe, busy = sys._getframe, []  # type: ignore[var-annotated]

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
            refused.append(what)
            raise Refused(message("run.refused", what=what).read(None))

    sys.addaudithook(hook)
    _lend_profiler()


def _lend_profiler() -> None:
    """Let a student's code switch cProfile on: it shows nobody a frame, as a profile function of one's own would."""
    enable = cProfile.Profile.enable

    def lent(self: cProfile.Profile, *how: bool, **named: bool) -> None:
        enable(self, *how, **named)

    cProfile.Profile.enable = lent  # type: ignore[method-assign,assignment]
