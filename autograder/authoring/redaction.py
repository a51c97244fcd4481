"""Redaction of exercise modules: copies without programs, for graded processes.

A module holds mistakes as programs, and right and wrong programs for a learner's test. A mistake of one exercise may
answer another one, so a submission must not reach any of them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from ..checking.exercise import Exercise
from ..exercises import module_of_source

_Definition = ast.FunctionDef | ast.ClassDef


def read_module(path: Path) -> ModuleSource:
    """Read an exercise module. Parses an unchanged module once. Raises OSError."""
    return _parsed(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=16)
def _parsed(text: str) -> ModuleSource:
    return ModuleSource(text)


def helpers(exercises: Iterable[Exercise]) -> dict[str, Any]:
    """Return the functions and classes that remain in the redacted modules of `exercises`, by name."""
    found: dict[str, Any] = {}
    for file in sorted({inspect.getfile(each.probe) for each in exercises}):
        name = f"redacted.{Path(file).stem}"
        module = module_of_source(name, read_module(Path(file)).redacted(), file)
        found |= {key: value for key, value in vars(module).items() if getattr(value, "__module__", "") == name}
    return {name: value for name, value in found.items() if callable(value)}


class ModuleSource:
    """The text of one exercise module, with its top-level statements by name."""

    def __init__(self, text: str) -> None:
        self._lines, self._body = text.split("\n"), ast.parse(text).body
        self._bound = {name: node for node in self._body for name in _names_bound(node)}

    @cached_property
    def tried(self) -> dict[str, list[str]]:
        """Names used by the cases of each exercise that asks for a test. They name the programs in its `Lineup`."""
        found: dict[str, list[str]] = {}
        for node in self._body:
            if isinstance(node, ast.FunctionDef) and any(True for _ in _calls(node, "Lineup")):
                exercises = [_owner(decorator, "cases") for decorator in node.decorator_list]
                names = sorted(name for name in {*_loaded(node)} if name in self._bound and name not in exercises)
                found |= {exercise: names for exercise in exercises if exercise}
        return found

    def redacted(self) -> str:
        """Return the module with programs as stubs, and without code that only programs use.

        Lines keep their numbers.
        """
        stubs = set(self._programs())
        kept = self._reached([node for node in self._body if _is_root(node)], stubs)
        lines = list(self._lines)
        for node in self._body:
            if node not in kept and _names_bound(node):
                lines[_first_line(node) - 1 : node.end_lineno] = [""] * (_last_line(node) - _first_line(node) + 1)
            elif node in stubs:
                _empty_body(node, lines)
        return "\n".join(lines)

    def extract(self, names: Iterable[str]) -> str:
        """Return the definitions of `names` and everything they use: source that runs without the module."""
        wanted = self._reached([self._bound[name] for name in names], stubs=set())
        parts = []
        for node in self._body:
            if node in wanted:
                first = node.lineno if _is_mistake(node) else _first_line(node)  # skip the decorator
                parts.append("\n".join(self._lines[first - 1 : _last_line(node)]))
        return "\n\n\n".join(parts) + "\n"

    def _programs(self) -> Iterator[ast.stmt]:
        """Yield mistakes, decorated or registered by a call, and the programs in the tables that `tried` names."""
        used = [self._bound[name] for names in self.tried.values() for name in names]
        names = [name for node in used if isinstance(node, (ast.Assign, ast.AnnAssign)) for name in _loaded(node)]
        for node in self._body:
            if _is_mistake(node):
                yield node
            for call in ast.walk(node):  # exercise.mistake(...)(program)
                if isinstance(call, ast.Call) and _owner(call.func, "mistake"):
                    names += [each.id for each in call.args if isinstance(each, ast.Name)]
        found = (self._bound.get(name) for name in names)
        yield from (node for node in found if isinstance(node, _Definition))

    def _reached(self, start: list[ast.stmt], stubs: set[ast.stmt]) -> set[ast.stmt]:
        """Return `start` and the statements that it uses, directly or indirectly.

        A stub uses only the names in its head.
        """
        found, waiting = set(start), list(start)
        while waiting:
            node = waiting.pop()
            parts: list[ast.AST] = _head(node) if node in stubs else [node]
            if not stubs and _is_mistake(node):
                parts = [part for part in ast.iter_child_nodes(node) if part not in _decorators(node)]
            for name in (name for part in parts for name in _loaded(part)):
                used = self._bound.get(name)
                if used is not None and used not in found:
                    found.add(used)
                    waiting.append(used)
        return found


def _names_bound(node: ast.stmt) -> list[str]:
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


def _is_root(node: ast.stmt) -> bool:
    """Return whether a statement is always kept: imports, exercises, cases, and statements that bind no name."""
    if isinstance(node, _Definition):
        registers = (_owner(each, "cases") or _owner(each, "mistake") for each in node.decorator_list)
        return any(registers) or any(_makes_exercise(each) for each in node.decorator_list)
    return not isinstance(node, (ast.Assign, ast.AnnAssign)) or _makes_exercise(node)


def _makes_exercise(node: ast.AST) -> bool:
    return any(True for _ in _calls(node, "exercise"))


def _is_mistake(node: ast.stmt) -> bool:
    return isinstance(node, _Definition) and any(_owner(each, "mistake") for each in node.decorator_list)


def _owner(node: ast.expr, attribute: str) -> str | None:
    """Return the `x` of `x.attribute` or `x.attribute(...)`."""
    node = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.value, ast.Name):
        return node.value.id
    return None


def _calls(node: ast.AST, name: str) -> Iterator[ast.Call]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == name:
            yield each


def _loaded(node: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))


def _head(node: ast.stmt) -> list[ast.AST]:
    """Return the parts of a definition that are evaluated without its body."""
    if isinstance(node, ast.FunctionDef):
        return [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
    return [*node.decorator_list] if isinstance(node, ast.ClassDef) else [node]


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return node.decorator_list if isinstance(node, _Definition) else []


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(each.lineno for each in _decorators(node))])


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _empty_body(node: ast.stmt, lines: list[str]) -> None:
    """Replace the body of a function by `...`, and a whole class with its bases: an inherited method may be right."""
    assert isinstance(node, _Definition)
    line, last = _first_line(node.body[0]) - 1, _last_line(node)
    before = lines[line].encode()[: node.body[0].col_offset].decode()  # ast counts columns in bytes
    before = before if before.strip().endswith(":") else " " * len(before)  # keeps a one-line definition's head
    if isinstance(node, ast.ClassDef):
        line, before = node.lineno - 1, f"class {node.name}: "
    lines[line:last] = [before + "...", *[""] * (last - line - 1)]
