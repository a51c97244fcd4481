"""Redacted copies of exercise modules, for processes that run student code.

An exercise module contains mistakes, and right and wrong programs for a learner's test. Some of these programs would be
right answers to another exercise. A redacted copy has `...` in place of the bodies of these programs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from ..checking.exercise import Exercise
from ..exercises import mistakes_of, module_files, modules_of, path_of
from .syntax import (
    Definition,
    calls,
    first_line,
    head,
    is_mistake,
    is_public,
    last_line,
    names_bound,
    names_loaded,
    owner,
    without_decorators,
)


def read_lesson(path: Path) -> LessonSource:
    """Return the source of a lesson's package or module. Text that was read before is not parsed again.

    Raises OSError if a file cannot be read.
    """
    return _parsed(tuple((name, file.read_text(encoding="utf-8")) for name, file in module_files(path).items()))


@lru_cache(maxsize=16)
def _parsed(texts: tuple[tuple[str, str], ...]) -> LessonSource:
    return LessonSource(dict(texts))


def helpers(exercises: Iterable[Exercise]) -> dict[str, Any]:
    """Return a dict from name to function or class that remains in redacted copies of the exercises' modules."""
    found: dict[str, Any] = {}
    for path in sorted({path_of(each) for each in exercises}):
        for module in modules_of(f"redacted_exercises.{path.stem}", read_lesson(path).redacted()).values():
            own = {
                key: value for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
            }
            found |= {name: value for name, value in own.items() if callable(value)}
    return found


class _Module:
    """The text of one module, and its parsed statements.

    `bound` is a dict from a name to the statement that defines the name.
    """

    def __init__(self, text: str) -> None:
        self.lines, self.body = text.split("\n"), ast.parse(text).body
        self.bound = {name: node for node in self.body for name in names_bound(node)}


