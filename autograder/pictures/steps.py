"""`steps`: a real backward pass through a learner's graph, step by step."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..language import Note
from ..messages.drawing import WORDS
from .draw import Picture, flat, picture
from .graph.model import BackwardRun, Graph
from .graph.record import run_backward
from .graph.saved import Storages, saved_storages
from .graph.torch_objects import dtype_of, safely, shape_of
from .render.describe_steps import StepTelling, titles
from .render.graphviz_process import CannotLayOut, missing_graphviz, svg
from .render.step_dot import step_dot
from .render.steps_page import page
from .text_form import error_said, text_is_enough

SHOWN = 40  # steps with a picture; nobody looks at more


@dataclass(frozen=True)
class Steps:
    """A recorded backward pass, shown as HTML and as text.

    `run` holds the recorded steps and, if the pass failed, the error. `graph` is the graph that `draw` would show. If
    nothing could be recorded, the graph is shown with the cause.
    """

    graph: Graph
    run: BackwardRun
    storages: Storages
    language: str

    def __repr__(self) -> str:
        tell = self._telling()
        return tell.text() if self.run.frames else str(self._still(tell))

    def _telling(self, *more: Note) -> StepTelling:
        graph = replace(self.graph, notes=(*self.graph.notes, *more))
        return StepTelling(graph, self.run, SHOWN, self.language)

    def _still(self, tell: StepTelling) -> Picture:
        return Picture(self.graph, self.language, (tell.title(), *tell.stopped()))

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any] | tuple[dict[str, Any], dict[str, Any]]:
        tell = self._telling()
        if not self.run.frames:
            return self._still(tell)._repr_mimebundle_()
        if text_is_enough():
            return {"text/plain": tell.text()}
        if missing := missing_graphviz():
            tell = self._telling(missing)
            return {"text/html": page(tell, []), "text/plain": tell.text()}
        return {"text/html": page(tell, self._pictures()), "text/plain": tell.text()}

    def _pictures(self) -> list[str]:
        """Return one SVG for each shown step.

        Returns an empty list if Graphviz fails, because the text is complete without pictures.
        """
        frames = self.run.frames[:SHOWN]
        titled = titles(self.graph)
        ends = {len(self.run.frames): self.run.stopped_at}
        try:
            return [
                svg(step_dot(self.graph, frames[:count], self.storages, titled, self.language, ends.get(count)))
                for count in range(1, len(frames) + 1)
            ]
        except CannotLayOut:
            return []


def steps(*loss: Any) -> Steps:
    """Run backward from a loss and record it step by step.

    `loss` is one tensor with one number. Each step shows the running node, the gradients that come in and go out, and
    the sums: before + increment = after. A step also shows the memory that a plain backward() would free. torch's own
    engine runs on the real tensors, with `retain_graph=True`. Every `.grad` is restored, and backward() can still run
    afterwards. The learner's hooks run, too, and the result names them. A hook on a tensor that no variable holds is
    named only if it changed the gradient. Never raises: if backward() cannot start, the result says why.
    """
    caller = sys._getframe(1)
    drawn = picture(loss, {**caller.f_globals, **caller.f_locals})
    graph = replace(drawn.graph, notes=tuple(_in_these_words(note) for note in drawn.graph.notes))
    run, storages = BackwardRun(()), list[Any]()
    tensors = [item for output in loss for item in flat(output) if isinstance(item, torch.Tensor)]
    refused = _refused(tensors, graph)
    if refused is not None:
        graph = replace(graph, notes=(refused, *graph.notes))
    elif graph.nodes:
        try:
            storages = saved_storages(tensors[0], graph)
            run = run_backward(tensors[0], graph, storages)
        except Exception as error:  # failed stepping must not break the learner's cell
            run = BackwardRun((), error_said(error))
    return Steps(graph, run, storages, drawn.language)


def _refused(tensors: list[torch.Tensor], graph: Graph) -> Note | None:
    """Return a note on why backward() cannot start from `tensors`, or None. Causes that `draw` reports are left out."""
    if not graph.nodes:
        return None
    names = [graph.tensors[output].names for output in graph.outputs]
    if len(tensors) > 1:
        return _one_of(tensors, [found[0] if found else "" for found in names])
    name: dict[str, object] = {"name": names[0][0] if names[0] else "y"}
    if safely(tensors[0].numel) != 1:
        return Note("steps.not_scalar", {**name, "shape": str(shape_of(tensors[0]))})
    return Note("steps.complex", name) if dtype_of(tensors[0]).startswith("complex") else None


def _one_of(tensors: list[torch.Tensor], names: list[str]) -> Note:
    """Return a note on what to give in place of several tensors: their sum if each is a loss, or else one of them."""
    losses = [safely(tensor.numel) == 1 and tensor.requires_grad and not tensor.is_complex() for tensor in tensors]
    if all(losses) and all(names):
        return Note("steps.several.sum", {"count": len(tensors), "sum": " + ".join(names)})
    named = [name for name, loss in zip(names, losses) if loss and name]
    sums = [f"{name}.sum()" for name, tensor in zip(names, tensors) if name and tensor.requires_grad]
    return Note("steps.several", {"count": len(tensors), "name": (named or sums or ["loss"])[0]})


def _in_these_words(note: Note) -> Note:
    """Return a note of `draw` in the words of `steps`.

    The id `note.ID` becomes `steps.ID` if there is a sentence with that id.
    """
    id = note.id.replace("note.", "steps.", 1)
    return Note(id, note.parameters) if id in WORDS else note
