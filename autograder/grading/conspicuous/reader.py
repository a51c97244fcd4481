"""A reader of code that collects conspicuous places."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeGuard

from .bindings import UNKNOWN, Bindings, text_of
from .ordinary import (
    HIDDEN_TEXTS,
    LOADS_OBJECTS,
    RUNS_TEXT,
    SHOWING,
    UNUSUAL_METHODS,
    is_builtin,
    is_function,
    is_hidden,
    is_installed,
    is_module,
    is_new,
    is_ordinary,
    is_setting,
)

_LONGEST = 60  # characters of what is named
_READS = ("get", "items", "keys", "values", "copy")  # methods of a namespace that change nothing
_PREFIX = re.compile(r"(?!_|f_|tb_|gi_|cr_|ag_|co_|func_)[a-zA-Z_]{2,}")  # how a computed name may begin


class Kind(StrEnum):
    """The kinds of conspicuous places.

    A value is the end of the id of its sentence, as in "look.assigned".
    """

    ASSIGNED = "assigned"  # a value is set in a module or a class of other people
    IMPORTED = "imported"  # a module that the course does not know
    USED = "used"  # an unusual or private name
    HANDED = "handed"  # a module is handed on, so that nobody sees what is done to it
    COMPUTED = "computed"  # the name of an attribute is computed
    TEXT = "text"  # a text names something hidden
    RUN = "run"  # code, or an object, is made out of a text or a file
    UNREAD = "unread"  # too long or too deep to be read


class Reader(ast.NodeVisitor):
    """A collector of the conspicuous places of one tree.

    Each has a line, a kind and a text. `writes` tells whether the submission has files that are not read here.
    """

    def __init__(self, bindings: Bindings, writes: bool) -> None:
        self._bindings, self._writes = bindings, writes
        self._passed: set[str] = set()  # names of attributes that a `__getattr__` was asked for
        self._begin: set[str] = set()  # listed names of attributes that are known to begin in an ordinary way
        self.found: list[tuple[int, Kind, str]] = []

    def _add(self, node: ast.AST, kind: Kind, what: str) -> None:
        self.found.append((getattr(node, "lineno", 1), kind, what if len(what) <= _LONGEST else what[:_LONGEST] + "…"))

    # ------------------------------------------------------------------------------------------------- modules, names

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            self._import(node, each.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for each in node.names:
            self._import(node, node.module if each.name == "*" else f"{node.module}.{each.name}")

    def _import(self, node: ast.AST, path: str | None) -> None:
        top, ordinary = str(path).partition(".")[0], is_ordinary(str(path))
        if top in self._bindings.own or (ordinary and is_installed(top, sys.modules)) or not self._is_there(top):
            return
        self._add(node, Kind.IMPORTED, str(path))

    def _is_there(self, path: str) -> bool:
        """Return whether a module can be imported here, or may be a file that is not read."""
        return self._writes or path.startswith("get_ipython()") or is_installed(path, sys.modules)

    def visit_Name(self, node: ast.Name) -> None:
        name, bindings = node.id, self._bindings
        known = name in bindings.paths or name in bindings.functions
        if isinstance(node.ctx, ast.Load) and not known and hasattr(builtins, name) and not is_builtin(name):
            self._add(node, Kind.RUN if name in ("exec", "eval", "compile") else Kind.USED, name)
        if name in UNUSUAL_METHODS:
            self._add(node, Kind.USED, name)
        path = bindings.paths.get(name)
        if isinstance(node.ctx, ast.Load) and path and is_module(path, sys.modules):
            self._add(node, Kind.HANDED, name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            base = self._bindings.path(node.value)
            self._assigned(node, base and f"{base}.{node.attr}")
            return self._below(node.value)
        path = self._bindings.path(node)
        known = path is not None and UNKNOWN not in path
        if path == "sys.modules":
            self._add(node, Kind.USED, path)
        elif known and (is_ordinary(str(path)) or is_setting(str(path))) and node.attr != "__dict__":
            if is_module(str(path), sys.modules):
                self._add(node, Kind.HANDED, str(path))
        elif (is_hidden(node.attr) and not _is_super(node.value)) or (path and node.attr == "__dict__"):
            self._add(node, Kind.USED, node.attr)
        elif known and self._is_there(str(path)):
            self._add(node, Kind.USED, str(path))
        if node.attr in _READS and _is_namespace(node.value):
            return self._below(node.value.value)  # type: ignore[attr-defined]
        self._below(node.value)

    def _below(self, node: ast.expr) -> None:
        """Visit what an attribute or an item is taken from. A module or a part of it has been looked at already."""
        while isinstance(node, ast.Attribute) and self._bindings.path(node):
            if (is_hidden(node.attr) and not is_ordinary(str(self._bindings.path(node)))) or _is_namespace(node):
                self._add(node, Kind.USED, node.attr)
            node = node.value
        if not (isinstance(node, ast.Name) and node.id in self._bindings.paths):
            self.visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            path = self._bindings.path(node.value)
            if not (path and is_function(path, sys.modules)):  # then a name of the student's own hides a function
                self._assigned(node, path)
            self._below(node.value)
        elif _is_namespace(node.value):
            self._below(node.value.value)  # type: ignore[attr-defined]
        else:
            self.visit(node.value)
        self.visit(node.slice)

    def _assigned(self, node: ast.Attribute | ast.Subscript, path: str | None) -> None:
        if path and UNKNOWN in path:
            self._add(node, Kind.ASSIGNED, ast.unparse(node))
        elif path and not is_setting(path) and not (isinstance(node, ast.Attribute) and is_new(path, sys.modules)):
            self._add(node, Kind.ASSIGNED, path)
        elif isinstance(node, ast.Attribute) and (is_hidden(node.attr) or node.attr == "__code__"):
            self._add(node, Kind.ASSIGNED, ast.unparse(node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in UNUSUAL_METHODS:
            self._add(node, Kind.USED, node.name)
        # `def __getattr__(self, name): return getattr(self.inner, name)`: who uses it writes the name elsewhere.
        name = {each.arg for each in node.args.args[1:2]} if node.name == "__getattr__" else set()
        self._passed |= name
        self.generic_visit(node)
        self._passed -= name

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        for name in filter(is_hidden, node.kwd_attrs):
            self._add(node, Kind.USED, name)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Visit a comparison. `"google.colab" in sys.modules` is an ordinary question."""
        for each in (node.left, *node.comparators):
            if self._bindings.path(each) != "sys.modules":
                self.visit(each)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and (hidden := HIDDEN_TEXTS.search(node.value)):
            self._add(node, Kind.TEXT, hidden[0])
        if isinstance(node.value, bytes) and len(node.value) > 16 and not node.value.isascii():
            self._add(node, Kind.RUN, "bytes")

    # ------------------------------------------------------------------------- `for name in dir(x)`, with a condition

    def visit_If(self, node: ast.If) -> None:
        self._visit_all(node.test, *node.orelse)
        self._guarded([node.test], node.body)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._visit_all(node.test, node.orelse)
        self._guarded([node.test], [node.body])

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        self._visit_all(*node.generators)
        self._guarded([test for each in node.generators for test in each.ifs], [node.elt])

    visit_SetComp = visit_GeneratorExp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._visit_all(*node.generators)
        self._guarded([test for each in node.generators for test in each.ifs], [node.key, node.value])

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._visit_all(node.target, *node.ifs)
        self._below(node.iter.value if _is_namespace(node.iter) else node.iter)

    def visit_For(self, node: ast.For) -> None:
        self._visit_all(node.target, *node.orelse)
        self._below(node.iter.value if _is_namespace(node.iter) else node.iter)
        match node.body[0]:
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=[ast.Continue()]):
                self._guarded([test], node.body)
            case _:
                self._visit_all(*node.body)

    def _visit_all(self, *nodes: ast.AST) -> None:
        for node in nodes:
            self.visit(node)

    def _guarded(self, tests: Sequence[ast.expr], nodes: Sequence[ast.AST]) -> None:
        """Visit what is only run if all `tests` hold."""
        parts = [part for test in tests for part in (test.values if _is_and(test) else [test])]
        new = {name for part in parts if (name := _begins_well(part))} - self._begin
        self._begin |= new
        self._visit_all(*nodes)
        self._begin -= new

    # ---------------------------------------------------------------------------------------------------------- calls

    def visit_Call(self, node: ast.Call) -> None:
        path = self._bindings.path(node.func)
        name = node.func.id if isinstance(node.func, ast.Name) and not path else ""
        if name in ("getattr", "setattr", "delattr") and len(node.args) > 1:
            self._attribute_by_name(node, name)
        elif name == "type" and len(node.args) > 1 and text_of(node.args[0]) is None:
            self._add(node, Kind.COMPUTED, ast.unparse(node))
        elif name == "vars" and node.args and self._bindings.path(node.args[0]):
            self._add(node, Kind.USED, ast.unparse(node))
        elif path in RUNS_TEXT:
            self._runs_text(node)
        elif path in LOADS_OBJECTS and self._loads_objects(node, path):
            self._add(node, Kind.RUN, path)
        elif path == "importlib.import_module" and (not node.args or text_of(node.args[0]) is None):
            self._add(node, Kind.COMPUTED, ast.unparse(node))
        elif path == "importlib.import_module":
            self._import(node, text_of(node.args[0]))
        elif path in ("operator.attrgetter", "operator.methodcaller"):
            for each in node.args[: None if path.endswith("attrgetter") else 1]:
                self._name_of_attribute(node, each)
        elif path and path.startswith(("torch.library.Library", "torch.library.impl")) and node.args:
            name_space = text_of(node.args[0])
            if name_space is None or name_space.startswith(("aten", "prim")):
                self._add(node, Kind.ASSIGNED, ast.unparse(node))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "__setattr__":
            self._sets_by_name(node)
        if name not in ("setattr", "delattr"):
            self._below(node.func) if not isinstance(node.func, ast.Attribute) else self.visit(node.func)
        # What own functions do with a module is followed there.
        shows = (
            name in (*SHOWING, "setattr", "delattr")
            or name in self._bindings.functions
            or (path or "").startswith(("inspect.", "importlib.reload"))
        )
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            whole = self._bindings.path(each)
            if not (shows and whole and is_ordinary(whole) and is_module(whole, sys.modules)):
                self.visit(each)

    def _attribute_by_name(self, node: ast.Call, how: str) -> None:
        base, name = node.args[0], node.args[1]
        path, text = self._bindings.path(base), text_of(name)
        if how != "getattr":
            whole = path and f"{path}.{text}"
            if (whole and not is_setting(whole)) or is_hidden(text or ""):
                self._add(node, Kind.ASSIGNED, ast.unparse(node))
        elif text is not None and path and UNKNOWN not in path:
            if not is_ordinary(f"{path}.{text}"):
                self._add(node, Kind.USED, f"{path}.{text}")
        elif text is not None and is_hidden(text):
            self._add(node, Kind.USED, text)
        elif text is None and not (path and is_ordinary(path)):
            self._name_of_attribute(node, name)

    def _name_of_attribute(self, node: ast.Call, name: ast.expr) -> None:
        """Record a call if the name of an attribute is computed, and could be any."""
        text = text_of(name)
        if text is not None:
            if any(map(is_hidden, text.split("."))):
                self._add(node, Kind.USED, text)
            return
        first = name
        while isinstance(first, (ast.JoinedStr, ast.BinOp)):
            first = first.left if isinstance(first, ast.BinOp) else first.values[0]
        begins = text_of(first) if first is not name else None
        if begins and _PREFIX.match(begins):
            return
        listed = self._bindings.literal | (self._bindings.listed & self._begin) | self._passed
        if not (isinstance(name, ast.Name) and name.id in listed):
            self._add(node, Kind.COMPUTED, ast.unparse(node))

    def _sets_by_name(self, node: ast.Call) -> None:
        """Record `object.__setattr__(x, ...)` if `x` is not the object of a method itself."""
        base = node.func.value if isinstance(node.func, ast.Attribute) else None
        own = bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
        if not own and not (base and _is_super(base)):
            self._add(node, Kind.ASSIGNED, ast.unparse(node))

    def _runs_text(self, node: ast.Call) -> None:
        for each in (*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in ("stmt", "setup"))):
            own = isinstance(each, ast.Lambda) or (isinstance(each, ast.Name) and each.id in self._bindings.functions)
            number = isinstance(each, ast.Constant)
            if not own and not number:
                self._add(node, Kind.RUN, ast.unparse(node))

    def _loads_objects(self, node: ast.Call, path: str | None) -> bool:
        """Return whether a call may run code out of a file or text that the submission has brought along."""
        named = {each.arg: each.value for each in node.keywords}
        if path == "torch.load":
            safe = named.get("weights_only", ast.Constant(True))
            return self._writes and not (isinstance(safe, ast.Constant) and safe.value)
        if path == "numpy.load":
            return self._writes and "allow_pickle" in named
        return self._writes


def _is_namespace(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _is_and(test: ast.expr) -> TypeGuard[ast.BoolOp]:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)


def _begins_well(test: ast.expr) -> str | None:
    """Return the name in `name.startswith("_saved")`, if what it begins with is harmless."""
    match test:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="startswith"), args=[ast.Constant(value=text)]):
            return name if isinstance(text, str) and (_PREFIX.match(text) or text in ("_saved", "_saved_")) else None
    return None
