"""`plot_jacobian`: a Jacobian and its vector products as heat maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
import torch

from ...language import Note
from ...session import SESSION
from ..graph.torch_objects import dtype_of
from ..text_form import error_said, shape
from .base import NotPlotted, Plot, new_figure, short, shown_number, text_colour
from .compare import failure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENTRIES = 2500  # entries of a matrix; with more, cells are too small


def given_matrix(matrix: Any) -> torch.Tensor | Note:
    """Return `matrix` in float64, or a note on why it cannot be plotted."""
    if not isinstance(matrix, torch.Tensor):
        return Note("jacobian.what", {"got": type(matrix).__name__})
    if matrix.dim() != 2 or matrix.numel() == 0:
        return Note("jacobian.matrix", {"shape": shape(matrix.shape)})
    if matrix.is_complex():
        return Note("jacobian.complex", {"name": "J"})
    return checked("J", matrix)


def jacobian_at(function: Callable[[torch.Tensor], Any], x: Any) -> torch.Tensor | Note:
    """Return the Jacobian of `function` at `x`, or a note on why it cannot be plotted.

    The shape is (outputs, inputs).
    """
    if x is None:
        return Note("jacobian.no_x", {})
    if not isinstance(x, torch.Tensor):
        return Note("jacobian.what", {"got": type(x).__name__})
    if x.is_complex():
        return Note("jacobian.complex", {"name": "x"})
    if not x.is_floating_point():
        return Note("jacobian.integers", {"name": "x", "dtype": dtype_of(x)})
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            point = x.detach().clone().requires_grad_()
            y = function(point)
            if not isinstance(y, torch.Tensor):
                return Note("jacobian.not_tensor", {"got": type(y).__name__})
            if y.is_complex():
                return Note("jacobian.complex", {"name": "f(x)"})
            if not y.requires_grad:
                return Note("jacobian.constant", {})
            size = (y.numel(), x.numel())
            if not 0 < y.numel() * x.numel() <= ENTRIES:
                return _large(size) if all(size) else Note("jacobian.matrix", {"shape": shape(size)})
            rows = jacobian_rows(y, point)
    except Exception as error:  # the learner's function may raise anything
        return failure("plot_jacobian", error)
    return checked("J", rows)


def jacobian_rows(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return the Jacobian of `y` with respect to `x`, of shape (outputs, inputs).

    Each row is a product vᵀJ with a one-hot v.
    """
    return torch.stack(
        [torch.autograd.grad(entry, x, retain_graph=True, materialize_grads=True)[0].flatten() for entry in y.flatten()]
    )


def given_vector(name: str, given: Any, wanted: int, matrix: torch.Tensor) -> torch.Tensor | Note:
    """Return the argument `given` as a vector, or a note on why it does not fit.

    `name` is "left" or "right". `wanted` is the number of rows or of columns of `matrix`.
    """
    if not isinstance(given, torch.Tensor) or given.is_complex():
        got = dtype_of(given) if isinstance(given, torch.Tensor) else type(given).__name__
        return Note("jacobian.vector", {"name": name, "got": got})
    if given.numel() != wanted:
        size = {"got": given.numel(), "shape": shape(matrix.shape), "wanted": wanted}
        return Note(f"jacobian.{name}.shape", size)
    return checked(name, given.flatten())


def checked(name: str, tensor: torch.Tensor) -> torch.Tensor | Note:
    """Return the tensor in float64 if it can be plotted, else a note that says why.

    `name` is the tensor's name in the note.
    """
    if tensor.numel() > ENTRIES:
        return _large(tensor.shape)
    try:
        dense = tensor.detach() if tensor.layout is torch.strided else tensor.detach().to_dense()
        plain = dense.to("cpu", torch.float64)
        strange = (~plain.isfinite()).nonzero().tolist()
    except (RuntimeError, NotImplementedError) as error:
        return Note("jacobian.unreadable", {"name": name, "error": short(error_said(error), 120)})
    if strange:
        return Note("jacobian.not_finite", {"name": name, "count": len(strange), "place": strange[0]})
    return plain


