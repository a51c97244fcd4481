"""Programs that define everything they use.

A lecturer can paste them into a cell. They are made of the course's own code, never of a student's, and are run before
they are shown.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

from ....checking.containment.surroundings import undisturbed
from ....checking.exercise import Exercise
from ....checking.values import canonical, entries, prediction
from ....exercises import path_of
from ....lessons.mistakes import mistakes_of
from ....lessons.needed_code import assigned_names, needed_code, used_names
from ....lessons.source import Lesson
from ....lessons.variants import sources_above

_BUILT_IN = {*dir(builtins), "__name__"}


def table_program(exercise: Exercise, lesson: Lesson, label: str, right: str) -> str:
    """Return the program of a table of predictions, with a last line that gives the row `label`.

    `right` is the row's value as text. Other rows are left out if the program gives it without them. Returns "" if no
    such program is found.
    """
    cells = lesson.cells[: lesson.cells.index(lesson.of("answer", exercise.name)[0])]
    code = [each for each in cells if each.kind == "code" and not (each.role or each.is_fact or each.is_picture)]
    *above, table = [each.source for each in code] or [""]
    for program in dict.fromkeys((_with_one_row(table, label), table)):
        functions = [each.name for each in _body(program) if isinstance(each, ast.FunctionDef)]
        for line in [*(f"{name}()[{_quoted(label)}]" for name in functions[-1:]), label]:
            whole = _whole(above, program, line)
            if _value(whole, line) == right:
                return whole
    return ""


def mistaken_program(exercise: Exercise, lesson: Lesson, mistake: str) -> str:
    """Return the program of a known mistake, or "" if it uses what a cell cannot have."""
    common = path_of(exercise) / "common.py"
    above = [common.read_text(encoding="utf-8")] if common.is_file() else []
    above += [*sources_above(lesson, exercise.name), mistakes_of(exercise).code(mistake)]
    whole = _whole(above, "", exercise.asks)
    return whole.removesuffix(exercise.asks).rstrip() if _value(whole, exercise.asks) else ""


def _whole(above: list[str], program: str, line: str) -> str:
    """Return a program with what it needs of the cells `above`, and with `line` as its last line."""
    if not _body(line):
        return ""
    parts = [*needed_code(above, "", f"{program}\n{line}"), program, line]
    return re.sub(r"\n{3,}", "\n\n", _without_unused("\n\n".join(part.strip() for part in parts)))


def _without_unused(code: str) -> str:
    """Return code without the imports and constants that it does not use. Imports come first."""
    while True:
        nodes = [node for each in _body(code) for node in ast.walk(each)]
        used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        unused = [each for each in _body(code) if (made := assigned_names(each)) and not made & used]
        if not unused:
            break
        code = _without_lines(code, unused)
    imports = [each for each in _body(code) if isinstance(each, (ast.Import, ast.ImportFrom))]
    return f"{_merged(imports, used)}\n\n{_without_lines(code, imports).strip()}".strip()


def _merged(imports: list[ast.Import | ast.ImportFrom], used: set[str]) -> str:
    """Return import statements without duplicates, of the names `used` alone."""
    by_module: dict[str | None, list[str]] = {}
    for each in imports:
        for alias in each.names:
            if (alias.asname or alias.name).partition(".")[0] in used:
                names = by_module.setdefault(each.module if isinstance(each, ast.ImportFrom) else None, [])
                names += {ast.unparse(alias)} - {*names}
    plain = [f"import {name}" for name in by_module.pop(None, [])]
    return "\n".join([*plain, *(f"from {module} import {', '.join(names)}" for module, names in by_module.items())])


def _with_one_row(program: str, label: str) -> str:
    """Return a program without the other rows of the table that it returns, and without functions for them alone."""
    tables = [
        node.value
        for node in ast.walk(ast.Module(_body(program), []))
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict)
    ]
    for table in tables:
        rows = {
            key.value: (key, value) for key, value in zip(table.keys, table.values) if isinstance(key, ast.Constant)
        }
        if label in rows and len({key.lineno for key, _ in rows.values()}) == len(table.keys):
            program = _without_lines(program, [row for name, row in rows.items() if name != label])
            inner = [each for whole in _body(program) for each in getattr(whole, "body", [])]
            unused = [each for each in inner if isinstance(each, ast.FunctionDef) and program.count(each.name) == 1]
            return _without_lines(program, unused)
    return program


def _without_lines(code: str, gone: list[Any]) -> str:
    """Return code without some nodes, or pairs of nodes, and without the empty lines below functions."""
    lines: list[str | None] = [*code.splitlines()]
    for first, last in (each if isinstance(each, tuple) else (each, each) for each in gone):
        end = last.end_lineno
        while isinstance(last, ast.FunctionDef) and end < len(lines) and not (lines[end] or "").strip():
            end += 1
        lines[first.lineno - 1 : end] = [None] * (end - first.lineno + 1)
    return "\n".join(line for line in lines if line is not None)


def _value(code: str, line: str) -> str | None:
    """Run code, and return the value of its last line as text. Returns None if that fails, or a name is missing."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    body = _body(code)
    if not body or not isinstance(body[-1], ast.Expr):
        return None
    try:
        with undisturbed([]):
            exec(compile(ast.Module(body[:-1], []), "<question>", "exec"), namespace)
            value = eval(line, namespace)
    except Exception:
        return None
    whole = used_names(code) <= namespace.keys() | _BUILT_IN
    return prediction(canonical(entries({"": value})[""])) if whole else None


def _body(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except SyntaxError:  # a magic command, or a label in words
        return []


def _quoted(label: str) -> str:
    return f"'{label}'" if '"' in label else f'"{label}"'
