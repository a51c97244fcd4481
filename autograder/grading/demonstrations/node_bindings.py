"""Names that one statement or pattern binds, other than by assignment."""

from __future__ import annotations

import ast


def bound_by(node: ast.AST) -> set[str]:
    """Return the names that a node binds itself, other than by assignment."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(each.asname or each.name).partition(".")[0] for each in names}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return {name}
        case ast.MatchMapping(rest=str(name)):
            return {name}
    return set()


def imports(statement: ast.stmt) -> dict[str, str]:
    """Return a dict from the names that a statement imports to what they stand for, such as "torch:nn"."""
    match statement:
        case ast.Import(names=names):
            return {
                each.asname or each.name.partition(".")[0]: each.name if each.asname else each.name.partition(".")[0]
                for each in names
            }
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return {each.asname or each.name: f"{module}:{each.name}" for each in names}
    return {}
