"""Program that runs explained errors: `python -m autograder.site.error_runs FILE NAME ...`.

Writes JSON into FILE: a dict from the name of an explanation to what its program raised or warned.
"""

from __future__ import annotations

import ast
import importlib
import json
import linecache
import multiprocessing
import re
import sys
import traceback
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from ..messages.torch_errors.entry import PREAMBLE
from ..messages.torch_errors.table import EXPLANATIONS

_FILE = "program.py"
_AT_ONCE = 2  # processes
_LIBRARY = re.compile(r'[^\s"]*/((?:site|dist)-packages|python3\.\d+)/')


@dataclass(frozen=True)
class ErrorRun:
    """The last error or warning of a program of the table.

    `program` has the imports that it needs. `kind` is the name of the exception's class, `text` its message.
    `traceback` is what Python prints.
    """

    program: str
    kind: str
    text: str
    traceback: str


def with_imports(program: str) -> str:
    """Return a program of the table below those imports of `PREAMBLE` that it needs."""
    used = {node.id for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Name)}
    needed = []
    for line in ast.parse(PREAMBLE).body:
        if isinstance(line, (ast.Import, ast.ImportFrom)):
            line.names = [each for each in line.names if (each.asname or each.name) in used]
            needed += [ast.unparse(line)] if line.names else []
    return "\n".join([*needed, "", program] if needed else [program])


def run(name: str) -> dict[str, str] | None:
    """Run the program of an explanation. Returns the fields of an `ErrorRun`, or None if nothing fits its pattern."""
    (explanation,) = (each for each in EXPLANATIONS if each.name == name)
    found = [each for each in _told(with_imports(explanation.program)) if explanation.pattern.search(each.text)]
    return asdict(found[-1]) if found else None


def _told(program: str) -> list[ErrorRun]:
    """Return what a program warned, and last what it raised."""
    found: list[ErrorRun] = []

    def show(message: Warning | str, category: type[Warning], file: str, line: int, *more: object) -> None:
        said = warnings.formatwarning(message, category, file, line)
        found.append(ErrorRun(program, category.__name__, str(message), _shortened(said)))

    linecache.cache[_FILE] = (len(program), None, program.splitlines(keepends=True), _FILE)
    torch.set_warn_always(True)  # some warnings are given once in a process
    warnings.simplefilter("always")
    warnings.showwarning = show  # type: ignore[assignment]
    try:
        exec(compile(program, _FILE, "exec"), {"__name__": "__main__"})
    except Exception as error:
        below = error.__traceback__.tb_next if error.__traceback__ else None
        said = "".join(traceback.format_exception(type(error), error, below))
        found.append(ErrorRun(program, type(error).__name__, str(error), _shortened(said)))
    return found


def _shortened(said: str) -> str:
    """Return a traceback without the folder in which Python or a library is installed."""
    return _LIBRARY.sub(r".../\1/", said).rstrip()


def main(file: Path, names: list[str]) -> None:
    """Run the programs of some explanations, each in a process of its own, and write what they told into `file`."""
    importlib.import_module("torch._dynamo")  # else each process imports it
    exec(PREAMBLE, {})
    with multiprocessing.get_context("fork").Pool(_AT_ONCE, maxtasksperchild=1) as pool:
        told = pool.map(run, names, chunksize=1)
    file.write_text(json.dumps(dict(zip(names, told, strict=True)), ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
