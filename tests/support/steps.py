"""Backward passes in frames, and how they are read."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import torch

from autograder import steps
from autograder.pictures.graph.read import refusal
from autograder.pictures.steps import Steps
from support.graphs import Made


def stepped(made: Made) -> Steps:
    """`steps` called by someone with these variables."""
    result: Steps = eval("steps(*_outputs)", {**made.names, "steps": steps, "_outputs": made.outputs})
    return result


def shown(result: Steps) -> tuple[str, str]:
    """The page of a pass that was run, and its text."""
    bundle = result._repr_mimebundle_()
    assert isinstance(bundle, dict)
    return bundle["text/html"], bundle["text/plain"]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def written(picture: ElementTree.Element) -> str:
    return squeezed("".join("".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")))


def state(made: Made) -> list[object]:
    """All that stepping could change: the objects in `.grad`, their numbers and versions, and the versions."""
    tensors = [t for t in made.names.values() if isinstance(t, torch.Tensor) and refusal(t) is None]
    grads = [t.grad if t.is_leaf or t.retains_grad else None for t in tensors]
    told = [(id(grad), None if grad is None else (grad._version, str(grad))) for grad in grads]
    return [told, [t._version for t in tensors], [len(t._backward_hooks or {}) for t in tensors], torch.get_rng_state()]


def same(before: list[object], after: list[object]) -> bool:
    return before[:-1] == after[:-1] and torch.equal(before[-1], after[-1])  # type: ignore[arg-type]
