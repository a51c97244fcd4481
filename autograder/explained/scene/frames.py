"""The place of an error: its expression, source and objects."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import sysconfig
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import PurePath
from types import CodeType, FrameType, TracebackType
from typing import Any

OUR_PACKAGE = str(PurePath(__file__).parents[2])
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")  # takes 0.25 ms, and each frame asks for it
_MOST = 100  # statements and functions behind an expression; a check waits for them
EARLIER_CELLS = 30  # of IPython's history, read for names that the cell does not define


@dataclass(frozen=True)
class Scene:
    """The failed expression in the learner's last frame, and what surrounds it.

    `failing` is its syntax tree, `sources` the trees of the file or cell and of earlier cells, newest first, `objects`
    the names of the frame. `within` is the name of the frame's function. `above` and `below` are the places above and
    below this frame in the traceback, such as "function.py:apply"; the last one below raised the error.
    `text` is the text of the error.
    """

    failing: ast.AST | None = None
    sources: tuple[ast.Module, ...] = ()
    objects: Mapping[str, Any] = field(default_factory=dict)
    within: str = ""
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    text: str = ""

    @property
    def known(self) -> bool:
        """True if there is more than the text of the error."""
        return bool(self.sources)

    @classmethod
    def of_error(cls, error: BaseException) -> Scene:
        """Return the scene of an error that was raised. It is empty if no frame of the learner's is known."""
        frames = list(_frames(error.__traceback__))
        own = [number for number, (frame, _) in enumerate(frames) if not _is_library(frame.f_code.co_filename)]
        if not own:
            return cls()
        places = [_place(frame) for frame, _ in frames]
        return cls._at(*frames[own[-1]], tuple(places[: own[-1]]), tuple(places[own[-1] + 1 :]))

    @classmethod
    def of_warning(cls, frame: FrameType | None) -> Scene:
        """Return the scene of a warning that is given below `frame`."""
        below: list[str] = []
        while frame is not None and _is_library(frame.f_code.co_filename):
            below.insert(0, _place(frame))
            frame = frame.f_back
        return cls._at(frame, frame.f_lasti, (), tuple(below)) if frame else cls()

    @classmethod
    def _at(cls, frame: FrameType, instruction: int, above: tuple[str, ...], below: tuple[str, ...]) -> Scene:
        code = frame.f_code
        objects = {**frame.f_globals, **frame.f_locals}
        text = "".join(linecache.getlines(code.co_filename, frame.f_globals))
        history = frame.f_globals.get("In")
        cells = reversed(history[-EARLIER_CELLS:]) if isinstance(history, list) else ()
        sources = tuple(tree for tree in map(_parse, (text, *cells)) if tree and tree.body)
        failing = _expression(sources[0], code, instruction) if sources and text else None
        return cls(failing, sources, objects, code.co_name, above, below)

    def value(self, node: ast.AST | None) -> Any:
        """Return the object that a name or a chain of attributes stands for. Runs no code of the learner's.

        Returns `Unknown` for every other expression.
        """
        if isinstance(node, ast.Name):
            return self.objects.get(node.id, UnknownValue)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            held = getattr(owner, "__dict__", {})
            for attributes in (held, *(held.get(each) or {} for each in ("_parameters", "_modules", "_buffers"))):
                if isinstance(attributes, dict) and node.attr in attributes:
                    return attributes[node.attr]
            if type(owner).__module__.startswith("torch"):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # .grad of a non-leaf
                    return getattr(owner, node.attr, UnknownValue)
        return UnknownValue

    def behind(self, node: ast.AST | None) -> list[ast.AST]:
        """Return an expression, and the statements and functions that its names come from, as far as known."""
        if node not in self._found_behind:
            found: list[ast.AST] = []
            waiting: list[ast.AST] = [node] if node else []
            seen: set[str] = set()
            while waiting and len(found) < _MOST:
                found.append(waiting.pop())
                for name in {each.id for each in ast.walk(found[-1]) if isinstance(each, ast.Name)} - seen:
                    seen.add(name)
                    waiting += self.origins(name)
            self._found_behind[node] = found
        return self._found_behind[node]

    @cached_property
    def _found_behind(self) -> dict[ast.AST | None, list[ast.AST]]:
        return {}  # a dozen entries of the table ask for the same expression

    def origins(self, name: str) -> list[ast.AST]:
        """Return the statements that make or change a name's value, or the definition of its function."""
        written = [node for tree in self.sources for node in _writes(tree).get(name, []) if not self._failed(node)]
        if made := next((bound[name] for bound in map(_bindings, self.sources) if name in bound), None):
            return made + written
        made_elsewhere = self.objects.get(name)
        if inspect.isfunction(made_elsewhere) or isinstance(made_elsewhere, type):
            if (made_elsewhere.__module__ or "").partition(".")[0] in ("torch", "numpy"):
                return written
            try:
                tree = _parse(textwrap.dedent(inspect.getsource(made_elsewhere)))
            except (OSError, TypeError):
                return written
            return [tree, *written] if tree else written
        return written

    def _failed(self, statement: ast.AST) -> bool:
        return any(node is self.failing for node in ast.walk(statement))

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the statements that a node lies in, the innermost first."""
        parents = next((known for known in map(_parents, self.sources) if node in known), {})
        while (above := parents.get(node)) is not None:
            yield above
            node = above


class UnknownValue:
    """The value of an expression that is not looked up."""


def _frames(tb: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while tb is not None:
        yield tb.tb_frame, tb.tb_lasti
        tb = tb.tb_next


def _is_library(filename: str) -> bool:
    """Return whether a file is part of Python, of this package or of an installed one, wherever it is installed."""
    loaded = (getattr(sys.modules.get(name), "__file__", None) for name in ("torch", "numpy"))
    folders = (_STANDARD_LIBRARY, OUR_PACKAGE, *(str(PurePath(file).parent) for file in loaded if file))
    inside = {"site-packages", "dist-packages"} & set(PurePath(filename).parts)
    return bool(inside) or filename.startswith((*folders, "<frozen", "<string", "<__array_function__"))


def _place(frame: FrameType) -> str:
    return f"{PurePath(frame.f_code.co_filename).name}:{frame.f_code.co_name}"


@lru_cache(maxsize=2 * EARLIER_CELLS)  # one cell or file often raises several errors
def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=2 * EARLIER_CELLS)
def _bindings(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """Return the statements that give a name its value, by name."""
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        for name in names_bound(node):
            found.setdefault(name, []).append(node)
    return found


@lru_cache(maxsize=2 * EARLIER_CELLS)
def _writes(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """Return the statements that write into a name's value, such as `x[0] = ...` and `x.copy_(...)`, by name."""
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        for place in _places_written(node):
            while isinstance(place, (ast.Subscript, ast.Attribute)):
                place = place.value
            if isinstance(place, ast.Name):
                found.setdefault(place.id, []).append(node)
    return found


