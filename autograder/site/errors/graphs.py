"""The graph that a picture on an error's page shows."""

from __future__ import annotations

import ast
import warnings

import torch

from ...explained.scene.frames import Scene
from ...pictures.draw import picture
from ...pictures.graph.model import Graph


def graph_at(scene: Scene) -> Graph | None:
    """Return the graph behind a tensor at the failed line: the first one with a graph that the line names.

    Where it names none, it is the newest one of the frame. Returns None if no tensor there has a graph.
    """
    lines = (scene.failing, *scene.around(scene.failing)) if scene.failing else ()
    statement = next((each for each in lines if isinstance(each, ast.stmt)), scene.failing)
    named = [each.id for each in ast.walk(statement) if isinstance(each, ast.Name)] if statement else []
    for name in (*named, *reversed(list(scene.objects))):
        value = scene.objects.get(name)
        if isinstance(value, torch.Tensor) and value.grad_fn is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return picture((value,), dict(scene.objects)).graph
    return None
