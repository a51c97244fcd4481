"""Graphs and pictures, read in the plainest way."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any

import torch

from autograder import draw
from autograder.pictures.draw import Picture
from support.graphs import Made


def drawn(made: Made) -> Picture:
    """`draw` called by someone with these variables, with what each node keeps."""
    picture: Picture = eval("draw(*_outputs, saved=True)", {**made.names, "draw": draw, "_outputs": made.outputs})
    return picture


def walk(made: Made) -> tuple[list[Any], list[tuple[str, int, str | None, int]]]:
    """Nodes and edges, read in the plainest way."""
    nodes: list[Any] = []
    waiting = [y.grad_fn for y in made.outputs if y.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node not in nodes:
            nodes.append(node)
            waiting += [to for to, _ in node.next_functions if to is not None]
    edges = [
        (type(node).__name__, slot, None if to is None else type(to).__name__, output)
        for node in nodes
        for slot, (to, output) in enumerate(node.next_functions)
    ]
    return nodes, edges


def gradients(made: Made) -> list[object]:
    """Return the gradients of leaves after backward, as text, and the error that ended it, if any."""
    nodes, _ = walk(made)
    leaves = [node.variable for node in nodes if type(node).__name__ == "AccumulateGrad"]
    try:
        torch.autograd.backward(made.outputs, [torch.ones_like(y) for y in made.outputs])
        ended = ""
    except (RuntimeError, OSError) as error:
        ended = str(error)
    return [*(str(leaf.grad) for leaf in leaves), ended]


def shown(picture: Any) -> tuple[str, bytes, str, dict[str, Any]]:
    """SVG, PNG, text and the metadata that a notebook stores."""
    bundle, metadata = picture._repr_mimebundle_()
    return image(bundle["text/html"]).svg, bundle["image/png"], bundle["text/plain"], metadata


@dataclass(frozen=True)
class Image:
    """An `<img>` element: the file behind its data URI, its description for screen readers and its style."""

    svg: str
    alt: str
    style: str


def image(element: str) -> Image:
    """The only `<img>` of a page."""
    (tag,) = re.findall(r"<img [^>]*>", element)
    found = ET.fromstring(tag.replace(">", "/>")).attrib
    kind, _, data = found["src"].partition("base64,")
    assert kind == "data:image/svg+xml;"
    return Image(base64.b64decode(data).decode(), found["alt"], found["style"])


def words_of(svg: str) -> str:
    """All that is written in the picture, line breaks of the caption undone."""
    return " ".join(" ".join(text.itertext()) for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)
