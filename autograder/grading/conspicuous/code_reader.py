"""A reader of code objects that collects what notebooks do not need.

What is read is what runs: names, imports, and what is set, in the order of the instructions. A name is followed where
it is imported or bound to another name, and nowhere else.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from types import CodeType
from typing import Any

from .ordinary import (
    HIDDEN_TEXTS,
    MAGICS,
    SETTABLE,
    SHOWING,
    UNUSUAL_METHODS,
    at_home,
    is_hidden,
    is_module,
    is_new,
    is_ordinary,
    is_setting,
    is_unusual_name,
)
from .steps import Do, Step, steps_of

_LONGEST = 60  # characters of what is named
_SHELL = "get_ipython()"  # the path of IPython's shell
_WATCHED = ("delattr", "getattr", "setattr")  # stand in the notebook under these names
_OBJECT = ("object", "__dataclass_builtins_object__")  # the second in what `dataclass` writes
_CHANGING = ("__setattr__", "__delattr__")
_GETTERS = ("operator.attrgetter", "operator.methodcaller")
_RUNS_MAGIC = frozenset(("run_line_magic", "run_cell_magic", "magic"))
_PLAIN_CLASS = 5  # steps of `class Name:` after the first: its code, a function, the name, a call, and the binding
_IN_IPYTHON = ("InlineBackend", "IPCompleter", "Completer")  # what `%config` may set


class Kind(StrEnum):
    """The kinds of conspicuous places.

    A value is the end of the id of its sentence, as in "look.assigned".
    """

    ASSIGNED = "assigned"  # a value is set in a module or a class of other people
    IMPORTED = "imported"  # a module that the course does not know
    USED = "used"  # an unusual or private name
    HANDED = "handed"  # a module is handed on, so that nobody sees what is done to it
    TEXT = "text"  # a text names something hidden
    RUN = "run"  # code, or an object, is made out of a text or a file
    MORE = "more"  # how many more there are
    UNREAD = "unread"  # too long to be read


@dataclass(frozen=True, order=True)
class ConspicuousPlace:
    """A conspicuous place: a line, the kind, and what is there."""

    line: int
    kind: Kind
    what: str

    @classmethod
    def at(cls, line: int | None, kind: Kind, what: str) -> ConspicuousPlace:
        """Return a place that is shown in one line."""
        shown = what if len(what) <= _LONGEST else what[:_LONGEST] + "…"
        return cls(line or 1, kind, "".join(each if each.isprintable() else " " for each in shown))


@dataclass
class KnownNames:
    """The names that a notebook has bound so far.

    `paths` maps global names of other people's objects to dotted paths. `is_own` tells whether a top module is the
    student's own, or is not there. `is_protected` tells whether checks look up an attribute of this name; its second
    argument tells whether an object sets it in itself. `bound` counts how often a name is bound, and `classes` how
    often by a plain `class` statement, without bases, which could make something else of it.
    """

    is_own: Callable[[str], bool]
    is_protected: Callable[[str, bool], bool]
    paths: dict[str, str] = field(default_factory=dict)
    bound: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)

    def is_own_class(self, name: str) -> bool:
        return 0 < self.bound[name] <= self.classes[name]


def read_code(code: CodeType, known: KnownNames) -> list[ConspicuousPlace]:
    """Return the conspicuous places of a module's code, and add its names to `known`."""
    return sorted({ConspicuousPlace.at(*place) for place in _Scan(code, known, known.paths).places()})


def released_paths(sources: Iterable[str], transform: Callable[[str], str]) -> dict[str, str]:
    """Return the dotted paths of what released cells bind, by name.

    `transform` turns a cell with IPython's own syntax into Python. What does not compile is left out.
    """
    known = KnownNames(lambda top: False, lambda name, in_self: False)
    for source in dict.fromkeys(sources):
        with contextlib.suppress(SyntaxError, ValueError):
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            read_code(compile(transform(source), "<released>", "exec", flags, dont_inherit=True), known)
    return known.paths


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects inside a code object."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from inner_codes(each)


