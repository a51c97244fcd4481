"""`draw`: the graph behind a learner's tensors, as picture and text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from ..language import Note
from ..look.image import readable_image
from ..measure import leaves
from ..messages.drawing import word
from ..session import SESSION
from .graph.fold import fold
from .graph.model import Graph
from .graph.modules import part_sizes, refused_nodes
from .graph.read import read_graph, refusal
from .graph.torch_objects import safely
from .graph.values import is_value, read_values
from .render.describe import Telling, text
from .render.dot import dot
from .render.graphviz_process import CannotLayOut, missing_graphviz, png, svg
from .text_form import error_said, text_is_enough

_NAMED = 4  # names in one sentence of a caption


@dataclass(frozen=True)
class Picture:
    """A picture of a graph as HTML, PNG and text.

    `graph` is the graph as it was when `draw` was called. `opening` holds a title and sentences that replace the usual
    beginning of the caption. `saved` says whether the picture shows what each node keeps for backward. `opened` is the
    name of a module that is not folded.
    """

    graph: Graph
    language: str
    opening: tuple[str, ...] = ()
    saved: bool = False
    opened: str = ""

    def __repr__(self) -> str:
        return text(self._telling())

    @property
    def dot(self) -> str:
        """The picture as Graphviz source.

        Raises ModuleNotFoundError if the package graphviz is not installed.
        """
        return dot(self._telling())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file. The ending of `path` names the format: `.svg`, `.png` or `.dot`.

        Raises ValueError for another ending.
        Raises ModuleNotFoundError or CannotLayOut if Graphviz is missing or cannot draw the graph.
        """
        file = Path(path)
        ending = file.suffix.lower()
        if ending not in (".svg", ".png", ".dot"):
            raise ValueError(word("save.ending", self.language, name=file.name))
        missing = missing_graphviz()
        if missing and ending != ".dot":
            raise ModuleNotFoundError(word("save.no_graphviz", self.language, **missing.parameters))
        if ending == ".png":
            file.write_bytes(png(self.dot, whole=True)[0])
        else:
            file.write_text(svg(self.dot) if ending == ".svg" else self.dot, encoding="utf-8")

    def open(self, part: str) -> Picture:
        """Return the picture with the nodes of one module, such as "net.layers.1", and those beside it folded.

        Raises ValueError if no node belongs to a module of this name.
        """
        names = part_sizes(self.graph)
        if part not in names:
            raise ValueError(word("open.unknown", self.language, part=part, names=", ".join(sorted(names)) or "–"))
        return replace(self, opened=part)

    @cached_property
    def _folded(self) -> Graph:
        return fold(self.graph, self.opened)

    def _telling(self, *more: Note) -> Telling:
        folded = self._folded
        graph = replace(folded, notes=(*folded.notes, *more))
        return Telling(graph, self.language, self.opening, saved=self.saved)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any] | tuple[dict[str, Any], dict[str, Any]]:
        tell = self._telling()
        if text_is_enough():
            return {"text/plain": text(tell)}
        if missing := missing_graphviz():
            return {"text/plain": text(self._telling(missing))}
        source = dot(tell)
        try:  # the PNG for pages without HTML of a notebook: PDFs of nbconvert, and those of instructors
            bitmap, width, height = png(source)
            drawn = readable_image(svg(source), " ".join(tell.caption()))
        except CannotLayOut as error:
            return {"text/plain": text(self._telling(error.note))}
        size = {"image/png": {"width": width, "height": height}}
        return {"text/html": drawn, "image/png": bitmap, "text/plain": text(tell)}, size


def draw(*outputs: Any, saved: bool = False) -> Picture:
    """Draw the graph behind one or several tensors: operations, values, and gradients in `.grad`.

    With `saved=True` the picture also shows which tensors each operation keeps for backward, in bytes, and what was
    freed. Beside an arrow between single numbers stands the derivative of that step. The tensors may be nested in
    tuples, lists, dicts and dataclasses, as the outputs of a model often are. Tensors have the names of the caller's
    variables. Nothing is changed, and `draw` works before and after `backward()`. With several outputs, a border
    surrounds the nodes that only one output needs. An example is `draw(loss, grad)` after `create_graph=True`: the
    border surrounds nodes that only the gradient needs. Never raises: if there is no graph, the picture says why.
    `draw(loss).save("graph.svg")` writes a file, also `.png` or `.dot`. Values of an engine of one's own, with `data`,
    `inputs` and `rule`, are drawn as tensors are.
    """
    caller = sys._getframe(1)
    return replace(picture(outputs, {**caller.f_globals, **caller.f_locals}), saved=saved)


