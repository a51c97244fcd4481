"""A watch over all code that a child runs.

Code objects are read when they are executed: those of cells by the shell, all others by an audit hook. What is
conspicuous is told to the grader before it runs, so that it cannot be taken back.
"""

from __future__ import annotations

import contextlib
import dis
import importlib
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from ...conspicuous.code_reader import ConspicuousPlace, Kind, KnownNames, inner_codes, is_usual, read_code
from ...conspicuous.protected_names import is_protected
from ...conspicuous.steps import Do, steps_of
from ...conspicuous.watched_builtins import watched_builtins
from ..wall.filesystem import visible
from ..wire.channel import bind_methods
from ..wire.enclosed import enclosed

LIBRARY = tuple(map(str, (*visible(), Path(sysconfig.get_paths()["purelib"]), "<frozen")))  # begins of files
_MOST_READ = 1 << 18  # bytes of code of one submission
_MOST_TOLD = 200  # places of one submission
_IMPORTING = ("<frozen importlib", importlib.__file__)
_IMPORT_NAME = dis.opmap["IMPORT_NAME"]
_PROCESSES = ("concurrent.futures.", "multiprocessing.")  # whose objects travel between processes
_REBUILDS = ("_load_from_bytes", "_rebuild", "_reconstruct", "rebuild_")  # functions that load objects
Place = tuple[str, int, str, str]  # a file's path, or "" for the cell that runs; line, kind, and what is there
_TOO_MUCH: Place = ("", 1, Kind.UNREAD.value, "")  # what is beyond the limit