def _large(size: Sequence[int]) -> Note:
    return Note("jacobian.large", {"shape": shape(size), "most": ENTRIES})


_WRITTEN = 72  # entries up to which a matrix shows its numbers
_LINES = "#b9bec7"  # lines between the cells
_Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, repr=False)
class Jacobian(Plot):
    """A plot of a matrix, and of its products with two vectors.

    `left_product` is vᵀJ for the vector `left`, `right_product` is J v for `right`.
    """

    matrix: _Matrix
    left: tuple[float, ...] | None
    right: tuple[float, ...] | None
    left_product: tuple[float, ...] | None
    right_product: tuple[float, ...] | None

    def _size(self) -> tuple[int, int]:
        return len(self.matrix), len(self.matrix[0])

    def title(self) -> str:
        alone = self.left is None and self.right is None
        return self.say("jacobian.title" if alone else "jacobian.title.products", shape=shape(self._size()))

    def lines(self) -> list[str]:
        said = [self.say("jacobian.row", index=i, numbers=_numbers(row)) for i, row in enumerate(self.matrix)]
        sides = (("left", "vᵀJ", self.left, self.left_product), ("right", "J v", self.right, self.right_product))
        for side, name, vector, product in sides:
            if vector is not None and product is not None:
                what, places = self.say(f"jacobian.{side}"), ", ".join(map(str, _picked(vector))) or "–"
                said.append(self.say("jacobian.picked", what=what, numbers=_numbers(vector), places=places))
                said.append(self.say("jacobian.product", what=name, numbers=_numbers(product)))
        return said

    def _figure(self) -> Figure:
        """Draw the matrix J once for each vector.

        Vector and product stand beside J in the order in which they are multiplied.
        """
        rows, columns = self._size()
        sides = [side for side in ("left", "right") if getattr(self, side) is not None] or ["none"]
        # A vector is about as wide as one entry, within limits, so that rows and columns stay aligned.
        wide, high = max(1.0, columns / 10), max(1.0, rows / 9)
        height = min(max(0.42 * rows, 1.2), 3.3)  # with two sides the plot fits a page of 720 pixels
        extra = (0.95 if "left" in sides else 0) + (0.95 if "right" in sides else 0)
        figure = new_figure(8.0 if len(sides) > 1 or columns > 8 else 5.2, height + extra + 1.05)
        blocks = {
            "left": [["v", "J"], [".", "vJ"]],
            "right": [["v", "."], ["J", "Jv"]],
            "none": [["J"]],
        }
        figures = figure.subfigures(1, len(sides), squeeze=False)[0]
        for side, part in zip(sides, figures):
            ratios: dict[str, Any] = {}
            if side == "left":
                ratios = {"width_ratios": [wide, columns], "height_ratios": [rows, high]}
            elif side == "right":
                ratios = {"width_ratios": [columns, wide], "height_ratios": [high, rows]}
            axes = part.subplot_mosaic(blocks[side], gridspec_kw=ratios)
            self._block(axes, side)
            if side != "none":
                part.suptitle(self.say(f"jacobian.{side}"), fontsize=10)
        figure.supxlabel(self.say("jacobian.white"), fontsize=9)
        return figure

    def _block(self, axes: dict[Any, Axes], side: str) -> None:
        rows, columns = self._size()
        scale = _largest(*self.matrix)  # the products use the same scale unless they exceed it
        written = rows * columns <= _WRITTEN and columns <= 10
        heat = axes["J"]
        _heat(heat, self.matrix, scale, written, "J", below=side == "right")
        if side == "left" and self.left is not None and self.left_product is not None:
            _heat(axes["v"], tuple((entry,) for entry in self.left), _largest(self.left), rows <= 12, "v")
            beyond = max(scale, _largest(self.left_product))
            _heat(axes["vJ"], (self.left_product,), beyond, columns <= 10, "vᵀJ", below=True)
            for i in _outlined(self.left):
                _outline(heat, 0, i, columns, 1)
        if side == "right" and self.right is not None and self.right_product is not None:
            _heat(axes["v"], (self.right,), _largest(self.right), columns <= 10, "v")
            beyond = max(scale, _largest(self.right_product))
            _heat(axes["Jv"], tuple((entry,) for entry in self.right_product), beyond, rows <= 12, "J v", below=True)
            for j in _outlined(self.right):
                _outline(heat, j, 0, 1, rows)


