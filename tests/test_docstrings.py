"""Style of docstrings: no relative clause as an opening, short first lines."""

import ast
import re
from collections.abc import Iterator

import pytest

from autograder.lessons.source import REPOSITORY

FOLDERS = REPOSITORY / "autograder", REPOSITORY / "notebooks/lessons"
LONGEST = 12  # words in the first line of a module's or class's docstring
OPENING = re.compile(r"(What|Where|How|Whether|By|Of)\b")

FILES = sorted(path.relative_to(REPOSITORY).as_posix() for folder in FOLDERS for path in folder.rglob("*.py"))


def docstrings(source: str) -> Iterator[tuple[ast.AST, int, str]]:
    """Yield owner, line number and first line of each docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield node, node.body[0].lineno, text.splitlines()[0].strip()


def complaints(file: str, source: str) -> list[str]:
    """Return a complaint with file and line for each docstring that breaks a rule."""
    found = []
    for node, line, first in docstrings(source):
        opening, words = OPENING.match(first), len(first.split())
        if opening:
            found.append(f"{file}:{line}: a docstring must not begin with {opening[0]!r}: {first}")
        if isinstance(node, (ast.Module, ast.ClassDef)) and words > LONGEST:
            found.append(f"{file}:{line}: {words} words in the first line, at most {LONGEST}: {first}")
    return found


def test_docstrings_follow_the_style():
    found = [each for file in FILES for each in complaints(file, (REPOSITORY / file).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""What a module holds."""', ["a.py:1: a docstring must not begin with 'What'"]),
        ('x = 1\ndef f():\n    """How to do it."""', ["a.py:3: a docstring must not begin with 'How'"]),
        (f'class A:\n    """{"word " * 15}."""', ["a.py:2: 16 words"]),
        (f'def f():\n    """{"word " * 15}."""', []),
        ('def f():\n    """Bytes of `x`."""\n\nclass A:\n    """Offsets."""', []),
    ],
)
def test_complaints_name_file_and_line(source, expected):
    found = complaints("a.py", source)
    assert len(found) == len(expected)
    assert all(each.startswith(start) for each, start in zip(found, expected))