class CodeWatch:
    """A watch over the code of one submission.

    `paths` are the names that released cells bind to other people's objects. `tell` sends places to the grader.
    """

    def __init__(self, paths: dict[str, str]) -> None:
        self._there = frozenset(sys.modules)
        self._known = KnownNames(self._is_own, is_protected, dict(paths))
        self._read: dict[int, CodeType] = {}  # by id, which is not given away again while the code is kept
        self._left, self._told = _MOST_READ, set[Place]()
        self._waiting: list[Place] = []
        self._depth = 0  # of cells that run cells
        self._process, self._thread = os.getpid(), threading.get_ident()
        self.is_released = False  # whether the cell that runs is no student's
        self.tell: Callable[[Sequence[Place]], None] = lambda places: None
        self.builtins = watched_builtins(enclosed(self._notice), enclosed(self._is_own))
        bind_methods(self)

    def _is_own(self, top: str) -> bool:
        """Return whether a top module is the student's own, or is not there."""
        if top in self._there or top in sys.builtin_module_names:
            return False
        found = PathFinder.find_spec(top)
        return found is None or not _is_library_file(found.origin)

    def enter_cell(self, code: CodeType) -> None:
        """Read a statement of a cell, which the shell is about to run. `leave_cell` must follow."""
        self._depth += 1
        if is_of_library(code):  # somebody has replaced what names cells
            self._add([ConspicuousPlace.at(code.co_firstlineno, Kind.RUN, "compile")])
        self._look(code, "", is_told=not (self.is_released and self._depth == 1))

    def leave_cell(self) -> None:
        self._depth -= 1

    def see(self, event: str, arguments: tuple[Any, ...], caller: FrameType) -> None:
        """Look at an audit event that runs or makes code. `caller` is the frame of the caller."""
        of_library = is_of_library(caller.f_code)
        match event, arguments:
            case "pickle.find_class", (module, name):
                self._see_class(module, name)
            case "import", (name, *_):
                self._see_import(str(name).partition(".")[0], caller)
            case "compile", (_, file):
                if not of_library and isinstance(file, str) and (type(file) is not str or file.startswith(LIBRARY)):
                    self._add([ConspicuousPlace.at(caller.f_lineno, Kind.RUN, event)])
            case "code.__new__" | "marshal.loads", _:
                if not of_library:
                    self._add([ConspicuousPlace.at(caller.f_lineno, Kind.RUN, event)])
            case "exec" | "function.__new__", (CodeType() as code, *_):
                self._see_code(code, caller, of_library)
            case "object.__setattr__", (_, _, CodeType() as code):
                self._see_code(code, caller, of_library)

    def _see_import(self, top: str, caller: FrameType | None) -> None:
        """Look at the import of a module by a function, whose name may be computed. Statements have been read."""
        while caller and file_of(caller.f_code).startswith(_IMPORTING):
            caller = caller.f_back
        if not caller or is_of_library(caller.f_code) or is_usual(top) or self._is_own(top):
            return
        if caller.f_code.co_code[caller.f_lasti] != _IMPORT_NAME:
            self._add([ConspicuousPlace.at(caller.f_lineno, Kind.IMPORTED, top)])

    def _see_class(self, module: str, name: str) -> None:
        """Look at what a pickle asks for."""
        of_processes = module.startswith(_PROCESSES) and "." not in name
        is_main = module == "__main__" or self._is_own(module.partition(".")[0])
        if not of_processes and not is_main and not name.startswith(_REBUILDS) and not is_usual(f"{module}.{name}"):
            self._add([ConspicuousPlace.at(self._line(), Kind.RUN, f"{module}.{name}")])

    def _see_code(self, code: CodeType, caller: FrameType, of_library: bool) -> None:
        if id(code) in self._read:
            return
        file = ""
        if file_of(caller.f_code).startswith("<frozen importlib"):
            if _is_library_loaded(caller.f_back):
                return
            _, namespace = caller.f_locals.get("args", (code, {}))
            namespace.update(self.builtins)
            file = os.path.relpath(file_of(code))
        elif of_library and (is_of_library(code) or _in_import(caller)):
            return
        elif not of_library and any(step.value in self.builtins for step in steps_of(code) if step.do is Do.LOAD):
            self._add([ConspicuousPlace.at(caller.f_lineno, Kind.HANDED, "exec")])  # may run where ours do not stand
        self._look(code, file)

    def _look(self, code: CodeType, file: str, is_told: bool = True) -> None:
        for each in (code, *inner_codes(code)):
            self._read[id(each)] = each
            self._left -= len(each.co_code)
        found = [ConspicuousPlace(code.co_firstlineno, Kind.UNREAD, "")]
        if self._left >= 0:
            with contextlib.suppress(RecursionError):  # nested too deeply
                found = read_code(code, self._known)
        if is_told:
            self._add(found, file)

    def _notice(self, kind: Kind, what: str) -> None:
        self._add([ConspicuousPlace.at(self._line(), kind, what)])

    def _line(self) -> int:
        """Return the line of the innermost frame that is no library's, or 1."""
        frame: FrameType | None = sys._getframe(1)
        while frame and is_of_library(frame.f_code):
            frame = frame.f_back
        return frame.f_lineno if frame else 1

    def _add(self, places: Sequence[ConspicuousPlace], file: str = "") -> None:
        new = [(file, each.line, each.kind.value, each.what) for each in places]
        new = [each for each in dict.fromkeys(new) if each not in self._told]
        if new and len(self._told) >= _MOST_TOLD:
            new = [] if _TOO_MUCH in self._told else [_TOO_MUCH]
        self._waiting += new
        self._told |= {*new}
        self.tell_all()

    def tell_all(self) -> None:
        """Tell the grader what has been found.

        Other threads and processes cannot: the main thread does it later.
        """
        if self._waiting and os.getpid() == self._process and threading.get_ident() == self._thread:
            waiting, self._waiting = self._waiting, []
            self.tell(waiting)


def file_of(code: CodeType) -> str:
    """Return the file's name that code bears, whatever a class of text says of itself."""
    return str.__str__(code.co_filename)


def is_of_library(code: CodeType) -> bool:
    """Return whether code bears the name of a library's file."""
    return _is_in_library(file_of(code))


def _is_in_library(path: str) -> bool:
    """Return whether a file is a library's. No library's path leads up."""
    return path.startswith(LIBRARY) and ".." not in path


def _is_library_file(origin: object) -> bool:
    """Return whether a module's origin is a file of a library, or Python itself."""
    return type(origin) is str and (_is_in_library(origin) or origin.startswith(("built-in", "frozen")))


def _is_library_loaded(frame: FrameType | None) -> bool:
    """Return whether a frame of Python's import executes a library's module.

    The loader tells which file it has read. A module's spec, and the name in its code, may be anything.
    """
    found = frame.f_locals if frame else {}
    loader = found.get("self")
    if type(loader) is not SourceFileLoader:
        return loader is None and _is_library_file(found["spec"].origin if "spec" in found else "frozen")
    return vars(loader).keys() == {"name", "path"} and _is_library_file(loader.path)


def _in_import(frame: FrameType | None) -> bool:
    """Return whether the innermost frames are those of a library that is being imported."""
    while frame and is_of_library(frame.f_code):
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False
