"""`plot_differences`: the error of finite differences against their step size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ...language import Note
from ...session import SESSION
from ..graph.torch_objects import dtype_of
from .base import NotPlotted, Plot, new_figure, power, text_colour
from .compare import failure
from .jacobian import jacobian_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERS = 16  # numbers in a point: each one needs its own function calls
# Four steps per decade. Beyond the last one only rounding errors remain.
_STEPS = {torch.float64: [10 ** (-k / 4) for k in range(2, 53)], torch.float32: [10 ** (-k / 4) for k in range(2, 29)]}


@dataclass(frozen=True)
class Curve:
    """Errors of one kind of finite difference in one dtype.

    `kind` is "one_sided" or "central". `errors` belong to the step sizes `steps`, which go from large to small.
    """

    kind: str
    dtype: str
    steps: tuple[float, ...]
    errors: tuple[float, ...]

    def near(self, index: int) -> float:
        """Return the largest of three errors: the error number `index` in `errors`, and its two neighbours.

        A single error can be small by chance.
        """
        return max(self.errors[max(index - 1, 0) : index + 2])

    @property
    def best(self) -> int:
        """Index of the best step size: the one where `near` is smallest."""
        return min(range(len(self.errors)), key=self.near)


@dataclass(frozen=True, repr=False)
class Differences(Plot):
    """Curves of errors of finite differences.

    An error is the largest difference from the Jacobian of autograd in float64, over all entries.
    """

    curves: tuple[Curve, ...]

    def title(self) -> str:
        return self.say("differences.title")

    def _best(self, curve: Curve) -> str:
        named = self.say(f"differences.{curve.kind}")
        step, error = power(curve.steps[curve.best]), power(curve.near(curve.best))
        return self.say("differences.best", kind=named, dtype=curve.dtype, step=step, error=error)

    def lines(self) -> list[str]:
        said = []
        for curve in self.curves:
            said.append(self._best(curve))
            for step, error in zip(curve.steps, curve.errors):
                said.append(self.say("differences.at", step=power(step), error=power(error)))
        return said

    def _figure(self) -> Figure:
        figure = new_figure(8, 4.4)
        axes = figure.add_subplot()
        positive = [error for curve in self.curves for error in curve.errors if error > 0]
        floor = min(positive, default=1e-17) / 3  # position of an error of 0
        for curve in self.curves:
            shown = [max(error, floor) for error in curve.errors]
            wide = curve.dtype == "float64"
            axes.loglog(
                curve.steps,
                shown,
                color="C0" if curve.kind == "one_sided" else "C1",
                linestyle="-" if wide else "--",
                linewidth=2 if wide else 1.5,
                marker="o" if curve.kind == "one_sided" else "s",
                markersize=3.5,
                label=self._best(curve),
            )
            place = (curve.steps[curve.best], shown[curve.best])
            star = self.say("differences.star") if curve is self.curves[-1] else None
            ink = text_colour()
            axes.plot(*place, "*", color="#ffd166", markeredgecolor=ink, markersize=15, zorder=5, label=star)
        axes.invert_xaxis()
        axes.margins(y=0.12)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: power(value))
        axes.minorticks_off()
        axes.grid()
        axes.set_xlabel(self.say("differences.across"))
        axes.set_ylabel(self.say("differences.up"))
        figure.legend(loc="outside lower left", ncols=1)
        return figure


def plot_differences(f: Any, x: Any = None) -> Plot:
    """Plot the error of finite differences against their step size h.

    Shown are one-sided and central differences, in float64 and float32. `f` is a function of one tensor. `x` is the
    point: a number, or a tensor of at most 16 numbers. The error is that of the worst entry of the Jacobian, compared
    with autograd in float64. Random state and every `.grad` are restored. Never raises: for other arguments the plot
    says what is expected.
    """
    language = SESSION.speaks
    point = _point(x)
    if not callable(f) or point is None:
        got = type(x if callable(f) else f).__name__
        if callable(f) and isinstance(x, torch.Tensor):
            got = dtype_of(x)
        return NotPlotted(language, Note("differences.what", {"got": got}))
    if not 1 <= point.numel() <= NUMBERS:
        return NotPlotted(language, Note("differences.point", {"count": point.numel(), "most": NUMBERS}))
    try:
        with torch.random.fork_rng(devices=[]):
            exact = _exact(f, point)
            curves = () if isinstance(exact, Note) else _curves(f, point, exact)
    except Exception as error:  # the learner's function may raise anything
        return NotPlotted(language, Note("differences.failed", failure("plot_differences", error).parameters))
    if isinstance(exact, Note) or not curves:
        return NotPlotted(language, exact if isinstance(exact, Note) else Note("differences.not_finite", {}))
    return Differences(language, curves)


def _point(x: Any) -> torch.Tensor | None:
    """Return `x` as a float64 tensor. Returns None if `x` is neither a real number nor a tensor of real numbers."""
    if isinstance(x, (bool, complex, str)) or not isinstance(x, (int, float, torch.Tensor)):
        return None
    if isinstance(x, torch.Tensor):
        return x.detach().cpu().double() if x.dtype.is_floating_point else None
    return torch.tensor(float(x), dtype=torch.float64)


def _exact(f: Callable[[torch.Tensor], Any], point: torch.Tensor) -> torch.Tensor | Note:
    """Return the Jacobian of `f` at `point`, of shape (outputs, inputs), or a note on why there is none."""
    with torch.enable_grad():
        x = point.clone().requires_grad_()
        y = f(x)
        if not isinstance(y, torch.Tensor):
            return Note("jacobian.not_tensor", {"got": type(y).__name__})
        if not y.requires_grad or not y.is_floating_point() or not y.numel():
            return Note("jacobian.constant", {})
        exact = jacobian_rows(y, x).double()
    finite = exact.isfinite().all() and y.isfinite().all()
    return exact if finite else Note("differences.not_finite", {})


def _curves(f: Callable[[torch.Tensor], Any], point: torch.Tensor, exact: torch.Tensor) -> tuple[Curve, ...]:
    curves = []
    for dtype, steps in _STEPS.items():
        here = point.to(dtype)
        errors = [_errors(f, here, step, exact) for step in steps]
        for kind, found in zip(("one_sided", "central"), zip(*errors)):
            kept = [(step, error) for step, error in zip(steps, found) if error == error and error != float("inf")]
            if kept:
                curves.append(Curve(kind, dtype_of(here), *map(tuple, zip(*kept))))
    return tuple(curves)


def _errors(f: Callable[[torch.Tensor], Any], x: torch.Tensor, step: float, exact: torch.Tensor) -> tuple[float, float]:
    """Return the largest error of an entry for the one-sided and for the central difference, with step size `step`."""
    h = torch.tensor(step, dtype=x.dtype)
    one_sided, central = [], []
    with torch.no_grad():
        here = f(x.clone()).flatten()
        for index in range(x.numel()):
            away = torch.zeros_like(x)
            away.view(-1)[index] = h
            ahead, behind = f(x + away).flatten(), f(x - away).flatten()
            one_sided.append(((ahead - here) / h).double())
            central.append(((ahead - behind) / (2 * h)).double())
    return tuple(  # type: ignore[return-value]
        float((torch.stack(columns, dim=1) - exact).abs().max()) for columns in (one_sided, central)
    )
