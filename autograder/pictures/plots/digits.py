"""`plot_digits`: handwritten digits with a net's answers while it learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...language import Note
from ...session import SESSION
from .base import NotPlotted, Plot, new_figure, text_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN, MOMENTS = 9, 8  # pictures in a row, and rows
_SIDE = 8  # pixels
_STEP, _ROW = 10, 18.5  # from picture to picture and from row to row, in pixels


@dataclass(frozen=True, repr=False)
class DigitsPlot(Plot):
    """The first pictures and the answers to them, moment by moment.

    `moments` maps the number of batches so far to the answers to all pictures.
    """

    pictures: tuple[tuple[tuple[float, ...], ...], ...]
    labels: tuple[int, ...]
    moments: dict[int, tuple[int, ...]]

    def title(self) -> str:
        return self.say("digits.title")

    def lines(self) -> list[str]:
        rows = [f"{self._heading(at)}: {', '.join(self._answers(at))}" for at in self.moments]
        return [*rows, self.say("digits.wrong")]

    def _heading(self, batches: int) -> str:
        count = len(self.labels)
        right = sum(answer == label for answer, label in zip(self.moments[batches], self.labels))
        return self.say("digits.moment", batches=batches, right=right, count=count, percent=round(100 * right / count))

    def _answers(self, batches: int) -> list[str]:
        pairs = zip(self.moments[batches][: len(self.pictures)], self.labels)
        return [str(label) if answer == label else f"{answer}≠{label}" for answer, label in pairs]

    def _figure(self) -> Figure:
        figure = new_figure(4.2, 0.6 + 0.86 * len(self.moments))
        axes = figure.add_subplot()
        for row, batches in enumerate(self.moments):
            axes.text(0, _ROW * row - 1, self._heading(batches), va="bottom")
            for column, answer in enumerate(self._answers(batches)):
                self._draw(axes, column, row, answer)
        axes.set(xlim=(-1, _STEP * SHOWN), ylim=(_ROW * len(self.moments) - 3, -5), aspect="equal")
        axes.set_axis_off()
        figure.supxlabel(self.say("digits.wrong"), x=0.02, ha="left", fontsize=10)
        return figure

    def _draw(self, axes: Axes, column: int, row: int, answer: str) -> None:
        """Draw a picture with an answer below it. A wrong answer is bold, and its picture has a frame."""
        left, top = _STEP * column, _ROW * row
        box = (left, left + _SIDE, top + _SIDE, top)
        axes.imshow(self.pictures[column], cmap="Greys", vmin=0, vmax=1, extent=box, interpolation="nearest")
        wrong = "≠" in answer
        colour = "C1" if wrong else text_colour()
        weight = "bold" if wrong else "normal"
        axes.text(left + _SIDE / 2, top + _SIDE + 0.7, answer, color=colour, weight=weight, ha="center", va="top")
        if wrong:
            axes.plot([box[0], box[1], box[1], box[0], box[0]], [top, top, box[2], box[2], top], "C1-", linewidth=1.5)


def plot_digits(pictures: Any, labels: Any, moments: Any) -> Plot:
    """Plot the first nine pictures with a net's answers, one row for each moment of its training.

    `pictures` has a row of 64 numbers from 0 to 1 for each picture, `labels` the digits that they show. `moments` is a
    dict from a number of batches to the net's answers to all pictures. Above each row stands how many of all are right.
    Never raises: for other arguments the plot says what is expected.
    """
    language = SESSION.speaks
    try:
        shown = pictures[:SHOWN].detach().reshape(-1, _SIDE, _SIDE).tolist()
        answers = {int(batches): _digits(found) for batches, found in [*moments.items()][:MOMENTS]}
        truth = _digits(labels)
        if not answers or not truth or {len(truth)} != {len(pictures), *map(len, answers.values())}:
            raise ValueError
    except Exception:  # a learner's objects may raise anything
        return NotPlotted(language, Note("digits.what", {}))
    return DigitsPlot(language, tuple(tuple(map(tuple, each)) for each in shown), truth, answers)


def _digits(found: Tensor) -> tuple[int, ...]:
    """Return a tensor of digits as numbers. Raises ValueError if it holds anything else."""
    digits = tuple(map(int, torch.as_tensor(found).tolist()))
    if not {*digits} <= {*range(10)}:
        raise ValueError
    return digits
