"""Program that runs explained errors: `python -m autograder.site.errors.runs FILE NAME ...`.

Writes JSON into FILE: a dict from the name of an explanation to what its program raised or warned.
"""

from __future__ import annotations

import importlib
import json
import linecache
import multiprocessing
import re
import sys
import traceback
import warnings
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from ...explained.entry import PREAMBLE
from ...explained.scene.frames import Scene
from ...explained.table import EXPLANATIONS
from ...language import LANGUAGES
from ...pictures.draw import Picture
from ...pictures.graph.model import Graph
from .graphs import graph_at
from .imports import with_imports

_FILE = "program.py"
_AT_ONCE = 2  # processes
_LIBRARY = re.compile(r"""[^\s"']*/((?:site|dist)-packages|python3\.\d+)/""")
# In the traceback of a forward pass, frames of the process that runs the program; and the place in torch's C++.
_FRAMES_ABOVE = re.compile(rf'(?<=the error:\n)(?:  File (?!"{_FILE}").*\n(?:    .*\n)?)+')
_INTERNALLY = re.compile(r"\s*\(Triggered internally at [^)]*\)")


@dataclass(frozen=True)
class ErrorRun:
    """The last error or warning of a program of the table.

    `program` has the imports that it needs. `kind` is the name of the exception's class, `text` its message.
    `traceback` is what Python prints. `pictures` show the graph at the failed line, by language.
    """

    program: str
    kind: str
    text: str
    traceback: str
    pictures: dict[str, str] = field(default_factory=dict)


def run_errors(name: str) -> tuple[ErrorRun, Graph | None] | None:
    """Run the program of an explanation. Returns what it told, and the graph at the line that told it.

    Returns None if nothing fits the explanation's pattern.
    """
    (explanation,) = (each for each in EXPLANATIONS if each.name == name)
    found = [each for each in _told(with_imports(explanation.program)) if explanation.pattern.search(each[0].text)]
    return found[-1] if found else None


def _told(program: str) -> list[tuple[ErrorRun, Graph | None]]:
    """Return what a program warned, and last what it raised."""
    found: list[tuple[ErrorRun, Graph | None]] = []

    def tell(kind: str, text: str, said: str, scene: Scene) -> None:
        text = _INTERNALLY.sub("", _shortened(text))
        found.append((ErrorRun(program, kind, text, _shortened(said)), graph_at(scene)))

    def show(message: Warning | str, category: type[Warning], file: str, line: int, *more: object) -> None:
        said = warnings.formatwarning(message, category, file, line)
        tell(category.__name__, str(message), said, Scene.of_warning(sys._getframe(1)))

    linecache.cache[_FILE] = (len(program), None, program.splitlines(keepends=True), _FILE)
    torch.manual_seed(0)  # the same numbers in each build
    torch.set_warn_always(True)  # some warnings are given once in a process
    warnings.simplefilter("always")
    warnings.showwarning = show  # type: ignore[assignment]
    try:
        exec(compile(program, _FILE, "exec"), {"__name__": "__main__"})
    except Exception as error:
        below = error.__traceback__.tb_next if error.__traceback__ else None
        said = "".join(traceback.format_exception(type(error), error, below))
        tell(type(error).__name__, str(error), said, Scene.of_error(error))
    return found


def _shortened(said: str) -> str:
    """Return a traceback without frames above the program, and without folders in which libraries are installed."""
    return _LIBRARY.sub(r".../\1/", _FRAMES_ABOVE.sub("", said)).rstrip()


def drawn(graph: Graph, language: str) -> str:
    """Return the picture of a graph as HTML, "" if it cannot be drawn."""
    data: Any = Picture(graph, language)._repr_mimebundle_()
    return str(data[0]["text/html"]) if isinstance(data, tuple) else ""


def main(file: Path, names: list[str]) -> None:
    """Run the programs of some explanations, each in a process of its own, and write what they told into `file`."""
    importlib.import_module("torch._dynamo")  # else each process imports it
    exec(PREAMBLE, {})
    with multiprocessing.get_context("fork").Pool(_AT_ONCE, maxtasksperchild=1) as pool:
        told = dict(zip(names, pool.map(run_errors, names, chunksize=1), strict=True))
    runs = {}
    for name, (error, graph) in ((name, each) for name, each in told.items() if each):
        pictures = {language: drawn(graph, language) for language in LANGUAGES} if graph else {}
        runs[name] = asdict(replace(error, pictures=pictures))
    file.write_text(json.dumps(runs, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
