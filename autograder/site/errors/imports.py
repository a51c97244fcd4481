"""Imports of the programs of the table."""

from __future__ import annotations

import ast

from ...explained.entry import PREAMBLE


def with_imports(program: str) -> str:
    """Return a program of the table below those imports of `PREAMBLE` that it needs."""
    used = {node.id for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Name)}
    needed = []
    for line in ast.parse(PREAMBLE).body:
        if isinstance(line, (ast.Import, ast.ImportFrom)):
            line.names = [each for each in line.names if (each.asname or each.name) in used]
            needed += [ast.unparse(line)] if line.names else []
    return "\n".join([*needed, "", program] if needed else [program])