def _places_written(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        method = node.value.func
        return [method] if isinstance(method, ast.Attribute) and method.attr.endswith("_") else []
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AugAssign) else targets
    return [each for each in targets if isinstance(each, ast.Subscript)]


@lru_cache(maxsize=2 * EARLIER_CELLS)
def _parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _expression(tree: ast.Module, code: CodeType, instruction: int) -> ast.AST | None:
    """Return the smallest node of the tree that an instruction was compiled from."""
    first, last, start, end = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    return _by_place(tree).get((first, last, start, end))


@lru_cache(maxsize=2 * EARLIER_CELLS)  # the walk takes 40 ms in the file of a lesson, for each error
def _by_place(tree: ast.Module) -> dict[tuple[int | None, ...], ast.AST]:
    """Return the innermost node at each place: first and last line, first and last column."""
    places = ("lineno", "end_lineno", "col_offset", "end_col_offset")
    return {tuple(getattr(node, each, 0) for each in places): node for node in ast.walk(tree)}


def names_bound(node: ast.AST) -> set[str]:
    """Return the names that a statement gives a value."""
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets = list(node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        targets = [node.target]
    elif isinstance(node, ast.withitem) and node.optional_vars:
        targets = [node.optional_vars]
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    elif isinstance(node, (ast.For, ast.comprehension)):
        targets = [node.target]
    names = (each for target in targets for each in ast.walk(target))
    return {each.id for each in names if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
