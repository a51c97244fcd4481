"""Drawings of lessons: lines, boxes and texts in two languages, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from html import escape

from ..language import Text
from ..look import palette

WIDTH = 350  # of every drawing, in units: as many pixels as a phone's page has
LETTERS = 12  # height of letters, in units; with 11 they are still legible on a phone
_STYLE = """\
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: var(--c, var(--ink)); }
.code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
path { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.area { fill: var(--c); fill-opacity: .2; stroke: none; } .solid { fill: var(--c); stroke: none; }
.paper { fill: var(--paper); }
"""
Point = tuple[float, float]


class Look(Enum):
    """A colour of a part, by what the part means. Its value is the name in the palette."""

    INK = "ink"
    SOFT = "soft"
    LINE = "line"
    ACCENT = "accent"  # what flows forward, and the main thing
    LEAD = "lead"  # what flows back, and the second thing
    RIGHT = "right"
    WRONG = "wrong"


@dataclass
class Drawing:
    """A drawing of `WIDTH` by `height` units. `says` describes it for those who do not see it."""

    says: Text
    height: float = 210
    _parts: list[Text] = field(default_factory=list)

    def line(self, *points: Point, look: Look = Look.INK, dashed: bool = False, arrow: bool = False) -> None:
        """Add a line through points. With `arrow`, its last point has a head."""
        dashes = ' stroke-dasharray="2 5"' if dashed else ""
        self._add(f'<path {_colour(look)} d="{_way(points)}"{dashes}/>')
        if arrow:
            (x0, y0), (x, y) = points[-2:]
            turn = math.degrees(math.atan2(y - y0, x - x0))
            place = f"translate({_number(x)} {_number(y)}) rotate({_number(turn)})"
            self._add(f'<path class="solid" {_colour(look)} transform="{place}" d="M1 0L-8 4.5L-8 -4.5Z"/>')

    def area(self, *points: Point, look: Look = Look.ACCENT) -> None:
        """Add an area in a light tint, inside a line through points."""
        self._add(f'<path class="area" {_colour(look)} d="{_way(points)}Z"/>')

    def box(
        self, x: float, y: float, width: float, height: float, *, look: Look = Look.INK, filled: bool = False
    ) -> None:
        """Add a rectangle with round corners on paper, or in a light tint of its colour. (x, y) is its left top."""
        corner = min(5.0, width / 2, height / 2)
        sides = (
            f"M{_number(x + corner)} {_number(y)}h{_number(width - 2 * corner)}q{corner} 0 {corner} {corner}"
            f"v{_number(height - 2 * corner)}q0 {corner} {-corner} {corner}h{_number(2 * corner - width)}"
            f"q{-corner} 0 {-corner} {-corner}v{_number(2 * corner - height)}q0 {-corner} {corner} {-corner}z"
        )
        self._add(f'<path class="paper" {_colour(look)} d="{sides}"/>')
        if filled:
            self._add(f'<path class="area" {_colour(look)} d="{sides}"/>')

    def dot(self, x: float, y: float, *, look: Look = Look.INK, radius: float = 4) -> None:
        self._add(f'<circle {_colour(look)} cx="{_number(x)}" cy="{_number(y)}" r="{radius}" fill="var(--c)"/>')

    def text(
        self,
        x: float,
        y: float,
        said: Text | str,
        *,
        look: Look = Look.INK,
        at: str = "middle",
        size: float = LETTERS,
        code: bool = False,
        bold: bool = False,
    ) -> None:
        """Add a line of text whose middle is at `y`. `at` is what lies at `x`: its "start", "middle" or "end"."""
        both = said if isinstance(said, Text) else Text.same(said)
        style = "" if size == LETTERS else f"font-size:{_number(size)}px;"
        style += "font-weight:bold;" if bold else ""
        kind = ' class="code"' if code else ""
        opening = (
            f'<text{kind} x="{_number(x)}" y="{_number(y + 0.35 * size)}" text-anchor="{at}" '
            f'style="--c:var(--{look.value});{style}">'
        )
        self._parts.append(Text(*(f"{opening}{escape(each, quote=False)}</text>" for each in both)))

    def svg(self, language: str) -> str:
        """Return the drawing as the text of an SVG file, in the colours of our pages, light and dark."""
        size = f"{WIDTH} {_number(self.height)}"
        paper = f'<rect width="{WIDTH}" height="{_number(self.height)}" rx="8" fill="var(--paper)"/>'
        parts = "".join(part.read(language) for part in self._parts)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-size="{LETTERS}">'
        return f"{head}<style>{palette()}{_STYLE}</style>{paper}{parts}</svg>"

    def _add(self, part: str) -> None:
        self._parts.append(Text.same(part))


@dataclass(frozen=True)
class Axis:
    """A scale from values to places: `low` is drawn at `start`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def _colour(look: Look) -> str:
    return f'style="--c:var(--{look.value})"'


def _way(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