def picture(outputs: tuple[Any, ...], namespace: dict[str, Any]) -> Picture:
    """Return the picture of the graph behind `outputs`.

    `namespace` holds the caller's variables, from which the picture takes names.
    """
    language = SESSION.speaks
    items = [item for output in outputs for item in flat(output)]
    tensors = [item for item in items if isinstance(item, torch.Tensor)]
    modules = [item for item in items if isinstance(item, torch.nn.Module)]
    strange = [item for item in items if not isinstance(item, torch.Tensor)]
    if not tensors and (values := [item for item in strange if is_value(item)]):
        return Picture(read_values(values, namespace), language)
    if not tensors:
        return Picture(Graph((), (), (), (), _not_a_tensor(strange)), language)
    refusals = [error for tensor in tensors if (error := refusal(tensor))]
    try:
        named = {type(each).__name__: each for each in modules if not any(each is one for one in namespace.values())}
        graph = read_graph([] if refusals else tensors, {**named, **namespace}, modules)
    except Exception as error:  # a failed picture must not break the learner's cell
        graph, refusals = Graph((), (), (), ()), [error_said(error)]
    refused = [Note("note.refused", {"error": error.split(". ")[0]}) for error in dict.fromkeys(refusals)]
    return Picture(
        replace(
            graph,
            notes=(
                *refused,
                *_left_out([item for item in strange if not isinstance(item, torch.nn.Module)]),
                *_notes(graph),
            ),
        ),
        language,
    )


def flat(output: Any) -> list[Any]:
    """Return the objects in `output`, however they are nested in tuples, lists, dicts and dataclasses."""
    found = safely(lambda: leaves(output))  # a list may hold itself, and a learner's dict may raise
    return [output] if found is None else found


def _not_a_tensor(strange: list[Any]) -> tuple[Note, ...]:
    if not strange:
        return (Note("note.nothing", {}),)
    got = type(strange[0]).__name__
    more: tuple[Note, ...] = ()
    if isinstance(strange[0], (int, float, complex)):
        more = (Note("note.number", {}),)
    elif isinstance(strange[0], torch.nn.Module):
        more = (Note("note.module", {}),)
    elif isinstance(strange[0], (torch.autograd.graph.Node, torch.autograd.graph.GradientEdge)):
        more = (Note("note.node", {}),)
    return (Note("note.not_tensor", {"got": got}), *more)


def _left_out(strange: list[Any]) -> tuple[Note, ...]:
    """Return a note that names the types of the objects beside the tensors. A None is no news: it is a usual result."""
    types = dict.fromkeys(type(item).__name__ for item in strange if item is not None)
    return (Note("note.left_out", {"types": ", ".join(types)}),) if types else ()


def _notes(graph: Graph) -> list[Note]:
    notes = []
    records = {tensor.id: tensor for tensor in graph.tensors}
    for record in (records[index] for index in graph.outputs):
        name: dict[str, object] = {"name": record.name or "tensor"}
        if record.kind == "leaf":
            notes.append(Note("note.leaf", name))
        elif record.version is None:
            notes.append(Note("note.inference", name))
        elif record.kind == "constant" and not record.dtype.startswith(("float", "bfloat", "complex")):
            notes.append(Note("note.integers", {**name, "dtype": record.dtype}))
        elif record.kind == "constant":
            notes.append(Note("note.constant", name))
    freed = [Note("note.freed", {})] if any(row.state == "freed" for row in graph.saved) else []
    return [*_troubles(graph), *notes, *freed]


def _troubles(graph: Graph) -> Iterator[Note]:
    """Yield notes on what backward will refuse, and on parameters that it will not reach."""
    if any(node.is_refused for node in graph.nodes):
        yield Note("note.modified", {"nodes": _few(refused_nodes(graph))})
    if graph.unreached:
        count = sum(part.parameters for part in graph.unreached)
        yield Note("note.unreached", {"parts": _few([part.name for part in graph.unreached]), "count": count})
    if graph.end is not None:
        yield Note("note.end", {"place": graph.place_of(graph.end)})


def _few(names: Sequence[str]) -> str:
    """Return names as a list. Of many, the first are named and the others counted."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" (+{more})" if more > 0 else "")
