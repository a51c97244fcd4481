"""The code of a lesson that one of its exercises relies on."""

from __future__ import annotations

import ast
import re
import symtable
import sys
from collections.abc import Iterator, Sequence

_BASE = {*sys.stdlib_module_names, "autograder", "numpy", "torch"}


def needed_code(sources: Sequence[str], text: str, stub: str) -> list[str]:
    """Return the imports of a lesson, and what an answer relies on, as far as the cells `sources` define it.

    These are the functions and classes that the exercise's `text` or `stub` names, all that they use themselves, and
    constants.
    """
    named, used = (
        {name for code in re.findall(r"`([^`]+)`", text) for name in re.findall(r"\w+", code)},
        used_names(stub),
    )
    imports, definitions = list[str](), list[str]()
    for source, statement in reversed([*_statements(sources)]):
        above = min(each.lineno for each in [statement, *getattr(statement, "decorator_list", [])])
        code = "\n".join(source.splitlines()[above - 1 : statement.end_lineno])
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            imports += [code] if _is_for_answers(statement) else []
        elif _defines(statement) & (named | used) or assigned_names(statement) & used or _is_constant(statement):
            named -= _defines(statement)
            used = used - _defines(statement) - assigned_names(statement) | used_names(code)
            definitions.append(code)
    found = ["\n".join(dict.fromkeys(reversed(imports))), "\n\n\n".join(reversed(definitions))]
    return [*filter(None, found)]


def _statements(sources: Sequence[str]) -> Iterator[tuple[str, ast.stmt]]:
    for source in sources:
        try:
            yield from ((source, statement) for statement in ast.parse(source).body)
        except SyntaxError:  # a magic command
            continue


def _is_for_answers(statement: ast.Import | ast.ImportFrom) -> bool:
    """Return whether an import is of the base installation, and no command of the notebook."""
    module = (statement.module if isinstance(statement, ast.ImportFrom) else statement.names[0].name) or ""
    return module.partition(".")[0] in _BASE and module != "autograder"


def _defines(statement: ast.stmt) -> set[str]:
    return {statement.name} if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else set()


def assigned_names(statement: ast.stmt) -> set[str]:
    """Return the names that `=` gives a value, or an attribute or entry of whose value it sets."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _is_constant(statement: ast.stmt) -> bool:
    """Return whether a statement sets a constant: `SIZE = 4`, or a short name as in `aten = torch.ops.aten`."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    is_short_name = isinstance(value, ast.Attribute) and ast.unparse(value).startswith("torch.")
    return is_short_name or any(name.isupper() and len(name) > 1 for name in assigned_names(statement))


def used_names(code: str) -> set[str]:
    """Return the names that code looks up outside of its functions."""
    found, waiting = set[str](), [symtable.symtable(code, "cell", "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        is_module = table.get_type() == "module"
        found |= {
            each.get_name() for each in table.get_symbols() if each.is_referenced() and (is_module or each.is_global())
        }
    return found
