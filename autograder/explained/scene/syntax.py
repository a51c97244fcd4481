"""Small questions about syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache


def last_name(node: ast.AST | None) -> str:
    """Return the last part of a name: "sum" for `torch.sum` and for `x.sum`. It is "" for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def calls(nodes: Iterable[ast.AST], *names: str) -> Iterator[ast.Call]:
    """Yield the calls of functions or methods with one of these names, anywhere in the nodes."""
    for each in walk(nodes):
        if isinstance(each, ast.Call) and last_name(each.func) in names:
            yield each


def attributes(nodes: Iterable[ast.AST], *names: str) -> Iterator[ast.Attribute]:
    """Yield the attributes with one of these names, anywhere in the nodes."""
    for each in walk(nodes):
        if isinstance(each, ast.Attribute) and each.attr in names:
            yield each


def walk(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield from _below(node) if isinstance(node, ast.Module) else ast.walk(node)


@lru_cache(maxsize=60)  # as many as there are parsed cells; many entries of the table ask about the same one
def _below(tree: ast.Module) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return the expression given to a keyword argument, or None."""
    return next((each.value for each in call.keywords if each.arg == name), None)


def is_constant(node: ast.AST | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def mentions(nodes: Iterable[ast.AST], *names: str) -> bool:
    """Return whether one of these names occurs, also as an attribute."""
    return any(last_name(each) in names for each in walk(nodes))
