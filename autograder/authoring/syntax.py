"""Questions about statements of exercise modules, such as which names they bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Definition = ast.FunctionDef | ast.ClassDef


def names_bound(node: ast.stmt) -> list[str]:
    """Return the names that a top-level statement defines, imports or assigns."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign():
            names = [name for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            return [name.id for name in names if isinstance(name.ctx, ast.Store)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Import() | ast.ImportFrom():
            return [(each.asname or each.name).partition(".")[0] for each in node.names]
    return []


def names_loaded(node: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))


def is_public(node: ast.stmt) -> bool:
    """Return whether a statement remains in a redacted exercise module.

    Imports, exercises, their cases, the list of exercises, and statements that bind no name remain. Mistakes remain,
    too, but their bodies are emptied. Wrong entries of tables do not remain.
    """
    if isinstance(node, Definition):
        registers = (owner(each, "cases") or owner(each, "mistake") for each in node.decorator_list)
        return any(registers) or any(_makes_exercise(each) for each in node.decorator_list)
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return names_bound(node) == ["EXERCISES"] or _makes_exercise(node)
    return not is_wrong_entry(node)


def is_wrong_entry(node: ast.stmt) -> bool:
    """Return whether a statement registers wrong entries of a table, as `exercise.wrong(...)`."""
    return not isinstance(node, Definition) and any(owner(call, "wrong") for call in calls(node))


def is_mistake(node: ast.stmt) -> bool:
    """Return whether a statement is a function or class with the decorator `exercise.mistake(...)`."""
    return isinstance(node, Definition) and any(owner(each, "mistake") for each in node.decorator_list)


def owner(node: ast.expr, attribute: str) -> str | None:
    """Return the name `x` if the expression is `x.attribute` or a call `x.attribute(...)`, else None."""
    node = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.value, ast.Name):
        return node.value.id
    return None


def calls(node: ast.AST, name: str | None = None) -> Iterator[ast.Call]:
    """Yield the calls inside `node`. If `name` is not None, yield only calls of the function `name`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and (name is None or (isinstance(each.func, ast.Name) and each.func.id == name)):
            yield each


def head(node: ast.stmt) -> list[ast.AST]:
    """Return the parts of a definition that run when it is defined, such as decorators and default values."""
    if isinstance(node, ast.FunctionDef):
        return [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
    return [*node.decorator_list] if isinstance(node, ast.ClassDef) else [node]


def without_decorators(node: ast.stmt) -> list[ast.AST]:
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return [part for part in ast.iter_child_nodes(node) if part not in decorators]


def first_line(node: ast.stmt) -> int:
    """Return the number of a statement's first line, which may be a decorator's."""
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return min([node.lineno, *(each.lineno for each in decorators)])


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _makes_exercise(node: ast.AST) -> bool:
    return any(True for _ in calls(node, "exercise"))
