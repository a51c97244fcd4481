"""A lesson in the old form: mistakes registered by its modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import exercises
from ..checking.exercise import Exercise
from ..language import Text
from .untyped import without_types

Place = tuple[str, int]  # a statement: the name of its module, and its index there


@dataclass
class Registered:
    """The mistakes of one exercise, as its module registers them.

    `mistakes` maps a mistake's name to a pair: its program, or the wrong entries of a table; and its sentence. `asks`
    and `asks_for` are the exercise's.
    """

    asks: str
    asks_for: str
    mistakes: dict[str, tuple[Any, Text]] = field(default_factory=dict)


def load(package: Path) -> dict[str, Registered]:
    """Import a lesson's modules, and return a dict from exercise name to the mistakes that they register."""
    found: dict[str, Registered] = {}

    @dataclass(frozen=True)
    class Said:
        says: Text

    def add(exercise: Any, name: str, program: Any, says: Text) -> None:
        found.setdefault(exercise.name, Registered(exercise.asks, exercise.asks_for)).mistakes[name] = program, says
        vars(exercise).setdefault("mistakes", {})[name] = Said(says)

    def mistake(self: Any, en: str, ru: str) -> Callable[[Any], Any]:
        def register(program: Any) -> Any:
            add(self, program.__name__, program, Text(en, ru))
            return program

        return register

    def wrong(self: Any, name: str, entries: Any, en: str, ru: str) -> None:
        add(self, name, entries, Text(en, ru))

    Exercise.mistake, Exercise.wrong = mistake, wrong  # type: ignore[attr-defined]
    try:
        exercises.modules_in(package)
    finally:
        del Exercise.mistake, Exercise.wrong  # type: ignore[attr-defined]
    return found


class Statements:
    """The modules of a lesson, as statements that use one another."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.lines = {name: text.split("\n") for name, text in texts.items()}
        self.bodies = {name: ast.parse(text).body for name, text in texts.items()}
        self.bound = {
            (name, each): (name, index)
            for name, body in self.bodies.items()
            for index, node in enumerate(body)
            for each in names_bound(node)
        }

    def node(self, place: Place) -> ast.stmt:
        return self.bodies[place[0]][place[1]]

    def find(self, module: str, name: str) -> Place | None:
        """Return the statement that defines `name` as seen in `module`, or None for a name of another package."""
        place = self.bound.get((module, name))
        if place and isinstance(node := self.node(place), ast.ImportFrom) and node.level:
            (original,) = (each.name for each in node.names if (each.asname or each.name) == name)
            return self.find(node.module or "", original)
        return place

    def names(self, place: Place, typed: bool = False) -> set[str]:
        """Return the names that a statement loads, outside registrations.

        Annotations count if `typed` is True.
        """
        node = self.node(place)
        if typed or not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AnnAssign):
            return {*names_loaded(_without_registration(node))}
        return {*names_loaded(ast.parse(without_types(self.source(place))))}

    def used(self, place: Place, typed: bool = False) -> set[Place]:
        """Return the statements that define the names which a statement loads."""
        found = {self.find(place[0], name) for name in self.names(place, typed)} - {place, None}
        return {each for each in found if each}

    def reached(self, start: Iterable[Place], typed: bool = False) -> set[Place]:
        found, waiting = set(start), list(start)
        while waiting:
            new = self.used(waiting.pop(), typed) - found
            found |= new
            waiting += new
        return found

    def source(self, place: Place) -> str:
        """Return the text of a statement without the decorator that registers it as a mistake."""
        node = self.node(place)
        first = node.lineno if registers(node) else first_line(node)
        return "\n".join(self.lines[place[0]][first - 1 : node.end_lineno])


def names_bound(node: ast.stmt) -> list[str]:
    """Return the names that a top-level statement defines, imports or assigns."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign():
            names = [each for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            return [each.id for each in names if isinstance(each.ctx, ast.Store)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Import() | ast.ImportFrom():
            return [(each.asname or each.name).partition(".")[0] for each in node.names]
    return []


def names_loaded(node: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))


def annotations_of(node: ast.stmt) -> str:
    """Return the short strings in a statement, joined by spaces: each may be an annotation in quotes."""
    found = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return " ".join(each for each in found if re.fullmatch(r"[\w\[\], .|]{1,60}", each))


def registers(node: ast.stmt) -> bool:
    """Return whether a statement registers a mistake: by a decorator, a call, or a loop of calls."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return any(_is_call_of(each, "mistake") for each in node.decorator_list)
    if isinstance(node, ast.Expr | ast.For):
        return any(_is_call_of(each, "mistake", "wrong") for each in ast.walk(node))
    return False


def _is_call_of(node: ast.AST, *methods: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods


def _without_registration(node: ast.stmt) -> ast.AST:
    """Return a statement without its decorators, or of a call of `wrong` only the entries.

    Any other statement is returned unchanged.
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and registers(node):
        return ast.Module([each for each in ast.iter_child_nodes(node) if each not in node.decorator_list], [])  # type: ignore[misc]
    return node.value.args[1] if isinstance(node, ast.Expr) and _is_call_of(node.value, "wrong") else node  # type: ignore[attr-defined]


def first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return min([node.lineno, *(each.lineno for each in decorators)])
