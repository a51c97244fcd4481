"""Global names that a cell reads and binds, from its source alone."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from ..conspicuous.ordinary import words

# Names by which code can reach any other name.
_DYNAMIC = words(
    "__builtin__ __builtins__ __import__ __name__ In Out compile delattr dir eval exec get_ipython globals locals "
    "setattr vars"
)
_WITH_OWN_DICT = frozenset(("exec", "eval", "vars"))  # in released cells
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class CellNames:
    """The global names of one cell.

    `early` are read when the cell runs, before the cell itself has bound them. `late` are used inside functions, at a
    time that is unknown. `always` are bound in any case, `perhaps` in some. `fixed` are those of the bound names that
    stand for modules, functions and classes, and `imported` maps imported names to what they stand for. `changed` are
    names of objects that get attributes or entries, or a second name. `dynamic` tells whether the cell may use other
    names, too.
    """

    early: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    always: set[str] = field(default_factory=set)
    perhaps: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    dynamic: bool = False

    @property
    def bound(self) -> set[str]:
        return self.always | self.perhaps

    @classmethod
    def of(cls, source: str, is_released: bool = False) -> CellNames:
        """Return the names of a cell, all dynamic if its source cannot be read as plain Python.

        A released cell uses some functions only with a dict or an object of its own, as in `exec(code, {"x": x})`. The
        code binds nothing else, and may change what the dict holds.
        """
        try:
            tree = ast.parse(source)
            tables = symtable.symtable(source, "<cell>", "exec").get_children()
        except (RecursionError, MemoryError, SyntaxError, ValueError):
            return cls(dynamic=True)
        names = cls()
        while tables:
            table = tables.pop()
            tables += table.get_children()
            for symbol in table.get_symbols():
                if symbol.is_global():
                    names.late.add(symbol.get_name())
                    names.perhaps |= {symbol.get_name()} if symbol.is_assigned() else set()
        names._run(tree.body, names.always)
        names.changed = _changed(tree)
        read = names.early | names.late
        if is_released and read & _WITH_OWN_DICT:
            names.changed |= read
            read -= _WITH_OWN_DICT
        names.dynamic = any(name in _DYNAMIC or _is_of_history(name) for name in read)
        names.dynamic |= "*" in names.bound or "__main__" in source
        return names

    def _run(self, body: Sequence[ast.stmt], bound: set[str]) -> None:
        """Follow statements in their order. What they bind in any case is added to `bound`."""
        for each in body:
            match each:
                case ast.With(items=items) | ast.AsyncWith(items=items):
                    for item in items:
                        self._read(item, bound)
                    self._run(each.body, bound)
                case ast.For(iter=head) | ast.AsyncFor(iter=head) | ast.While(test=head) | ast.If(test=head):
                    self._read(head, bound)
                    inside = set(bound)
                    if isinstance(each, (ast.For, ast.AsyncFor)):
                        self._read(each.target, inside)
                        self.perhaps |= inside - bound
                    self._run_perhaps(each.body, inside)
                    self._run_perhaps(each.orelse, inside)
                case ast.Try() | ast.TryStar():
                    self._run_perhaps([*each.body, *each.orelse], bound)
                    for handler in each.handlers:
                        name = {handler.name} if handler.name else set()
                        self.perhaps |= name  # unbound at the end
                        self._read(handler.type or ast.Pass(), set(bound))
                        self._run_perhaps(handler.body, bound | name)
                    self._run_perhaps(each.finalbody, bound)
                case ast.Match() | ast.Delete():
                    self._read(each, inside := set(bound))
                    self.perhaps |= inside - bound
                case _:
                    self._read(each, bound)
                    self.fixed |= set(_bound_by(each)) if _is_fixed(each) else set()
                    if isinstance(each, (ast.Import, ast.ImportFrom)):
                        self.imported |= _bound_by(each)

    def _run_perhaps(self, body: Sequence[ast.stmt], bound: Set[str]) -> None:
        inside = set(bound)
        self._run(body, inside)
        self.perhaps |= inside - bound

    def _read(self, node: ast.AST, bound: set[str]) -> None:
        """Record what a statement or expression reads outside of functions. What it binds is added to `bound`."""
        read, new = set[str](), set[str]()
        waiting: list[ast.AST] = [node]
        while waiting:
            each = waiting.pop()
            if isinstance(each, ast.Name):
                read |= {each.id} if not isinstance(each.ctx, ast.Store) else set()
                new |= {each.id} if not isinstance(each.ctx, ast.Load) else set()
            if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):  # `x += 1` reads, too
                read.add(each.target.id)
            new |= set(_bound_by(each))
            waiting += _outside_functions(each)
        self.early |= read - bound
        self.fixed -= new
        self.imported = {name: path for name, path in self.imported.items() if name not in new}
        bound |= new


def _bound_by(node: ast.AST) -> dict[str, str]:
    """Return the names that a node binds itself, other than by assignment.

    The values tell what imported names stand for, such as "torch:nn". They are empty for all others.
    """
    match node:
        case ast.Import(names=names):
            return {
                each.asname or (top := each.name.partition(".")[0]): each.name if each.asname else top for each in names
            }
        case ast.ImportFrom(module=module, names=names, level=level):
            return {each.asname or each.name: f"{'.' * level}{module}:{each.name}" for each in names}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name: ""}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return {name: ""}
        case ast.MatchMapping(rest=str(name)):
            return {name: ""}
    return {}


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that are not in the scope of a function, class or comprehension."""
    match node:
        case ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given) | ast.Lambda(args=given):
            yield from (each for each in (*given.defaults, *given.kw_defaults) if each)
            yield from getattr(node, "decorator_list", [])
        case ast.ClassDef():
            yield from (*node.bases, *node.decorator_list, *(each.value for each in node.keywords))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield node.generators[0].iter
        case _:
            yield from ast.iter_child_nodes(node)


