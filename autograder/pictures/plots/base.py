"""Base class of all plots: HTML, PNG and text.

Figures are made without pyplot, and matplotlib's settings are restored afterwards. The learner's own plots are
therefore not affected.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...extras import install_command
from ...language import Note
from ...look.image import readable_image
from ...messages.markup import aside, inline
from ...messages.plots import word
from ..text_form import text_is_enough

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("autograd.mplstyle")
PIXELS = 96  # CSS pixels per inch
_SCALE = 2  # PNG pixels per CSS pixel: sharp on a dense screen
# For every style: text stays text, and the same plot gives the same SVG.
_ALWAYS: Any = {"svg.fonttype": "none", "svg.hashsalt": "autograd"}
_OURS: Any = {**_ALWAYS, "text.parse_math": False}  # "$" in a learner's name starts no formula
_READ = 12  # lines of the text that are put into the picture for screen readers
_ONE = threading.RLock()  # matplotlib's settings are global to the process


@dataclass(frozen=True)
class Plot(ABC):
    """A plot in one language, shown as HTML, PNG and text.

    Attributes of a subclass hold the numbers to plot.
    """

    language: str

    @abstractmethod
    def title(self) -> str:
        """Return the title."""

    @abstractmethod
    def lines(self) -> list[str]:
        """Return the content of the plot as text, one fact per line."""

    @abstractmethod
    def _figure(self) -> Figure:
        """Return a new figure without its title. The caller has set the course's matplotlib style."""

    def figure(self) -> Figure:
        """Return a new figure with its title. The caller has set the course's matplotlib style."""
        figure = self._figure()
        figure.suptitle(self.title(), x=0.02, ha="left", fontsize=10.5, fontweight="bold")
        return figure

    def refused(self) -> Note | None:
        """Return a note on why there is nothing to plot, else None."""
        return None

    def say(self, id: str, **parameters: object) -> str:
        return word(id, self.language, **parameters)

    def __repr__(self) -> str:
        if (note := self.refused()) is not None:
            return self.say(note.id, **note.parameters)
        return "\n".join([self.title(), *self.lines()])

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, **_: object
    ) -> dict[str, Any] | tuple[dict[str, Any], dict[str, Any]]:
        if self.refused() is not None:
            return {"text/html": aside(f"<p>{inline(repr(self))}</p>"), "text/plain": repr(self)}
        if text_is_enough():
            return {"text/plain": repr(self)}
        if find_spec("matplotlib") is None:
            remedy = self.say("plot.no_matplotlib", command=install_command("pictures"))
            return {"text/plain": f"{self!r}\n{remedy}"}
        with _styled():
            figure = self.figure()
            drawn = readable_image(figure_svg(figure), "\n".join([self.title(), *self.lines()[:_READ]]))
            bundle = {"text/html": drawn, "text/plain": repr(self)}
            if include is not None and "image/png" not in include:
                return bundle
            bitmap = io.BytesIO()
            figure.set_layout_engine("none")  # it stays: to lay out again took 0.15 of 0.4 s
            figure.savefig(bitmap, format="png", dpi=_SCALE * PIXELS)
        width, height = (round(float(inches) * PIXELS) for inches in figure.get_size_inches())
        return bundle | {"image/png": bitmap.getvalue()}, {"image/png": {"width": width, "height": height}}


@dataclass(frozen=True, repr=False)
class NotPlotted(Plot):
    """A message in place of a plot: the cause and the remedy."""

    note: Note

    def refused(self) -> Note:
        return self.note

    def title(self) -> str:
        return repr(self)

    def lines(self) -> list[str]:
        return []

    def _figure(self) -> Figure:
        return new_figure(1, 1)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure. Width and height are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def text_colour() -> str:
    """Return the colour of texts in matplotlib's current style."""
    from matplotlib import rcParams

    colour: str = rcParams["text.color"]
    return colour


def mark_whole_numbers(axis: Axis, **options: Any) -> None:
    """Put the ticks of an axis at whole numbers. `options` are those of matplotlib's `MaxNLocator`."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, **options))


@contextmanager
def _styled() -> Iterator[None]:
    """Use the course's matplotlib style inside the `with` block."""
    from matplotlib import rc_context, style

    with _ONE, warnings.catch_warnings(), style.context(["default", str(STYLE)]), rc_context(_OURS):
        # A letter that the font lacks is a box in the PNG. A warning on stderr would cost a graded cell its points.
        warnings.simplefilter("ignore")
        yield


def figure_svg(figure: Figure) -> str:
    """Return the figure as the text of an SVG file."""
    from matplotlib import rc_context

    file = io.StringIO()
    with _ONE, rc_context(_ALWAYS):
        figure.savefig(file, format="svg", dpi=_SCALE * PIXELS)  # resolution of rasterized parts
    drawn = re.sub(r"<metadata\b.*?</metadata>\s*", "", file.getvalue(), flags=re.DOTALL)  # it holds the date
    return _own_ids(drawn).replace("<svg ", '<svg stroke-linejoin="round" ', 1)


def _own_ids(drawn: str) -> str:
    """Number the ids in an SVG: matplotlib derives them from memory addresses."""
    names = dict.fromkeys(re.findall(r'\bid="([^"]+)"', drawn))
    if not names:
        return drawn
    places = re.compile(rf'(\bid="|#)({"|".join(map(re.escape, names))})\b')
    new = {name: f"a{index}" for index, name in enumerate(names)}
    return places.sub(lambda found: found[1] + new[found[2]], drawn)


def short(text: str, length: int = 28) -> str:
    """Return `text` on one line, cut to `length` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def shown_number(value: float) -> str:
    """Return a number as text with three significant digits."""
    return f"{value:.3g}"


def power(value: float) -> str:
    """Return a non-negative number as one digit and a power of ten, such as "10⁻⁵" or "6·10⁻⁶"."""
    if value <= 0:
        return "0"
    digit, exponent = f"{value:.0e}".split("e")
    raised = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return raised if digit == "1" else f"{digit}·{raised}"


def points(value: float) -> str:
    """Return points as text, as a gradebook shows them."""
    return f"{round(value, 2):g}"


def unit(most: int) -> tuple[int, str]:
    """Return the unit in which to show up to `most` bytes.

    It is its size and its name's id, such as `(1000, "unit.kB")`.
    """
    for size, id in ((10**6, "unit.MB"), (10**3, "unit.kB")):
        if most >= 2 * size:
            return size, id
    return 1, "unit.B"
