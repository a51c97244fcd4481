"""The picture beside a link on other sites (Open Graph)."""

from __future__ import annotations

import textwrap
from io import BytesIO
from typing import Any

import torch

from ...messages.site import WORDS
from ...pictures.draw import Picture
from ...pictures.graph.read import read_graph
from ...pictures.render.graphviz_process import png

WIDTH, HEIGHT = 1200, 630  # pixels, as Open Graph's readers ask for
_DOTS = 100  # pixels in an inch
_INK, _SOFT, _PAPER = "#1f2328", "#57606a", "#ffffff"


def share_picture(language: str) -> bytes:
    """Return a PNG with the course's name, a line about it and the graph of a small loss."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / _DOTS, HEIGHT / _DOTS), dpi=_DOTS, facecolor=_PAPER)
    title = "\n".join(textwrap.wrap(WORDS["course"].read(language), 16))
    about = "\n".join(textwrap.wrap(WORDS["about"].read(language), 38))
    figure.text(0.06, 0.86, title, size=40, weight="bold", color=_INK, va="top", linespacing=1.2)
    figure.text(0.06, 0.12, about, size=19, color=_SOFT, va="bottom", linespacing=1.4)
    axes: Any = figure.add_axes((0.56, 0.04, 0.42, 0.92))
    axes.axis("off")
    axes.imshow(_graph(language), interpolation="antialiased")
    made = BytesIO()
    figure.savefig(made, format="png", metadata={"Software": None})
    return made.getvalue()


def _graph(language: str) -> Any:
    from matplotlib.image import imread

    x, w = torch.ones(4, 3), torch.ones(3, 2, requires_grad=True)
    loss = torch.tanh(x @ w).square().sum()
    picture = Picture(read_graph([loss], {"x": x, "w": w, "loss": loss}), language)
    return imread(BytesIO(png(picture.dot)[0]), format="png")
