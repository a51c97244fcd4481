"""`plot_memory`: live bytes during a forward and a backward pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ...checking.containment.nested_passes import around_backward
from ...language import Note
from ...measure import graph_nodes, tensors
from ...session import SESSION
from .base import NotPlotted, Plot, mark_whole_numbers, new_figure, unit
from .compare import Trace, failure, names, traced, why_not_compared

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class BytesOverTime:
    """Live bytes during one run of a learner's function.

    `samples` holds the bytes alive after each operation. `settled` holds the bytes just before the next operation, when
    the function may have released something. `backwards` holds the numbers of the first and last operation of each
    backward pass, counted from 1.
    """

    name: str
    samples: tuple[int, ...]
    settled: tuple[int, ...]
    backwards: tuple[tuple[int, int], ...]

    @property
    def peak(self) -> int:
        return max(self.samples)

    @property
    def at(self) -> int:
        """Number of the operation after which the peak is first reached, from 1."""
        return self.samples.index(self.peak) + 1

    def phases(self) -> list[tuple[str, int, int]]:
        """Return a tuple for each phase: "forward" or "backward", and the numbers of its first and last operation."""
        found, at = [], 1
        for first, last in self.backwards:
            found += [("forward", at, first - 1), ("backward", first, last)]
            at = last + 1
        found.append(("forward", at, len(self.samples)))
        return [phase for phase in found if phase[1] <= phase[2]]

    def phase_of_peak(self) -> str:
        return next(kind for kind, first, last in self.phases() if first <= self.at <= last)


@dataclass(frozen=True, repr=False)
class Memory(Plot):
    """A plot of live bytes for each of several functions."""

    courses: tuple[BytesOverTime, ...]

    def title(self) -> str:
        return self.say("memory.title")

    def lines(self) -> list[str]:
        said = []
        for course in self.courses:
            phase, count = self.say(f"memory.phase.{course.phase_of_peak()}"), len(course.samples)
            said.append(
                self.say("memory.text", name=course.name, peak=course.peak, phase=phase, at=course.at, count=count)
            )
            for kind, first, last in course.phases():
                named, alive = self.say(f"memory.phase.{kind}"), course.settled[last - 1]
                said.append(self.say("memory.phase", phase=named, first=first, last=last, bytes=alive))
        return [*said, self.say("memory.once")]

    def _figure(self) -> Figure:
        columns = min(len(self.courses), 3)
        rows = -(-len(self.courses) // columns)
        figure = new_figure(8 if columns > 1 else 6.4, 0.9 + 2.5 * rows)
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False).flatten()
        size, id = unit(max(course.peak for course in self.courses))
        for axes, course in zip(panels, self.courses):
            self._panel(axes, course, size)
        for axes in panels[len(self.courses) :]:
            axes.remove()
        panels[0].set_ylim(0, max(course.peak for course in self.courses) / size * 1.25)
        figure.supylabel(self.say("memory.up", unit=self.say(id)), fontsize=10)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=2)
        return figure

    def _panel(self, axes: Axes, course: BytesOverTime, size: int) -> None:
        count = len(course.samples)
        for index, (first, last) in enumerate(course.backwards):
            label = self.say("memory.phase.backward") if index == 0 else None
            axes.axvspan(first - 1, last, facecolor="C1", alpha=0.2, linewidth=0, label=label)
        alive = [0.0, *(sample / size for sample in course.samples)]
        axes.fill_between(range(count + 1), alive, step="pre", color="C0", alpha=0.3, linewidth=0)
        axes.step(range(count + 1), alive, where="pre", color="C0", linestyle="-", marker="", linewidth=1.6)
        axes.axhline(course.peak / size, color="C3", linestyle=":", marker="", linewidth=1.4)
        axes.plot(course.at - 0.5, course.peak / size, "v", color="C3", markersize=8, zorder=6)
        named = self.say("memory.peak", bytes=course.peak)
        place, box = (0.02, course.peak / size), {"facecolor": axes.get_facecolor(), "linewidth": 0, "pad": 1.5}
        axes.annotate(named, place, (0, 8), ("axes fraction", "data"), "offset points", bbox=box)
        axes.set_title(course.name)
        axes.set_xlim(0, count)
        mark_whole_numbers(axes.xaxis, nbins="auto")
        axes.set_xlabel(self.say("memory.across"))
        axes.grid(axis="y")


def plot_memory(x: Any, *ways: Any) -> Plot:
    """Plot the bytes of new tensors that are alive after each operation, for each function in `ways`.

    Each function is called once, as `way(x)`. If the function starts no backward pass, the sum of the returned tensor
    is differentiated. All tensors made in the run count, including `.grad`, and each storage counts once. Every `.grad`
    that the passes reach is restored, as are random state and the buffers of modules among `ways`. Other changes by a
    function remain, such as changed weights. Never raises: for other arguments the plot says what is expected.
    """
    language = SESSION.speaks
    if (note := why_not_compared("plot_memory", ways)) is not None:
        return NotPlotted(language, note)
    courses = []
    for name, way in zip(names(ways), ways):
        course = _course(name, way, x)
        if isinstance(course, Note):
            return NotPlotted(language, course)
        courses.append(course)
    return Memory(language, tuple(courses))


class _Watch:
    """A recorder of the first and last operation of each backward pass.

    `.grad` of each leaf is set to None before the first pass that reaches the leaf. A new `.grad` is therefore
    allocated during the run and counted.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.backwards: list[tuple[int, int]] = []
        self.before: dict[int, tuple[torch.Tensor, torch.Tensor | None]] = {}
        self._running = False

    def run(self, engine: Any, roots: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("accumulate_grad"):
            for node in graph_nodes(*(root for root in roots if isinstance(root, torch.Tensor))):
                leaf = getattr(node, "variable", None)
                if leaf is not None and id(leaf) not in self.before:
                    self.before[id(leaf)] = (leaf, leaf.grad)
                    leaf.grad = None
        if self._running:  # a nested pass, as in a checkpoint
            return engine(roots, *args, **kwargs)
        # The initial gradient 1 of a scalar is made just before the engine is called. It belongs to the pass.
        self._running, first = True, len(self.trace.samples) + (self.trace.last_op != "aten::ones_like")
        try:
            return engine(roots, *args, **kwargs)
        finally:
            self._running = False
            self.backwards.append((first, len(self.trace.samples)))

    def put_back(self) -> None:
        for leaf, gradient in self.before.values():
            leaf.grad = gradient


def _course(name: str, way: Callable[[Any], Any], x: Any) -> BytesOverTime | Note:
    modules = [way] if isinstance(way, torch.nn.Module) else []
    with traced(modules) as trace:
        watch = _Watch(trace)
        try:
            with around_backward(watch.run):
                _both_passes(way, x, watch)
            samples, settled = tuple(trace.samples), (*trace.settled, trace.now)
        except Exception as error:  # the learner's function may raise anything
            return failure("plot_memory", error)
        finally:
            watch.put_back()
    if not samples or not max(samples):
        return Note("memory.no_tensors", {"name": name})
    return BytesOverTime(
        name, samples, settled, tuple(backward for backward in watch.backwards if backward[0] <= backward[1])
    )


def _both_passes(way: Callable[[Any], Any], x: Any, watch: _Watch) -> None:
    made = [y for y in tensors(way(x)) if y.requires_grad]
    if made and not watch.backwards:
        loss = made.pop(0)
        made.clear()
        if loss.numel() != 1:
            loss = loss.sum()
        loss.backward()
