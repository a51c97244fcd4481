"""`plot_accumulation`: gradient norms before and after each backward pass of a loop."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from ...checking.containment.nested_passes import around_backward
from ...language import Note
from ...session import SESSION
from .base import Plot, mark_whole_numbers, new_figure, short, shown_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 60  # backward passes; with more, the plot is unreadable


@dataclass
class Pass:
    """One backward pass: its loss, and gradient norms.

    `loss` is None if it is not a single number. `before` and `after` are the norm of all recorded `.grad` together,
    before and after the pass. `after` is None during the pass. `steps` holds the norm at each optimizer step between
    this pass and the next.
    """

    loss: float | None
    before: float
    after: float | None = None  # None while it runs
    steps: list[float] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Accumulation(Plot):
    """A plot, and the context manager that records its backward passes.

    `watched` are the tensors whose `.grad` is recorded. `note` is None or says why nothing can be recorded.
    """

    watched: tuple[torch.Tensor, ...]
    note: Note | None
    passes: list[Pass] = field(default_factory=list)
    _undo: list[ExitStack] = field(default_factory=list)

    def __enter__(self) -> Accumulation:
        if self.note is None and not self._undo:
            self.passes.clear()
            undo = ExitStack()
            undo.enter_context(around_backward(self._run))
            undo.callback(register_optimizer_step_post_hook(self._stepped).remove)
            self._undo.append(undo)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._undo:
            self._undo.pop().close()

    def _run(self, engine: Any, roots: Any, *args: Any, **kwargs: Any) -> Any:
        """Run torch's engine and record the backward pass.

        Passes that fill no `.grad` are not recorded, nor are nested passes, such as the passes of a checkpoint.
        """
        inside = self.passes and self.passes[-1].after is None
        if not kwargs.get("accumulate_grad") or inside:
            return engine(roots, *args, **kwargs)
        self.passes.append(Pass(_loss(roots), self._norm()))
        try:
            return engine(roots, *args, **kwargs)
        finally:
            self.passes[-1].after = self._norm()

    def _stepped(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        mine = {id(parameter) for parameter in self.watched}
        if self.passes and any(id(p) in mine for group in optimizer.param_groups for p in group["params"]):
            self.passes[-1].steps.append(self._norm())

    def _norm(self) -> float:
        try:
            with torch.no_grad():
                gradients = [p.grad.to_dense() for p in self.watched if p.is_leaf and p.grad is not None]
                return math.sqrt(sum(float(g.abs().double().square().sum()) for g in gradients))
        except (RuntimeError, NotImplementedError):  # a tensor without numbers must not break the loop
            return math.nan

    def refused(self) -> Note | None:
        return self.note or (None if self.passes else Note("accumulation.nothing", {}))

    def title(self) -> str:
        steps = sum(len(one.steps) for one in self.passes)
        return self.say("accumulation.title", passes=len(self.passes), steps=steps)

    def lines(self) -> list[str]:
        said = []
        for at, one in enumerate(self.passes[:SHOWN], 1):
            loss = "–" if one.loss is None else shown_number(one.loss)
            norms = {"before": shown_number(one.before), "after": shown_number(_float(one.after))}
            said.append(self.say("accumulation.pass", number=at, loss=loss, **norms))
            said += [self.say("accumulation.stepped", norm=shown_number(norm)) for norm in one.steps]
        said += self._remarks()
        left = next((at for at, one in enumerate(reversed(self.passes)) if one.steps), 0)
        return [*said, self.say("accumulation.left", count=left)] if left else said

    def _figure(self) -> Figure:
        passes = self.passes[:SHOWN]
        figure = new_figure(8, 4.4)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 3])
        places = range(1, len(passes) + 1)
        few = len(passes) <= 30
        losses = [_float(one.loss) for one in passes]
        above.plot(places, losses, "o-", color="C0", linewidth=1.2, markersize=6 if few else 3)
        above.set_ylabel(self.say("accumulation.loss").replace(" ", "\n"))
        self._sawtooth(below, passes, few)
        below.set_ylabel(self.say("accumulation.norm"))
        below.set_xlabel(self.say("accumulation.across"))
        stepped = [at + 0.5 for at, one in zip(places, passes) if one.steps]
        for axes in (above, below):
            axes.grid(axis="y")
            axes.margins(y=0.15)  # keep the highest marker whole
            axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
            for index, place in enumerate(stepped):
                label = self.say("accumulation.step") if index == 0 and axes is below else None
                axes.axvline(place, color="C3", linestyle=":", linewidth=1.6, label=label)
        below.set_xlim(0.4, len(passes) + 0.6)
        mark_whole_numbers(below.xaxis)
        figure.align_ylabels()
        figure.legend(*below.get_legend_handles_labels(), loc="outside lower left", ncols=3)
        above.set_title("\n".join(self._remarks()), fontweight="normal")
        return figure

    def _remarks(self) -> list[str]:
        """Return sentences on what the curves cannot show.

        A sentence tells of norms that are not finite, another of passes beyond the first `SHOWN`.
        """
        said, finite = [], [math.isfinite(one.before + _float(one.after)) for one in self.passes[:SHOWN]]
        if not all(finite):
            places = [str(at) for at, fine in enumerate(finite, 1) if not fine]
            said.append(self.say("accumulation.not_finite", places=short(", ".join(places))))
        if len(self.passes) > SHOWN:
            said.append(self.say("accumulation.first", shown=SHOWN, count=len(self.passes)))
        return said

    def _sawtooth(self, axes: Axes, passes: list[Pass], few: bool) -> None:
        """Draw the gradient norm.

        The norm rises during a pass. Between passes it is level, or falls if the gradients are set to zero.
        """
        for at, one in enumerate(passes, 1):
            axes.plot([at - 0.2, at + 0.2], [one.before, _float(one.after)], "-", color="C1", linewidth=2.4)
            if at < len(passes):
                axes.plot([at + 0.2, at + 0.8], [_float(one.after), passes[at].before], ":", color="C1", linewidth=1.2)
        places, size = range(1, len(passes) + 1), 6 if few else 3
        before, after = [one.before for one in passes], [_float(one.after) for one in passes]
        hollow: Any = {"markerfacecolor": axes.get_facecolor(), "markeredgewidth": 1.5, "markersize": size}
        left, right = [at - 0.2 for at in places], [at + 0.2 for at in places]
        axes.plot(left, before, "s", color="C1", label=self.say("accumulation.before"), **hollow)
        axes.plot(right, after, "s", color="C1", label=self.say("accumulation.after"), markersize=size)


def plot_accumulation(what: Any) -> Accumulation:
    """Record gradients and optimizer steps inside the `with` block, and plot them.

    `with plot_accumulation(optimizer) as seen:` begins a `with` block that contains the training loop; `seen` is then
    the plot. `what` is an optimizer, a model, a parameter, or a list of parameters. Each backward pass that fills
    `.grad` is recorded: its loss, the norm of all gradients before and after, and the optimizer steps that follow.
    Recording does not change the results, and leaves no hook. Never raises: for another `what` the plot says what is
    expected, and the `with` block runs all the same.
    """
    language = SESSION.speaks
    watched, note = _watched(what), None
    if not watched:
        note = Note("accumulation.what", {"got": type(what).__name__})
    elif not any(leaf.is_leaf and leaf.requires_grad for leaf in watched):
        note = Note("accumulation.frozen", {})
    return Accumulation(language, watched, note)


def _watched(what: Any) -> tuple[torch.Tensor, ...]:
    items: Iterable[Any] = ()
    if isinstance(what, torch.optim.Optimizer):
        items = [parameter for group in what.param_groups for parameter in group["params"]]
    elif isinstance(what, torch.nn.Module):
        items = what.parameters()
    elif isinstance(what, torch.Tensor):
        items = [what]
    elif isinstance(what, Iterable) and not isinstance(what, (str, bytes)):
        items = what
    found = list({id(item): item for item in items}.values())
    return tuple(found) if all(isinstance(item, torch.Tensor) for item in found) else ()


def _loss(roots: Any) -> float | None:
    first = next(iter(roots), None)
    try:
        return float(first.detach()) if isinstance(first, torch.Tensor) and first.numel() == 1 else None
    except (RuntimeError, NotImplementedError):  # complex, or without numbers
        return None


def _float(value: float | None) -> float:
    return math.nan if value is None else value
