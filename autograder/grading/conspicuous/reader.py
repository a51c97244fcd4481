"""A reader of code that collects conspicuous places."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeGuard

from .bindings import UNKNOWN, Bindings, text_of
from .ordinary import (
    CALLED_ONLY,
    HIDDEN_TEXTS,
    LOADS_OBJECTS,
    MAGICS,
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
    measuring_names,
)

_LONGEST = 60  # characters of what is named
_SHOWING_PATHS = ("inspect.getsource", "inspect.is", "inspect.getfile", "inspect.getdoc", "importlib.reload")
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
    OUTSIDE = "outside"  # numbers are kept outside of torch, where only torch's memory is counted
    RUN = "run"  # code, or an object, is made out of a text or a file
    MORE = "more"  # how many more there are
    UNREAD = "unread"  # too long or too deep to be read


class Reader(ast.NodeVisitor):
    """A collector of the conspicuous places of one tree.

    Each has a line, a kind and a text. `makes_bytes` tells whether bytes are made that could be an object. `writes`
    tells whether the submission has files that are not read here.
    """

    def __init__(self, bindings: Bindings, writes: bool, makes_bytes: bool) -> None:
        self._bindings, self._writes, self._makes_bytes = bindings, writes, makes_bytes
        self._called: set[ast.AST] = set()  # calls whose results are called, as in `getattr(torch, name)(x)`
        self._passed: set[str] = set()  # names of attributes that a `__getattr__` was asked for
        self._begin: set[str] = set()  # listed names of attributes that are known to begin in an ordinary way
        self.found: list[tuple[int, Kind, str]] = []

    def _add(self, node: ast.AST, kind: Kind, what: str) -> None:
        shown = what if len(what) <= _LONGEST else what[:_LONGEST] + "…"
        shown = "".join(each if each.isprintable() else " " for each in shown)
        self.found.append((getattr(node, "lineno", 1), kind, shown))

    # ------------------------------------------------------------------------------------------------- modules, names

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            self._import(node, each.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for each in node.names:
            self._import(node, node.module if each.name == "*" else f"{node.module}.{each.name}")

    def _import(self, node: ast.AST, path: str | None) -> None:
        top, ordinary = str(path).partition(".")[0], is_ordinary(str(path))
        if top in self._bindings.own or (ordinary and is_installed(top)) or not self._is_there(top):
            return
        self._add(node, Kind.IMPORTED, str(path))

    def _is_there(self, path: str) -> bool:
        """Return whether a module can be imported here, or may be a file that is not read."""
        return self._writes or path.startswith("get_ipython()") or is_installed(path)

    def visit_Name(self, node: ast.Name) -> None:
        name, bindings = node.id, self._bindings
        known = name in bindings.paths or name in bindings.functions
        if isinstance(node.ctx, ast.Load) and not known and hasattr(builtins, name) and not is_builtin(name):
            self._add(node, Kind.RUN if name in ("exec", "eval", "compile") else Kind.USED, name)
        if name in UNUSUAL_METHODS:
            self._add(node, Kind.USED, name)
        path = bindings.paths.get(name)
        if isinstance(node.ctx, ast.Load) and path and is_module(path):
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
            if is_module(str(path)):
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
            if not (path and is_function(path)):  # then a name of the student's own hides a function
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
        elif path and not is_setting(path) and not (isinstance(node, ast.Attribute) and is_new(path)):
            self._add(node, Kind.ASSIGNED, path)
        elif isinstance(node, ast.Attribute) and is_protected(node.attr):
            self._add(node, Kind.ASSIGNED, ast.unparse(node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in UNUSUAL_METHODS:
            self._add(node, Kind.USED, node.name)
        # `def __getattr__(self, name): return getattr(self.inner, name)`: who uses it writes the name elsewhere.
        name = {each.arg for each in node.args.args[1:2]} if node.name == "__getattr__" else set()
        self._passed |= name
        self.generic_visit(node)
        self._passed -= name

    def _handed(self, *nodes: ast.AST | None) -> None:
        """Record functions that are looked at only where they are called, and that are handed on."""
        for node in nodes:
            path = node and self._bindings.path(node)
            if node and path in CALLED_ONLY:
                self._add(node, Kind.HANDED, str(path))

    def visit_List(self, node: ast.List | ast.Tuple | ast.Set) -> None:
        self._handed(*node.elts)
        self.generic_visit(node)

    visit_Tuple = visit_Set = visit_List

    def visit_Dict(self, node: ast.Dict) -> None:
        self._handed(*node.values)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return | ast.Yield) -> None:
        self._handed(node.value)
        self.generic_visit(node)

    visit_Yield = visit_Return

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._handed(node.body, *node.args.defaults)
        self.generic_visit(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        for name in (each for each in node.kwd_attrs if is_hidden(each) or each == "__class__"):
            self._add(node, Kind.USED, name)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Visit a comparison. `"google.colab" in sys.modules` is an ordinary question."""
        match node:
            case ast.Compare(left=ast.Constant(), ops=[ast.In() | ast.NotIn()], comparators=[asked]):
                if self._bindings.path(asked) != "sys.modules":
                    self.visit(asked)
            case _:
                self.generic_visit(node)

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
        if isinstance(node.func, ast.Call):
            self._called.add(node.func)
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
        elif path and path.startswith("torch.library.") and node.args:
            self._operator(node, node.args[0])
        if isinstance(node.func, ast.Attribute) and node.func.attr == "__setattr__":
            self._sets_by_name(node)
        if name not in ("getattr", "setattr", "delattr"):
            self._below(node.func) if not isinstance(node.func, ast.Attribute) else self.visit(node.func)
        if any(keyword.arg == "eval_str" for keyword in node.keywords):
            self._add(node, Kind.RUN, ast.unparse(node))
        first = node.args[0] if path == "functools.partial" and node.args else None  # is called like this later
        loaded = self._bindings.path(first) if first else None
        if loaded in LOADS_OBJECTS and self._loads_objects(node, loaded):
            self._add(node, Kind.RUN, str(loaded))
        self._handed(*(each for each in node.args if each is not first), *(each.value for each in node.keywords))
        match node:
            case ast.Call(func=ast.Attribute(attr="run_line_magic" | "run_cell_magic"), args=[magic, *_]):
                self._magic(node, text_of(magic) or "…", node.args[1:])
        # What own functions do with a module is followed there.
        shows = (
            name in (*SHOWING, "setattr", "delattr")
            or name in self._bindings.functions
            or (path or "").startswith(_SHOWING_PATHS)
        )
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            whole = self._bindings.path(each)
            if not (shows and whole and is_ordinary(whole) and is_module(whole)):
                self.visit(each)

    def _magic(self, node: ast.Call, magic: str, arguments: list[ast.expr]) -> None:
        """Record a call of one of IPython's magics that is unusual, or that runs a file that is not read here."""
        said = str(text_of(arguments[0])) if arguments else ""
        path, *_ = [*said.split(), ""]
        if magic in ("run", "load_ext", "reload_ext"):
            if self._writes and path.removesuffix(".py") not in self._bindings.own:
                self._add(node, Kind.RUN, f"%{magic} {path}")
        elif magic == "config" and not said.strip().startswith(("InlineBackend", "IPCompleter", "Completer")):
            self._add(node, Kind.USED, f"%config {path}")
        elif magic not in MAGICS and magic not in self._bindings.functions:
            self._add(node, Kind.USED, f"%{magic}")

    def _operator(self, node: ast.Call, of: ast.expr) -> None:
        """Record a call of `torch.library` that may change one of torch's own operators."""
        named, path = text_of(of), self._bindings.path(of) or ""
        own = isinstance(of, ast.Name) and not path
        if path.startswith("torch.ops") or ((named or "aten").startswith(("aten", "prim")) and not own):
            self._add(node, Kind.ASSIGNED, ast.unparse(node))

    def _attribute_by_name(self, node: ast.Call, how: str) -> None:
        base, name = node.args[0], node.args[1]
        path, text = self._bindings.path(base), text_of(name)
        if how != "getattr":
            whole = path and f"{path}.{text}"
            if (whole and not is_setting(whole)) or is_protected(text or ""):
                self._add(node, Kind.ASSIGNED, ast.unparse(node))
            elif text is None and not whole and not self._is_own_name(base, name):
                self._name_of_attribute(node, name)
        elif text is not None and path and UNKNOWN not in path:
            if not is_ordinary(f"{path}.{text}"):
                self._add(node, Kind.USED, f"{path}.{text}")
        elif text is not None and is_hidden(text):
            self._add(node, Kind.USED, text)
        elif text is None and not (path and is_ordinary(path) and (node in self._called or not is_module(path))):
            self._name_of_attribute(node, name)

    def _is_own_name(self, base: ast.expr, name: ast.expr) -> bool:
        """Return whether an attribute's name is computed for `self`, or is the name of an own function.

        An example is `setattr(Class, function.__name__, function)`.
        """
        if isinstance(base, ast.Name) and base.id == "self":
            return True
        of_function = isinstance(name, ast.Attribute) and name.attr == "__name__"
        return of_function and not any(map(is_protected, self._bindings.functions))

    def _name_of_attribute(self, node: ast.Call, name: ast.expr) -> None:
        """Record a call if the name of an attribute is computed, and could be any."""
        text = text_of(name)
        if text is not None:
            if any(map(is_hidden, text.split("."))):
                self._add(node, Kind.USED, text)
            return
        first = name
        of_module = is_module(self._bindings.path(node.args[0]) or "")  # then no beginning of a name is harmless
        while isinstance(first, ast.BinOp) or (isinstance(first, ast.JoinedStr) and first.values):
            first = first.left if isinstance(first, ast.BinOp) else first.values[0]
        begins = text_of(first) if first is not name else None
        if begins and _PREFIX.match(begins) and not of_module:
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
        return self._writes or self._makes_bytes


def is_protected(name: str) -> bool:
    """Return whether no attribute of this name is assigned in an ordinary notebook."""
    return is_hidden(name) or name == "__code__" or name in measuring_names()


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
