"""No regular expression that reads a text of somebody else's backtracks without end."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import autograder
from support.backtracking import Growth, growth

ROOT = Path(autograder.__file__).parent
METHODS = {"search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
ANCHORED = {"match", "fullmatch"}
# Modules that read files of authors, or are programs.
OF_AUTHORS = {"authoring", "lessons", "mistakes", "programs", "cures", "site", "__main__", "namespace_trial"}

# Modules in which a pattern may take steps with the square of its text, and why the text is short.
SHORT = {
    "checking.devices.device_run": "an error's text, in the process of the answer",
    "exercises": "the names of nodes, or torch's error",
    "grading.lms": "a cell of a table, or a path",
    "grading.plugin.safe_html: _PLAIN": "20,000 characters of a cell",
    "grading.report.plots": "our own drawing",
    "grading.returning.feedback_archives": "our own page, in which nobody else can write a title",
    "grading.sandbox.child.audit_hook": "the name of a function",
    "grading.tables": "a name or a time in a table",
    "messages.torch_errors": "the first 2,000 characters of an error",
    "pictures": "our own drawing",
}


@pytest.mark.parametrize(
    ("pattern", "anchored", "expected"),
    [
        (r"(a+)+b", True, Growth.EXPONENTIAL),
        (r"(\w+\s?)*:", True, Growth.EXPONENTIAL),
        (r"(ab|\wb)*c", True, Growth.EXPONENTIAL),
        (r"a*a*b", True, Growth.SQUARE),
        (r"a+b", True, Growth.LINEAR),
        (r"a+b", False, Growth.SQUARE),
        (r"\d+", False, Growth.LINEAR),
        (r"\s+$", False, Growth.SQUARE),
        (r"(?m)^[\s#>*_]*x", False, Growth.SQUARE),
        (r"(?m)^(?:[^\S\n]|[#>*_])*x", False, Growth.LINEAR),
        (r"\[([^\]]+)\]\(", False, Growth.SQUARE),
        (r"\[([^\[\]]+)\]\(", False, Growth.LINEAR),
    ],
)
def test_the_analysis_tells_known_expressions_apart(pattern: str, anchored: bool, expected: Growth) -> None:
    assert growth(re.compile(pattern), anchored=anchored) is expected


def test_no_expression_takes_exponential_time_nor_the_square_of_a_long_text() -> None:
    found = {where: growth(pattern, anchored=anchored) for where, pattern, anchored in _patterns()}
    assert len(found) > 300
    assert not {where for where, grows in found.items() if grows is Growth.EXPONENTIAL}
    square = {where for where, grows in found.items() if grows is Growth.SQUARE}
    assert not {where for where in square if not where.startswith(tuple(SHORT))}
    assert not {module for module in SHORT if not any(where.startswith(module) for where in square)}


def _patterns() -> Iterator[tuple[str, re.Pattern[Any], bool]]:
    """Yield each pattern of the package once: where it is, the pattern, and whether it only matches from the start."""
    seen: set[tuple[object, int, bool]] = set()
    for file in sorted(ROOT.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        if OF_AUTHORS & set(parts):
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        module = importlib.import_module(".".join(["autograder", *parts]).removesuffix(".__init__"))
        named, calls = _uses(tree)
        places = [(name, each, named.get(name, METHODS) <= ANCHORED) for name, each in _own(tree, module)]
        places += [(f"line {line}", pattern, method in ANCHORED) for line, pattern, method in calls]
        for name, pattern, anchored in places:
            if (key := (pattern.pattern, pattern.flags, anchored)) not in seen:
                seen.add(key)
                yield f"{'.'.join(parts)}: {name}: {pattern.pattern!r}", pattern, anchored


def _uses(tree: ast.Module) -> tuple[dict[str, set[str]], list[tuple[int, re.Pattern[Any], str]]]:
    """Return the methods that are called on each name, and line, pattern and method of calls such as `re.search`."""
    named: dict[str, set[str]] = {}
    calls = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[ast.Constant(value=text), *_]
            ):
                if method in METHODS:
                    flags = [getattr(re, each.attr) for each in ast.walk(node) if _is_flag(each)]
                    calls.append((node.lineno, re.compile(text, sum(flags)), method))
            case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method) if method in METHODS:
                named.setdefault(name, set()).add(method)
    return named, calls


def _is_flag(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr.isupper() and ast.unparse(node.value) == "re"


def _own(tree: ast.Module, module: Any) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns in the variables that a module binds itself, with the names of the variables."""
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name):
                yield from ((target.id, pattern) for pattern in _inside(getattr(module, target.id, None)))


def _inside(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3:
        items = [*value, *value.values()] if isinstance(value, dict) else value
        if type(value).__module__.startswith("autograder") and not isinstance(value, type):
            items = getattr(value, "__dict__", {}).values()
        if isinstance(items, (tuple, list, set, frozenset, type({}.values()))):
            for item in items:
                yield from _inside(item, depth + 1)
