"""What all plots share: the course's style, SVG and PNG of one figure, and the text that says the same.

Figures are made without pyplot, and matplotlib's settings are as before afterwards: the learner's own plots do not see
that there were others.
"""

from __future__ import annotations

import hashlib
import io
import re
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context, style
from matplotlib.figure import Figure

from ...checking.card import aside, inline
from ...language import Note
from ...messages.plots import word
from ..phrases import text_is_enough
from ..render.svg import svg_element

STYLE = Path(__file__).parents[3] / "assets" / "autograd.mplstyle"
PIXELS = 96  # of the page, to an inch
_SCALE = 2  # pixels of the PNG for one of the page: sharp on a dense screen
# Whatever the style: text stays text, "$" in a name is no formula, and the same plot is the same SVG.
_ALWAYS: Any = {"svg.fonttype": "none", "text.parse_math": False, "svg.hashsalt": "autograd"}
_READ = 12  # lines of text that a screen reader is given with the picture; the rest is in the text
_ONE = threading.Lock()  # matplotlib's settings belong to the process


@dataclass(frozen=True)
class Plot(ABC):
    """A plot in one language. Shows as SVG or PNG, prints as text; the fields of each kind are its data."""

    language: str

    @abstractmethod
    def title(self) -> str:
        """What is shown, in a few words."""

    @abstractmethod
    def lines(self) -> list[str]:
        """The facts of the plot, one to a line."""

    @abstractmethod
    def _figure(self) -> Figure:
        """A new figure without its title. Called while the course's style is in force."""

    def figure(self) -> Figure:
        """A new figure with its title. Called while the course's style is in force."""
        figure = self._figure()
        figure.suptitle(self.title(), x=0.02, ha="left", fontsize=10.5, fontweight="bold")
        return figure

    def refused(self) -> Note | None:
        """Why there is nothing to plot, if there is not."""
        return None

    def say(self, id: str, **parameters: object) -> str:
        return word(id, self.language, **parameters)

    def __repr__(self) -> str:
        if (note := self.refused()) is not None:
            return self.say(note.id, **note.parameters)
        return "\n".join([self.title(), *self.lines()])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any] | tuple[dict[str, Any], dict[str, Any]]:
        if self.refused() is not None:
            return {"text/html": aside(f"<p>{inline(repr(self))}</p>"), "text/plain": repr(self)}
        if text_is_enough():
            return {"text/plain": repr(self)}
        with _styled():
            figure = self.figure()
            svg = _svg(figure, "\n".join([self.title(), *self.lines()[:_READ]]))
            image = io.BytesIO()
            figure.savefig(image, format="png", dpi=_SCALE * PIXELS)
        width, height = (round(float(inches) * PIXELS) for inches in figure.get_size_inches())
        bundle = {"image/svg+xml": svg, "image/png": image.getvalue(), "text/plain": repr(self)}
        return bundle, {"image/png": {"width": width, "height": height}}


@dataclass(frozen=True, repr=False)
class Refused(Plot):
    """No plot, but a sentence that says why, and what to do."""

    note: Note

    def refused(self) -> Note:
        return self.note

    def title(self) -> str:
        return repr(self)

    def lines(self) -> list[str]:
        return []

    def _figure(self) -> Figure:
        return Figure()


@contextmanager
def _styled() -> Iterator[None]:
    """The course's style in place of the learner's settings; matplotlib's own where the file is out of reach."""
    wanted = ["default", str(STYLE)] if STYLE.is_file() else ["default"]
    with _ONE, warnings.catch_warnings(), style.context(wanted), rc_context(_ALWAYS):
        # A letter that the font lacks is a box in the PNG; a warning on stderr would cost a graded cell its points.
        warnings.simplefilter("ignore")
        yield


def _svg(figure: Figure, says: str) -> str:
    """The figure as an element of a page; `says` is for those who do not see it."""
    file = io.StringIO()
    figure.savefig(file, format="svg", dpi=_SCALE * PIXELS)  # of what is rasterized in it
    drawn = file.getvalue()
    drawn = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", drawn, flags=re.DOTALL)  # a style reaches all of the page
    drawn = re.sub(r'<g id="[^"]*"', "<g", drawn)  # the same ones in every figure
    return svg_element(_own_ids(drawn), says).replace("<svg ", '<svg stroke-linejoin="round" ', 1)


def _own_ids(drawn: str) -> str:
    """Ids that follow from the picture: matplotlib takes them from addresses in memory, and a page shares them all."""
    names = dict.fromkeys(re.findall(r'\bid="([^"]+)"', drawn))
    if not names:
        return drawn
    places = re.compile(rf'(\bid="|#)({"|".join(map(re.escape, names))})\b')
    mark = hashlib.sha256(places.sub(r"\1", drawn).encode()).hexdigest()[:8]
    new = {name: f"a{mark}-{index}" for index, name in enumerate(names)}
    return places.sub(lambda found: found[1] + new[found[2]], drawn)


def short(text: str, length: int = 28) -> str:
    """`text` on one line, cut where it is too long for a label."""
    line = " ".join(str(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def number(value: float) -> str:
    """Three digits of a value."""
    return f"{value:.3g}"


def power(value: float) -> str:
    """One digit and a power of ten, of a number that is not negative: 10⁻⁵, 6·10⁻⁶."""
    if value <= 0:
        return "0"
    digit, exponent = f"{value:.0e}".split("e")
    raised = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return raised if digit == "1" else f"{digit}·{raised}"


def points(value: float) -> str:
    """Points as a gradebook shows them."""
    return f"{round(value, 2):g}"


def unit(most: int) -> tuple[int, str]:
    """The unit in which to show up to `most` bytes: its size, and the id of its name."""
    for size, id in ((10**6, "unit.MB"), (10**3, "unit.kB")):
        if most >= 2 * size:
            return size, id
    return 1, "unit.B"
