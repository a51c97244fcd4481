"""Answers in a plain Python file, for editors without notebooks.

The file holds functions, classes and tables, or a notebook in jupytext's percent format.
"""

from __future__ import annotations

import ast
import difflib
import linecache
import re
import subprocess
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.verdict import Verdict, VerdictState
from ...errors import UserError
from ...language import Text
from ...lessons.source import SOURCES
from ...messages.learners import message
from ...session import SESSION, CellRun
from ..replies import as_commands
from .check import check_in

_HEADER = re.compile(r"^# %%.*\n?", re.M)
_DEFINITION = re.compile(r"^(?:async\s+)?(?:def|class)\s+(\w+)|^(\w+)\s*(?::[^=\n]*)?=(?!=)", re.M)
_PAUSE = 0.3  # seconds between two looks at the file


@dataclass(frozen=True)
class _Cell:
    """A cell of the file, with the number of lines above it."""

    source: str
    line: int

    def names(self) -> set[str]:
        """Return what the cell defines, also where it has a syntax error."""
        return {name for pair in _DEFINITION.findall(self.source) for name in pair if name}


def check_file(file: Path, lesson: str = "") -> int:
    """Run a file cell by cell, check each answer in it, and print the cards. Return the exit status.

    An answer is whatever has the name that an exercise asks for. `lesson` leaves only the exercises of one lesson, and
    so does a call of `start` in the file. Calls of `check` in the file are made at their place. A cell that raises an
    error is told, and the cells below it are run. The status is 0 if every answer has passed.
    Raises UserError if the file cannot be read, or holds no answer.
    """
    cells = _read(file)
    SESSION.lesson = _named(lesson) if lesson else None
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": str(file)}
    verdicts: list[Verdict] = []
    is_broken = False
    for cell in cells:
        try:
            verdicts += _run(file, cell, namespace)
        except Exception as error:
            is_broken = True
            _tell(file, cell, error)
    checked = {verdict.exercise for verdict in verdicts}
    for exercise in _asked_in(cells):
        if exercise.name not in checked:
            verdicts += _shown(check_in(namespace, exercise.name))
    for said in _misspelt(cells):
        print("\n" + said.read(SESSION.speaks))
    if not verdicts and not is_broken:
        raise UserError(message("file.nothing", file=file).read(SESSION.speaks))
    passed = [verdict.state == VerdictState.PASSED for verdict in verdicts]
    print("\n" + message("file.passed", count=sum(passed), total=len(passed)).read(SESSION.speaks))
    return int(is_broken or not all(passed))


def _named(lesson: str) -> str:
    """Return the name of a lesson that is given with its number, without it, or as a number alone."""
    if lesson.isdigit():
        lesson = next((path.stem for path in SOURCES.glob(f"{int(lesson):02}_*.py")), lesson)
    return exercises.bare(lesson)


def watch_file(command: Sequence[str], file: Path) -> int:
    """Run a command now and after each change of a file, until Ctrl+C. Each run has a process of its own."""
    seen: object = None
    while True:
        stamp = _stamp(file)
        if stamp != seen:
            seen = stamp
            print("\n" + "─" * 40 + f"\n{time.strftime('%H:%M:%S')}  {file}", flush=True)
            subprocess.run(command, check=False)
        time.sleep(_PAUSE)


def _stamp(file: Path) -> tuple[int, int] | None:
    """Return time and size of a file, or None in the moment in which an editor replaces it."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _read(file: Path) -> list[_Cell]:
    """Return the code cells of a file. Magic commands and Markdown are left out."""
    if file.suffix != ".py":
        raise UserError(message("file.suffix", file=file).read(SESSION.speaks))
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(message("file.unreadable", file=file, error=error).read(SESSION.speaks)) from error
    text = re.sub(r"^(?=[%!])", "# ", text, flags=re.M)
    linecache.cache[str(file)] = len(text), None, text.splitlines(keepends=True), str(file)
    headers = [*_HEADER.finditer(text)]
    begins, ends = [0, *(each.end() for each in headers)], [*(each.start() for each in headers), len(text)]
    is_code = [True, *("[markdown]" not in each[0] for each in headers)]
    return [_Cell(text[a:b], text.count("\n", 0, a)) for a, b, code in zip(begins, ends, is_code) if code]


def _run(file: Path, cell: _Cell, namespace: dict[str, Any]) -> Iterator[Verdict]:
    """Run a cell. Print what its calls of `check` return, and yield their verdicts."""
    for statement in ast.parse("\n" * cell.line + cell.source, str(file)).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), str(file), "eval"), namespace)
            yield from _shown(value) if _calls_check(statement.value) else ()
        else:
            exec(compile(ast.Module([statement], []), str(file), "exec"), namespace)


def _calls_check(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name) and expression.func.id == "check"


def _shown(found: object) -> Iterator[Verdict]:
    """Print a card or a reply, and yield it if it is a verdict."""
    print(f"\n{as_commands(str(found))}", flush=True)
    if isinstance(found, Verdict):
        yield found


def _tell(file: Path, cell: _Cell, error: Exception) -> None:
    """Print an error of a cell with the lines of the file alone. Remember for the card that the cell did not end."""
    shown, line = error.__traceback__, getattr(error, "lineno", None)
    while shown is not None and shown.tb_frame.f_code.co_filename != str(file):
        shown = shown.tb_next
    if shown is not None:
        line = shown.tb_lineno
    name = type(error).__name__
    SESSION.cells[f"line {cell.line}"] = CellRun(cell.source, name, line and line - cell.line, cell.line)
    print("\n" + message("file.broken", line=line or "?", error=name).read(SESSION.speaks), flush=True)
    traceback.print_exception(type(error), error, shown)


def _asked_in(cells: Sequence[_Cell]) -> list[Exercise]:
    """Return the exercises that ask for a name which the cells define, in the order of the lessons."""
    names = {name for cell in cells for name in cell.names()}
    return [each for each in _exercises() if each.asks in names]


def _misspelt(cells: Sequence[_Cell]) -> Iterator[Text]:
    """Yield a sentence on each name of the cells that is nearly one that an exercise asks for."""
    names, asked = {name for cell in cells for name in cell.names()}, {each.asks for each in _exercises()}
    for name in sorted(names - asked):
        for near in difflib.get_close_matches(name, asked - names, n=1, cutoff=0.9):
            yield message("file.near", name=name, near=near)


def _exercises() -> list[Exercise]:
    chosen = [SESSION.lesson] if SESSION.lesson else exercises.lessons()
    return [each for lesson in chosen for each in exercises.load(lesson).values()]