def _is_fixed(node: ast.AST) -> bool:
    """Return whether a statement binds names to what has no state: modules, functions, classes.

    The same of a default, which may be a lambda or a negative number.
    """
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given) | ast.Lambda(args=given):
            defaults = [each for each in (*given.defaults, *given.kw_defaults) if each]
            return all(isinstance(each, (ast.Constant, ast.Name)) or _is_fixed(each) for each in defaults)
        case ast.UnaryOp(operand=ast.Constant()):  # as in `-1`
            return True
        case ast.ClassDef(body=body):
            values = [each.value for each in body if isinstance(each, (ast.Assign, ast.AnnAssign))]
            methods = [each for each in body if isinstance(each, _Function)]
            if not all(map(_is_fixed, methods)) or any(map(_may_set_class, ast.walk(node))):
                return False
            return all(isinstance(each, (ast.Constant, type(None))) for each in values)
    return False


def _may_set_class(node: ast.AST) -> bool:
    """Return whether code in a class may set an attribute of the class, as in `type(self).count += 1`."""
    match node:
        case ast.Attribute(ctx=ast.Store(), value=base):
            return not isinstance(base, ast.Name)
        case ast.Name(id="classmethod"):
            return True
    return False


def _changed(tree: ast.AST) -> set[str]:
    """Return the names of what is set, such as `x` in `x.a = 1`, in `x[0] += 1` and in `y = x`."""
    roots: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(value=ast.Name(id=name)) | ast.NamedExpr(value=ast.Name(id=name)):
                roots.add(name)
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                while isinstance(node, (ast.Attribute, ast.Subscript)):
                    node = node.value
                roots |= {node.id} if isinstance(node, ast.Name) else set()
    return roots


def _is_of_history(name: str) -> bool:
    """Return whether IPython binds a name to inputs or results of cells, such as `_3`, `_i3` or `_ih`."""
    return name.startswith("_") and (
        name.strip("_") == "" or name.lstrip("_i").isdigit() or name in ("_ih", "_oh", "_dh")
    )
