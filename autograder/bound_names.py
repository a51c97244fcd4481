"""Names that code binds at its top level."""

from __future__ import annotations

import ast
import symtable


def bound_names(code: str) -> set[str]:
    """Return the names that code gives a value at its top level, in whatever form.

    These are definitions, imports, assignments, loops and others. An annotation without a value counts. An attribute or
    entry that is set does not, nor does a name of a comprehension. Code that Python cannot parse, such as a magic
    command, binds none.
    """
    try:
        table = symtable.symtable(code, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()}


def names_bound_by(statement: ast.stmt) -> set[str]:
    """Return the names that one statement binds (see `bound_names`)."""
    return bound_names(ast.unparse(statement))