class _Scan:
    """A walk through the steps of one code object.

    `names` maps the names that the code binds to dotted paths. `of_class` tells whether the code is that of a method.
    """

    def __init__(self, code: CodeType, known: KnownNames, names: dict[str, str], of_class: bool = False) -> None:
        self._code, self._known, self._names = code, known, names
        self._self = code.co_varnames[0] if of_class and code.co_argcount else ""
        starred = [code.co_flags & each for each in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)]
        given = code.co_argcount + code.co_kwonlyargcount + sum(map(bool, starred))
        self._given = {*code.co_varnames[:given], *code.co_freevars}  # names that may stand for anything
        self._path: str | None = None  # of the object that the last steps have loaded
        self._root = ""  # the name with which its expression begins
        self._is_shown = False  # whether it is an argument of a function that only shows something
        self._calls_super = False  # in what is being called, as in `super(Class, self).name`
        self._module, self._whole = "", False  # of an import: its module, and whether it binds a module
        self._since_class = _PLAIN_CLASS  # steps since a `class` statement began
        self._is_class = names is not known.paths and not code.co_flags & inspect.CO_OPTIMIZED
        self._found: list[tuple[int | None, Kind, str]] = []
        self._line: int | None = None

    def places(self) -> Iterator[tuple[int | None, Kind, str]]:
        if self._code.co_name in UNUSUAL_METHODS:
            yield self._code.co_firstlineno, Kind.USED, self._code.co_name
        none = [Step(Do.OTHER, None, None)] * 2
        steps = [*none, *steps_of(self._code), *none]
        for number in range(2, len(steps) - 2):
            self._line = steps[number].line
            self._read(*steps[number - 2 : number + 3])
        yield from self._found
        top = self._names is self._known.paths
        for each in self._code.co_consts:
            if isinstance(each, CodeType):
                yield from _Scan(each, self._known, {} if top else dict(self._names), self._is_class).places()

    def _add(self, kind: Kind, what: str) -> None:
        self._found.append((self._line, kind, what))

    def _read(self, earlier: Step, before: Step, step: Step, after: Step, second: Step) -> None:
        name, path = step.value, self._path
        self._since_class = 0 if step.do is Do.CLASS else self._since_class + 1
        if path in _GETTERS and step.do not in (Do.CONSTANT, Do.STORE) and not self._is_shown:
            self._add(Kind.USED, path)  # what it gets may be computed
        if before.do is Do.ATTRIBUTE and before.value in _RUNS_MAGIC:
            self._run_magic(step, after)
        match step.do:
            case Do.ATTRIBUTE:
                self._load_attribute(name, after, second)
            case Do.SET | Do.DELETE:
                self._set_attribute(name, step.do is Do.SET, before)
                self._start()
            case Do.IMPORT:
                self._module = "" if earlier.value else name  # relative: a module of the student's own
                self._whole = before.value is None
                self._start(name.partition(".")[0] if self._whole else None)
                if self._whole:
                    self._import(self._module)
            case Do.FROM:
                self._start(self._module if self._whole else f"{self._module}.{name}")
                if not self._whole:
                    self._import(str(self._path))
            case Do.STAR:
                self._import(self._module)
                for each in vars(sys.modules[self._module]) if self._module in sys.modules else ():
                    self._bind(each, f"{self._module}.{each}")
            case Do.FORGET if name in _WATCHED:
                self._add(Kind.USED, f"del {name}")
            case Do.STORE:
                if name in UNUSUAL_METHODS:
                    self._add(Kind.USED, name)
                if path and is_module(path) and before.do not in (Do.IMPORT, Do.FROM) and self._is_class:
                    self._add(Kind.HANDED, path)  # to whoever has the class
                self._known.classes[name] += self._since_class == _PLAIN_CLASS
                self._bind(name, path)
                self._start(path, is_shown=True)  # of `(name := path).attribute = ...`
            case _:
                if path and is_module(path) and not self._is_shown and step.do is not Do.CONTAINS:
                    self._add(Kind.HANDED, path)
                self._load(step, before)

    def _load(self, step: Step, before: Step) -> None:
        """Begin with another object: a variable, a constant, or the result of a call."""
        root, path, value = self._root, self._path, step.value
        self._start()
        match step.do:
            case Do.LOAD:
                known = self._names.get(value) or (self._known.paths.get(value) if step.is_global else None)
                self._start(known, value, before.do in (Do.LOAD, Do.ATTRIBUTE) and before.value in SHOWING)
                self._calls_super |= value == "super" and before.do is not Do.LOAD
                if known and known != _SHELL and not is_usual(known):
                    self._add(Kind.USED, known)
                elif step.is_global and not known and is_unusual_name(value):
                    self._add(Kind.USED, value)
            case Do.CALL if path == "IPython.get_ipython" or (root == "get_ipython" and not path):
                self._start(_SHELL)
            case Do.CALL if self._calls_super:
                self._start(root="super")
                self._calls_super = False
            case Do.CONSTANT:
                for found in filter(None, map(HIDDEN_TEXTS.search, _texts(value))):
                    self._add(Kind.TEXT, found[0])

    def _start(self, path: str | None = None, root: str = "", is_shown: bool = False) -> None:
        self._path, self._root, self._is_shown = path, root, is_shown

    def _bind(self, name: str, path: str | None) -> None:
        self._known.bound[name] += 1
        if path and (path == _SHELL or not self._known.is_own(path.partition(".")[0])):
            self._names[name] = at_home(path)

    def _import(self, path: str) -> None:
        """Record an import, unless it is usual, of the student's own, or of what is not there."""
        top = path.partition(".")[0]
        if top and not self._known.is_own(top) and not is_ordinary(path):
            self._add(Kind.IMPORTED, path)

    def _load_attribute(self, name: str, after: Step, second: Step) -> None:
        base = self._path
        path = self._path = base and at_home(f"{base}.{name}")
        if not path or not base:
            of_self = self._root in _OBJECT and after.value == "self"  # no class can be changed in this way
            of_other = name in _CHANGING and not of_self
            if self._root != "super" and (is_hidden(name) or of_other):
                self._add(Kind.USED, name)
        elif path == "sys.modules":
            if after.do is not Do.CONTAINS:  # as in `"google.colab" in sys.modules`
                self._add(Kind.USED, path)
        elif name == "__dict__":
            key = after.do in (Do.CONSTANT, Do.LOAD)
            if after.do in (Do.STORE, Do.CALL, Do.ATTRIBUTE) or (key and second.do is not Do.OTHER):
                self._add(Kind.USED, path)
        elif name in _CHANGING or (is_usual(base) and not is_usual(path)):
            self._add(Kind.USED, path)

    def _set_attribute(self, name: str, is_set: bool, before: Step) -> None:
        """Record that an attribute is set in an object of other people, or in any if checks look it up."""
        if self._path:
            whole = f"{self._path}.{name}"
            if not is_setting(whole) and not (is_set and is_new(whole)):
                self._add(Kind.ASSIGNED, whole)
        elif name not in SETTABLE:
            root = self._root if before.do is Do.LOAD else ""  # else an attribute of it
            special = is_hidden(name) or (name.startswith("__") and name.endswith("__"))
            in_self = root != "" and root == self._self
            is_own = root not in self._given and self._known.is_own_class(root)
            if not is_own and (special or self._known.is_protected(name, in_self)):
                self._add(Kind.ASSIGNED, f"{self._root or '…'}.{name}")

    def _run_magic(self, step: Step, after: Step) -> None:
        """Record an unusual magic of IPython, and one whose name is computed."""
        magic = step.value if step.do is Do.CONSTANT and isinstance(step.value, str) else "…"
        sets = str(after.value).strip() if magic == "config" else ""
        if (magic not in MAGICS and not self._known.bound[magic]) or (sets and not sets.startswith(_IN_IPYTHON)):
            self._add(Kind.USED, f"%{magic} {sets}".strip())


def is_usual(path: str) -> bool:
    return is_ordinary(path) or is_setting(path)


def _texts(constant: Any) -> Iterator[str]:
    """Yield the texts of a constant, which may be a tuple: of the names in a pattern, for example."""
    if isinstance(constant, str):
        yield constant
    elif isinstance(constant, (tuple, frozenset)):
        for each in constant:
            yield from _texts(each)
