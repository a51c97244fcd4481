"""Names in a notebook's code that stand for other people's objects.

Other people's objects are imported modules, their classes and their functions. An object that they have made, such as
a layer, is the student's own. Scopes are ignored: a name that stands for such an object anywhere does so everywhere.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .ordinary import at_home, is_builtin

UNKNOWN = "?"  # the path of some object of other people
_OWN = frozenset(("self", "cls", "ctx"))
_ROUNDS = 4  # through all assignments: an alias of an alias needs two


@dataclass
class Bindings:
    """The names that code binds.

    `paths` maps names of other people's objects to dotted paths, or to `UNKNOWN`. `attributes` are names of attributes
    that hold such objects. `functions` maps names of own functions to definitions. `literal` are the names that stand
    for constants alone, and `listed` those that stand for the names in `dir(...)` alone. `own` are the names of the
    student's own modules.
    """

    paths: dict[str, str] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = field(default_factory=dict)
    literal: set[str] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)
    own: frozenset[str] = frozenset()
    _computed: set[str] = field(default_factory=set)

    def read(self, nodes: Iterable[ast.AST]) -> None:
        """Add the names that are bound in `nodes`, those of whole trees."""
        binding = [node for node in nodes if isinstance(node, _BINDING)]
        for node in binding:
            self._name(node)
        for _ in range(_ROUNDS):
            before = len(self.paths), len(self.attributes)
            for node in binding:
                self._bind(node)
            if (len(self.paths), len(self.attributes)) == before:
                break
        self.literal -= self._computed | self.listed
        self.listed -= self._computed

    def path(self, node: ast.AST) -> str | None:
        """Return the dotted path of the object of other people that an expression stands for.

        Returns `UNKNOWN` if the path cannot be told, None if the expression stands for anything else.
        """
        match node:
            case ast.Name(id=name):
                return self.paths.get(name)
            case ast.Attribute(value=value, attr="__class__"):
                return None if isinstance(value, ast.Name) and value.id in _OWN else UNKNOWN
            case ast.Attribute(value=value, attr=name):
                base = self.path(value)
                if base is None:
                    return UNKNOWN if name in self.attributes else None
                return UNKNOWN if base == UNKNOWN else at_home(f"{base}.{name}")
            case ast.Subscript(value=value) | ast.Starred(value=value) | ast.Await(value=value):
                return self.path(value) and UNKNOWN
            case ast.NamedExpr(value=value):
                return self.path(value)
            case ast.IfExp(body=first, orelse=second):
                return self.path(first) or self.path(second)
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return UNKNOWN if any(map(self.path, parts)) else None
            case ast.Dict(values=parts):
                return UNKNOWN if any(map(self.path, parts)) else None
            case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.GeneratorExp(elt=part) | ast.DictComp(value=part):
                return self.path(part) and UNKNOWN
            case ast.Call():
                return self._path_of_result(node)
        return None

    def _path_of_result(self, call: ast.Call) -> str | None:
        called, arguments = self.path(call.func), call.args
        if called == "IPython.get_ipython" or (isinstance(call.func, ast.Name) and call.func.id == "get_ipython"):
            return "get_ipython()"
        if called and called.startswith(("sys.modules.", "inspect.")):
            return UNKNOWN if called.startswith("sys") or any(map(self.path, arguments)) else None
        if called == "importlib.import_module":
            return text_of(arguments[0]) if arguments and text_of(arguments[0]) else UNKNOWN
        if not isinstance(call.func, ast.Name):
            return None
        name = call.func.id
        if name == "type" and len(arguments) == 1:
            return None if isinstance(arguments[0], ast.Name) and arguments[0].id in _OWN else UNKNOWN
        if name == "getattr" and len(arguments) > 1 and (base := self.path(arguments[0])):
            attribute = text_of(arguments[1])
            return at_home(f"{base}.{attribute}") if attribute and base != UNKNOWN else UNKNOWN
        if name in self.functions:
            return UNKNOWN if f"{name}()" in self.paths else None
        return UNKNOWN if is_builtin(name) and any(map(self.path, arguments)) else None

    def _name(self, node: ast.AST) -> None:
        """Record an import, a definition, or a name that stands for constants."""
        match node:
            case ast.Import(names=names):
                for each in names:
                    module = each.name if each.asname else each.name.partition(".")[0]
                    self._add(each.asname or module, module)
            case ast.ImportFrom(module=module, names=names):
                for each in names:
                    members = vars(sys.modules[module]) if each.name == "*" and module in sys.modules else [each.name]
                    for name in members:
                        self._add(each.asname or name, f"{module}.{name}")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self.functions[name] = node
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._constants(target, value)
                    if isinstance(value, ast.Lambda) and isinstance(target, ast.Name):
                        self.functions[target.id] = value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._constants(target, value)
            case ast.arg(arg=name):
                self._computed.add(name)

    def _constants(self, target: ast.AST, value: ast.AST) -> None:
        names = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
        of = value.values if isinstance(value, ast.Dict) else [value]
        constant = all(isinstance(each, _LITERAL) for part in of for each in ast.walk(part))
        members = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dir"
        (self.literal if constant else self.listed if members else self._computed).update(names)

    def _add(self, name: str, path: str) -> None:
        if path.partition(".")[0] not in self.own and not path.startswith("None."):  # of the student's own modules
            self.paths.setdefault(name, at_home(path))

    def _bind(self, node: ast.AST) -> None:
        """Record the names to which one statement or call binds other people's objects."""
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=value) if value:
                self._assign(target, value)
            case ast.NamedExpr(target=target, value=value):
                self._assign(target, value)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._mark(target, self.path(value) and UNKNOWN)
            case ast.FunctionDef(args=of) | ast.AsyncFunctionDef(args=of) | ast.Lambda(args=of):
                self._pass(of, (), {})
                if not isinstance(node, ast.Lambda) and any(
                    isinstance(each, ast.Return) and each.value and self.path(each.value) for each in ast.walk(node)
                ):
                    self.paths.setdefault(f"{node.name}()", UNKNOWN)
            case ast.ClassDef(body=body):
                for each in body:
                    if isinstance(each, ast.Assign) and self.path(each.value):
                        self.attributes |= {name.id for name in each.targets if isinstance(name, ast.Name)}
            case ast.withitem(context_expr=ast.Call(args=given), optional_vars=target) if target:
                self._mark(target, UNKNOWN if any(map(self.path, given)) else None)
            case ast.Match(subject=subject) if self.path(subject):
                names = (each.name for each in ast.walk(node) if isinstance(each, (ast.MatchAs, ast.MatchStar)))
                self.paths |= {name: UNKNOWN for name in names if name and name not in self.paths}
            case ast.Call():
                self._call(node)

    def _call(self, call: ast.Call) -> None:
        """Record what a call binds to the parameters of own functions.

        A function that is handed to a call, as in `map(change, [torch.Tensor])`, may get the call's other arguments.
        """
        named = {each.arg: each.value for each in call.keywords if each.arg}
        match call.func:
            case ast.Name(id=name) if name in self.functions:
                self._pass(self.functions[name].args, call.args, named)
            case ast.Attribute(attr=name) if name in self.functions:
                self._pass(self.functions[name].args, [ast.Constant(None), *call.args], named)
            case ast.Lambda(args=to):
                self._pass(to, call.args, named)
        given = [*call.args, *named.values()]
        if any(map(self.path, given)):
            self.attributes |= {name for name, value in named.items() if self.path(value)}
            for each in given:
                own = self.functions.get(each.id) if isinstance(each, ast.Name) else each
                if isinstance(own, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                    to = own.args
                    for place in (*to.posonlyargs, *to.args, *to.kwonlyargs):
                        self.paths.setdefault(place.arg, UNKNOWN)

    def _assign(self, target: ast.AST, value: ast.AST) -> None:
        pairs = [(target, value)]
        sequences = ast.Tuple, ast.List
        if isinstance(target, sequences) and isinstance(value, sequences) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts))
        for each, given in pairs:
            self._mark(each, self.path(given))

    def _mark(self, target: ast.AST, path: str | None) -> None:
        if not path:
            return
        match target:
            case ast.Name(id=name):
                self.paths.setdefault(name, path)
            case ast.Attribute(attr=name):
                self.attributes.add(name)
            case ast.Subscript(value=ast.Name(id=name)):
                self.paths.setdefault(name, UNKNOWN)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._mark(part, UNKNOWN)
            case ast.Starred(value=part):
                self._mark(part, UNKNOWN)

    def _pass(self, to: ast.arguments, arguments: Iterable[ast.AST], named: Mapping[str, ast.AST]) -> None:
        """Bind a call's arguments, and defaults, to the parameters of an own function."""
        places = [*to.posonlyargs, *to.args]
        given = [*zip(places, arguments), *zip(reversed(places), reversed(to.defaults))]
        given += [(place, default) for place, default in zip(to.kwonlyargs, to.kw_defaults) if default]
        given += [(place, named[place.arg]) for place in (*places, *to.kwonlyargs) if place.arg in named]
        for place, value in given:
            if path := self.path(value):
                self.paths.setdefault(place.arg, path)
        for rest in (to.vararg, to.kwarg):
            if rest and any(map(self.path, (*arguments, *named.values()))):
                self.paths.setdefault(rest.arg, UNKNOWN)


_BINDING = (
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
    ast.NamedExpr,
    ast.For,
    ast.comprehension,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.withitem,
    ast.Match,
    ast.Call,
    ast.arg,
)
_LITERAL = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.expr_context)


def text_of(node: ast.AST) -> str | None:
    """Return the text of a constant, or None if the expression is no constant text."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