def plot_jacobian(what: Any, x: Any = None, *, left: Any = None, right: Any = None) -> Plot:
    """Plot a Jacobian J as a heat map, and its products with vectors.

    `left` is v in vᵀJ, which backward computes, and `right` is v in J v. `what` is a matrix of shape (m, n), or a
    function of one tensor that is differentiated at `x`. Outputs and inputs of any shape are flattened. `left` has m
    numbers, `right` has n. `.grad` and random state do not change. Never raises: for other arguments the plot says what
    is expected.
    """
    language = SESSION.speaks
    matrix = jacobian_at(what, x) if callable(what) else given_matrix(what)
    if isinstance(matrix, Note):
        return NotPlotted(language, matrix)
    vectors: list[torch.Tensor | None] = []
    for name, given, wanted in (("left", left, matrix.shape[0]), ("right", right, matrix.shape[1])):
        vector = None if given is None else given_vector(name, given, wanted, matrix)
        if isinstance(vector, Note):
            return NotPlotted(language, vector)
        vectors.append(vector)
    v, u = vectors
    products = [None if v is None else checked("vᵀJ", v @ matrix), None if u is None else checked("J v", matrix @ u)]
    said: list[tuple[float, ...] | None] = []
    for found in (v, u, *products):
        if isinstance(found, Note):  # a sum of large numbers overflows to inf
            return NotPlotted(language, found)
        said.append(None if found is None else tuple(found.tolist()))
    return Jacobian(language, tuple(tuple(row) for row in matrix.tolist()), *said)


def _picked(vector: tuple[float, ...]) -> list[int]:
    return [index for index, entry in enumerate(vector) if entry != 0]


def _outlined(vector: tuple[float, ...]) -> list[int]:
    """Return the indices of the matrix rows or columns to outline.

    They are the indices of the entries of `vector` that are not 0. If `vector` has no 0, return [].
    """
    return picked if len(picked := _picked(vector)) < len(vector) else []


def _largest(*rows: tuple[float, ...]) -> float:
    return max(abs(entry) for row in rows for entry in row) or 1.0


def _numbers(row: tuple[float, ...]) -> str:
    return ", ".join(map(shown_number, row))


def _heat(axes: Axes, matrix: _Matrix, scale: float, written: bool, title: str, *, below: bool = False) -> None:
    """Draw a matrix as coloured squares.

    The colours range from -scale to scale. `written` says whether numbers are written into the squares, `below` whether
    the title is put below.
    """
    small = len(matrix) * len(matrix[0]) <= _WRITTEN
    lines = {"edgecolors": _LINES, "linewidth": 0.8} if small else {"rasterized": True}
    shares = [[entry / scale for entry in row] for row in matrix]  # matplotlib's own scaling could overflow
    mesh = axes.pcolormesh(shares, cmap="RdBu", vmin=-1, vmax=1, **lines)
    axes.invert_yaxis()
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    if below:
        axes.set_xlabel(title, fontweight="bold", labelpad=4)
    else:
        axes.set_title(title, loc="center")
    if written:
        for i, row in enumerate(matrix):
            for j, entry in enumerate(row):
                red, green, blue = mesh.to_rgba(numpy.array([entry / scale]))[0, :3] ** 2.2
                ink = "#ffffff" if 0.21 * red + 0.72 * green + 0.07 * blue < 0.2 else "#111827"
                axes.text(j + 0.5, i + 0.5, f"{entry:.2g}", color=ink, ha="center", va="center", fontsize=8.5)


def _outline(axes: Axes, left: float, top: float, width: float, height: float) -> None:
    from matplotlib.patches import Rectangle

    ink = text_colour()
    axes.add_patch(Rectangle((left, top), width, height, fill=False, edgecolor=ink, linewidth=2.5, clip_on=False))
