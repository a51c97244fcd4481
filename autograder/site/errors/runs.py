"""Programs of explained errors, run: what they raise or warn."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ...explained.scene.frames import Scene
from ...explained.table import EXPLANATIONS
from ...language import LANGUAGES
from ...pictures.draw import Picture
from ...pictures.graph.model import Graph
from ..running.fork_server import warm_forks
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


def run_errors(names: Sequence[str]) -> list[ErrorRun | None]:
    """Run the programs of explanations, each in a process of its own, and return what they told, in order.

    None stands for a program that told nothing which fits its explanation's pattern.
    """
    with warm_forks().Pool(_AT_ONCE, maxtasksperchild=1) as pool:
        told = pool.map(_run, names, chunksize=1)
    return [each and _with_pictures(*each) for each in told]


def _run(name: str) -> tuple[ErrorRun, Graph | None] | None:
    """Run a program. Returns what it told last that fits, and the graph at the line that told it."""
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
    """Return a traceback without frames above the program, and without folders of libraries."""
    return _LIBRARY.sub(r".../\1/", _FRAMES_ABOVE.sub("", said)).rstrip()


def _with_pictures(error: ErrorRun, graph: Graph | None) -> ErrorRun:
    return replace(error, pictures={language: drawn(graph, language) for language in LANGUAGES}) if graph else error


def drawn(graph: Graph, language: str) -> str:
    """Return the picture of a graph as HTML, "" if it cannot be drawn."""
    data: Any = Picture(graph, language)._repr_mimebundle_()
    return str(data[0]["text/html"]) if isinstance(data, tuple) else ""