class LessonSource:
    """The source of all modules of a lesson's exercises, parsed."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Parse the texts of modules, given by module name as `exercises.module_files` does.

        Raises SyntaxError if a text is not valid Python.
        """
        self._modules = {name: _Module(text) for name, text in texts.items()}
        self._home = {node: module for module in self._modules.values() for node in module.body}

    @cached_property
    def tried(self) -> dict[str, list[str]]:
        """A dict from exercise name to the names of the programs that a learner's test must accept or reject.

        Only exercises whose cases contain a `Lineup` of programs are in the dict.
        """
        found: dict[str, list[str]] = {}
        for node, module in self._home.items():
            if isinstance(node, ast.FunctionDef) and any(True for _ in calls(node, "Lineup")):
                exercises = [owner(decorator, "cases") for decorator in node.decorator_list]
                names = sorted(name for name in {*names_loaded(node)} if name in module.bound and name not in exercises)
                found |= {exercise: names for exercise in exercises if exercise}
        return found

    def redacted(self) -> dict[str, str]:
        """Return a dict from module name to the module's redacted text.

        Bodies of programs are `...`, and code that only programs use is removed. Lines keep their numbers. In the dict,
        a module follows the modules that it imports from.
        """
        stubs = set(self._programs())
        kept = self._reached([node for node in self._home if is_public(node)], stubs)
        return {name: self._redacted(module, kept, stubs) for name, module in self._in_import_order()}

    def extract(self, exercise: str, names: Sequence[str]) -> str:
        """Return source code that defines `names` of an exercise's modules and everything that they use.

        The code runs without the rest of the lesson.
        """
        own = [self._module_of(exercise), *filter(None, [self._modules.get(mistakes_of(exercise))])]
        wanted = self._reached([node for each in own for node in self._definitions(each, names)], stubs=set())
        parts = []
        for _, module in self._in_import_order():
            for node in module.body:
                if node in wanted:
                    first = node.lineno if is_mistake(node) else first_line(node)  # skip the decorator
                    parts.append("\n".join(module.lines[first - 1 : last_line(node)]))
        return "\n\n\n".join(parts) + "\n"

    def _redacted(self, module: _Module, kept: set[ast.stmt], stubs: set[ast.stmt]) -> str:
        lines = list(module.lines)
        for node in module.body:
            if isinstance(node, ast.ImportFrom) and node.level:
                names = [each for each in node.names if self._definition(module, each.asname or each.name) in kept]
                _replace(node, lines, ast.unparse(ast.ImportFrom(node.module, names, node.level)) if names else "")
            elif node not in kept and (names_bound(node) or not is_public(node)):
                _replace(node, lines, "")
            elif node in stubs:
                _empty_body(node, lines)
        return "\n".join(lines)

    def _programs(self) -> Iterator[ast.stmt]:
        """Yield the statements that define mistakes, and the statements that define the programs for a learner's test.

        A mistake is registered by a decorator or by a call.
        """
        for node, module in self._home.items():
            if is_mistake(node):
                yield node
            for call in calls(node):  # exercise.mistake(...)(program)
                if owner(call.func, "mistake"):
                    names = [each.id for each in call.args if isinstance(each, ast.Name)]
                    yield from filter(_is_definition, self._definitions(module, names))
        for exercise, names in self.tried.items():
            for node in self._definitions(self._module_of(exercise), names):
                if isinstance(node, (ast.Assign, ast.AnnAssign)):
                    yield from filter(_is_definition, self._definitions(self._home[node], names_loaded(node)))

    def _module_of(self, exercise: str) -> _Module:
        return self._modules[exercise if exercise in self._modules else ""]

    def _definition(self, module: _Module, name: str) -> ast.stmt | None:
        """Return the statement that defines `name` as seen in `module`.

        The statement is in another module if `name` was imported.
        """
        node = module.bound.get(name)
        if isinstance(node, ast.ImportFrom) and node.level:
            (original,) = (each.name for each in node.names if (each.asname or each.name) == name)
            return self._definition(self._modules[node.module or ""], original)
        return node

    def _definitions(self, module: _Module, names: Iterable[str]) -> Iterator[ast.stmt]:
        found = (self._definition(module, name) for name in names)
        return (node for node in found if node is not None)

    def _reached(self, start: list[ast.stmt], stubs: set[ast.stmt]) -> set[ast.stmt]:
        """Return the statements in `start` and all statements that they use, directly or indirectly.

        A statement in `stubs` loses its body, and only names outside the body count as used.
        """
        found, waiting = set(start), list(start)
        while waiting:
            node = waiting.pop()
            parts: list[ast.AST] = head(node) if node in stubs else [node]
            if not stubs and is_mistake(node):
                parts = without_decorators(node)
            names = (name for part in parts for name in names_loaded(part))
            for used in self._definitions(self._home[node], names):
                if used not in found:
                    found.add(used)
                    waiting.append(used)
        return found

    def _in_import_order(self) -> Iterator[tuple[str, _Module]]:
        """Yield name and module, each module after the modules that it imports from."""
        done: dict[str, None] = {}

        def visit(name: str) -> None:
            if name not in done and name in self._modules:
                for node in self._modules[name].body:
                    if isinstance(node, ast.ImportFrom) and node.level:
                        visit(node.module or "")
                done[name] = None

        for name in self._modules:
            visit(name)
        return ((name, self._modules[name]) for name in done)


def _is_definition(node: ast.stmt) -> bool:
    return isinstance(node, Definition)


def _replace(node: ast.stmt, lines: list[str], text: str) -> None:
    """Replace a statement in `lines` by the line `text`, followed by empty lines. Line numbers below do not change."""
    first, last = first_line(node), last_line(node)
    lines[first - 1 : last] = [text, *[""] * (last - first)]


def _empty_body(node: ast.stmt, lines: list[str]) -> None:
    """Replace the body of a function in `lines` by `...`.

    If `node` is a class, its base classes are removed, too, because an inherited method may be a right answer.
    """
    assert isinstance(node, Definition)
    line, last = first_line(node.body[0]) - 1, last_line(node)
    before = lines[line].encode()[: node.body[0].col_offset].decode()  # ast counts columns in bytes
    before = before if before.strip().endswith(":") else " " * len(before)  # keeps a one-line definition's head
    if isinstance(node, ast.ClassDef):
        line, before = node.lineno - 1, f"class {node.name}: "
    lines[line:last] = [before + "...", *[""] * (last - line - 1)]
