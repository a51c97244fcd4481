"""Source code without annotations."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping


def without_types(source: str, rename: Mapping[str, str] | None = None) -> str:
    """Return source code without annotations and `# type:` comments, and with some names replaced.

    `rename` maps names to new names. Everything else, comments included, stays as it is.
    """
    lines = [line.encode() for line in re.sub(r"[ \t]*# type: ignore\S*(?: .*)?$", "", source, flags=re.M).split("\n")]
    tree = ast.parse(b"\n".join(lines))
    for (first, start), (last, end), new in sorted(
        _edits(tree, b"\n".join(lines).decode(), rename or {}), reverse=True
    ):
        before, after = lines[first - 1][:start], lines[last - 1][end:]
        lines[first - 1 : last] = (before + new.encode() + after).split(b"\n")
    return b"\n".join(lines).decode()


Position = tuple[int, int]  # line from 1, column in bytes


def _edits(tree: ast.AST, source: str, rename: Mapping[str, str]) -> Iterator[tuple[Position, Position, str]]:
    """Yield start, end and new text of each part to replace. No two parts overlap."""
    heads = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
            start = node.lineno, node.col_offset
            heads.append((start, _end_of_head(source, node)))
            yield *heads[-1], f"def {rename.get(node.name, node.name)}({_renamed(node.args, rename)}):"
        elif isinstance(node, ast.ClassDef) and node.name in rename:
            column = node.col_offset + len("class ")
            yield (node.lineno, column), (node.lineno, column + len(node.name.encode())), rename[node.name]
        elif isinstance(node, ast.AnnAssign):
            target = node.target.end_lineno or 0, node.target.end_col_offset or 0
            end = node.annotation.end_lineno or 0, node.annotation.end_col_offset or 0
            if node.value is not None:
                yield target, end, ""
            else:
                yield (node.lineno, node.col_offset), end, "pass"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in rename:
            start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
            if not any(head <= start and end <= last for head, last in heads):
                yield start, end, rename[node.id]


def _renamed(arguments: ast.arguments, rename: Mapping[str, str]) -> str:
    for node in ast.walk(arguments):
        if isinstance(node, ast.Name):
            node.id = rename.get(node.id, node.id)
    return ast.unparse(arguments)


def _end_of_head(source: str, function: ast.FunctionDef) -> Position:
    """Return the position after the colon that ends a function's head."""
    lines, depth = source.split("\n"), 0
    text = "\n".join(lines[function.lineno - 1 :])
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row = function.lineno + token.start[0] - 1
        column = len(lines[row - 1][: token.end[1]].encode()) if row <= len(lines) else 0
        if (row, column) <= (function.lineno, function.col_offset):
            continue
        depth += token.string in ("(", "[", "{")
        depth -= token.string in (")", "]", "}")
        if token.string == ":" and depth == 0 and token.type == tokenize.OP:
            return row, column
    raise ValueError(f"no colon ends the head of {function.name}")
