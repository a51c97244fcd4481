"""`plot_saved`: bytes kept for backward, by layer and function."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import get_gradient_edge

from ...language import Note
from ...measure import tensors
from ...session import SESSION
from .base import NotPlotted, Plot, mark_whole_numbers, new_figure, short, unit
from .compare import Trace, failure, names, traced, why_not_compared

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 24  # layers with their own bars
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo")
_COLOURS = ("C0", "C1", "C2", "C3", "#5b6470", "#a87900")
_OUTSIDE = ""


@dataclass(frozen=True, repr=False)
class SavedByLayer(Plot):
    """A plot of the bytes kept for backward.

    `bytes` is a dict from function name to a dict from layer to number of bytes. The layer "" stands for bytes made
    outside all layers.
    """

    layers: tuple[str, ...]
    bytes: dict[str, dict[str, int]]

    def title(self) -> str:
        return self.say("saved.title")

    def _rows(self) -> list[tuple[str, list[int]]]:
        """Return label and bytes of each bar; the bytes are a list with one number per function.

        If there are too many layers, the last bar is their sum.
        """
        ways = self.bytes.values()
        layers = [*self.layers, *([_OUTSIDE] if any(_OUTSIDE in way for way in ways) else [])]
        rows = [(layer or self.say("saved.outside"), [way.get(layer, 0) for way in ways]) for layer in layers]
        if len(rows) <= SHOWN:
            return rows
        rest = [sum(column) for column in zip(*(numbers for _, numbers in rows[SHOWN - 1 :]))]
        return [*rows[: SHOWN - 1], (self.say("more", count=len(rows) - SHOWN + 1), rest)]

    def lines(self) -> list[str]:
        said, rows = [], self._rows()
        for index, (name, way) in enumerate(self.bytes.items()):
            said.append(self.say("saved.total", name=name, bytes=sum(way.values())))
            said += [self.say("saved.layer", layer=layer, bytes=numbers[index]) for layer, numbers in rows]
        return [*said, self.say("saved.once")]

    def _figure(self) -> Figure:
        rows, count = self._rows(), len(self.bytes)
        size, id = unit(max(max(numbers) for _, numbers in rows))
        thick = 0.8 / count
        figure = new_figure(8, 1.5 + len(rows) * max(0.26, 0.15 * count) + 0.22 * -(-count // 2))
        axes = figure.add_subplot()
        for index, (name, way) in enumerate(self.bytes.items()):
            places = [row + (index - (count - 1) / 2) * thick for row in range(len(rows))]
            total = self.say("saved.total", name=name, bytes=sum(way.values()))
            axes.barh(
                places,
                [numbers[index] / size for _, numbers in rows],
                thick * 0.9,
                color=_COLOURS[index],
                edgecolor=axes.get_facecolor(),
                linewidth=0,
                hatch=_HATCHES[index],
                label=total,
            )
        axes.set_yticks(range(len(rows)), [short(label) for label, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, None if any(any(numbers) for _, numbers in rows) else 1)
        mark_whole_numbers(axes.xaxis, nbins="auto", steps=[1, 2, 5, 10])
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(self.say("saved.across", unit=self.say(id)))
        figure.legend(loc="outside lower left", ncols=1 if count == 1 else 2)
        return figure


def plot_saved(net: Any, x: Any = None, *ways: Any) -> Plot:
    """Plot the bytes that the graph keeps after a forward pass, by layer of `net`.

    `ways` are functions of `x` that run the layers of `net` in different ways. One may run them under saved-tensor
    hooks, another with checkpoints. If no `ways` are given, `net` itself is run. Every storage counts once, for the
    layer that made it. Not counted are parameters, `x`, results that nothing saved, and data that a hook stores outside
    tensors. Each function runs once, forward only. Random state and buffers of `net` are restored. Never raises: for
    other arguments the plot says what is expected.
    """
    language = SESSION.speaks
    if not isinstance(net, torch.nn.Module) or x is None:
        got = type(net).__name__ + ("" if x is None else f", {type(x).__name__}")
        return NotPlotted(language, Note("saved.what", {"got": got}))
    compared = ways or (net,)
    if (note := why_not_compared("plot_saved", compared)) is not None:
        return NotPlotted(language, note)
    layers = _layers(net)
    measured = {}
    for name, way in zip(names(compared), compared):
        held = _held(net, layers, way, x)
        if held is None:
            held = Note("saved.no_graph", {"name": name})
        if isinstance(held, Note):
            return NotPlotted(language, held)
        measured[name] = held
    return SavedByLayer(language, tuple(layers), measured)


def _layers(net: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """Return a dict from label to layer of `net`.

    A module that only wraps another module is replaced by the layers inside.
    """
    parts = list(net.named_children())
    while len(parts) == 1 and list(parts[0][1].children()):
        parts = list(parts[0][1].named_children())
    return {f"{name} {type(part).__name__}".strip(): part for name, part in parts or [("", net)]}


def _held(
    net: torch.nn.Module, layers: dict[str, torch.nn.Module], way: Callable[[Any], Any], x: Any
) -> dict[str, int] | Note | None:
    """Return a dict from layer to the bytes that the graph of `way(x)` keeps.

    Returns None if there is no graph, and a note if the function raises.
    """
    try:
        with traced([net]) as trace, _labelled(trace, layers):
            edges = [get_gradient_edge(y) for y in tensors(way(x)) if y.requires_grad]
            gc.collect()  # tensors held only by a reference cycle are not saved tensors
            return trace.bytes_of() if edges else None
    except Exception as error:  # the learner's function may raise anything
        return failure("plot_saved", error)


@contextmanager
def _labelled(trace: Trace, layers: dict[str, torch.nn.Module]) -> Iterator[None]:
    """Set `trace.label` to the label of the layer that runs, inside the `with` block."""
    handles = []
    for label, layer in layers.items():

        def enter(*_: object, label: str = label) -> None:
            trace.label = label

        def leave(*_: object) -> None:
            trace.label = _OUTSIDE

        handles.append(layer.register_forward_pre_hook(enter))
        handles.append(layer.register_forward_hook(leave, always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
