"""Ids of sentences: each one that code can ask for has a sentence."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import autograder
from autograder.messages import drawing, feedback, plots, reasons, report, site
from autograder.messages.learners import MESSAGES

PACKAGE = Path(autograder.__file__).parent
DOTTED = {*MESSAGES, *drawing.WORDS, *plots.WORDS}
NAMESPACES = {id.partition(".")[0] for id in DOTTED if "." in id} - {"torch"}
TABLES = {f"messages/{name}.py" for name in ("cards", "drawing", "plots")}
NO_ID = re.compile(r".*\.(csv|jsonl|html\.j2)")  # files
PLAIN = {id for words in (report.WORDS, site.WORDS, feedback.WORDS, drawing.WORDS, plots.WORDS) for id in words}


@cache
def modules() -> dict[str, ast.Module]:
    """Return the parsed modules of the package by path, without wrong answers and other files of cells."""
    cells = {"mistakes", "programs", "variants", "cures"}
    paths = [path for path in PACKAGE.rglob("*.py") if not cells & {*path.parts}]
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def texts(module: ast.Module) -> Iterator[tuple[int, list[str]]]:
    """Yield line and parts of each string. Between two parts stands a value, as in an f-string."""
    inside: set[int] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            whole = "".join(str(p.value) if isinstance(p, ast.Constant) else "\0" for p in node.values)
            yield node.lineno, whole.split("\0")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, [node.value]


def asked() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the place of each string with the form of a dotted id, and a pattern of the ids that it can become."""
    for path, module in modules().items():
        for line, parts in texts(module) if path not in TABLES else ():
            looks = re.fullmatch(rf"({'|'.join(NAMESPACES)})\.[\w .]*", "".join(parts))
            if looks and not NO_ID.fullmatch(parts[-1]):
                open_end = ".+" if parts[-1].endswith(".") else ""  # of `startswith`, or completed elsewhere
                yield f"{path}:{line}", re.compile(".+".join(map(re.escape, parts)) + open_end)


def test_every_id_in_the_code_has_a_sentence() -> None:
    found = list(asked())
    assert len(found) > 400
    assert [(place, p.pattern) for place, p in found if not any(map(p.fullmatch, DOTTED))] == []


def test_every_sentence_is_asked_for() -> None:
    patterns = [pattern for _, pattern in asked()]
    ids = [id for id in DOTTED if "." in id and id.partition(".")[0] in NAMESPACES]
    assert [id for id in ids if not any(pattern.fullmatch(id) for pattern in patterns)] == []


def test_every_reason_and_word_in_the_code_has_a_sentence() -> None:
    lacking, count = [], 0
    for path, module in modules().items():
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                key, known = node.args[0], {"make_reason": reasons.REASONS}.get(node.func.id)
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value).split(".")[-1] in ("words", "WORDS"):
                key, known = node.slice, PLAIN
            else:
                continue
            if known is not None and isinstance(key, ast.Constant) and isinstance(key.value, str):
                count += 1
                lacking += [f"{path}:{node.lineno} {key.value}"] if key.value not in known else []
    assert count > 60
    assert lacking == []
