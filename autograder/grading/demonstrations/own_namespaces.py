"""Calls of `exec` and `eval` with a dict of their own.

An example is `exec(code, {"x": x})`. The code binds names in that dict alone, and reads no other names.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from .node_bindings import bound_by

RUNS = frozenset(("exec", "eval"))
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def own_namespaces(tree: ast.AST) -> tuple[set[str], set[str]]:
    """Return those of "exec" and "eval" that code uses for such calls alone, and the names that the dicts hold.

    The dict must be displayed in the call, or be the only value of a local variable.
    """
    wild = {id(node): node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in RUNS}
    used, held = {*wild.values()}, set[str]()
    for scope in ast.walk(tree):
        if isinstance(scope, (ast.Module, _Function)):
            local = _local_dicts(scope) if isinstance(scope, _Function) else {}
            for node in chain.from_iterable(map(_of_scope, scope.body)):
                match node:
                    case ast.Call(func=ast.Name() as called, args=[_, given], keywords=[]) if id(called) in wild:
                        names = local.get(given.id) if isinstance(given, ast.Name) else given
                        if isinstance(names, ast.Dict):
                            del wild[id(called)]
                            held |= {each.id for each in names.values if isinstance(each, ast.Name)}
    return used - {*wild.values()}, held


def _of_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and its parts that are not inside of another function or class."""
    yield node
    if not isinstance(node, (_Function, ast.Lambda, ast.ClassDef)):
        for each in ast.iter_child_nodes(node):
            yield from _of_scope(each)


def _local_dicts(function: _Function) -> dict[str, ast.Dict]:
    """Return the variables of a function that are bound once, to a displayed dict."""
    dicts: dict[str, ast.Dict] = {}
    bound = Counter[str]()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as value):
                dicts[name] = value
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound[name] += 1
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                bound.update([*names, *names])
        bound.update(bound_by(node))
    return {name: value for name, value in dicts.items() if bound[name] == 1}
