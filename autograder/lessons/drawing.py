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
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: var(--c); }
.code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
path, rect { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
rect { fill: var(--paper); } .area { fill: var(--c); fill-opacity: .2; } .solid { fill: var(--c); }
"""
Point = tuple[float, float]


class Look(Enum):
    """A colour by what a part means.

    Its value is the name in the palette.
    """

    INK = "ink"
    SOFT = "soft"
    LINE = "line"
    ACCENT = "accent"  # what flows forward, and the main thing
    LEAD = "lead"  # what flows back, and the second thing
    RIGHT = "right"
    WRONG = "wrong"
    PAPER = "paper"


@dataclass
class Drawing:
    """A drawing of `WIDTH` by `height` units.

    `says` describes it for those who do not see it.
    """

    says: Text
    height: float = 210
    _parts: list[Text] = field(default_factory=list)

    def line(self, *points: Point, look: Look = Look.INK, dashed: bool = False, arrow: bool = False) -> None:
        """Add a line through points. With `arrow`, its last point has a head."""
        dashes = ' stroke-dasharray="2 5"' if dashed else ""
        self._add(f'<path class="{look.value}" d="{_way(points)}"{dashes}/>')
        if arrow:
            (x0, y0), (x, y) = points[-2:]
            turn = math.degrees(math.atan2(y - y0, x - x0))
            place = f"translate({_number(x)} {_number(y)}) rotate({_number(turn)})"
            self._add(f'<path class="{look.value} solid" stroke="none" transform="{place}" d="M2 0L-8 5V-5Z"/>')

    def area(self, *points: Point, look: Look = Look.ACCENT) -> None:
        """Add an area in a light tint, inside a line through points."""
        self._add(f'<path class="{look.value} area" style="stroke:none" d="{_way(points)}Z"/>')

    def box(
        self, x: float, y: float, width: float, height: float, *, look: Look = Look.INK, filled: bool = False
    ) -> None:
        """Add a rectangle of paper, or in a light tint of its colour. (x, y) is its left top."""
        kind = f"{look.value} area" if filled else look.value
        place = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
        self._add(f'<rect class="{kind}" {place} rx="4"/>')

    def dot(self, x: float, y: float, *, look: Look = Look.INK, radius: float = 4) -> None:
        self._add(f'<circle class="{look.value} solid" cx="{_number(x)}" cy="{_number(y)}" r="{radius}"/>')

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
        kind = f"{look.value} code" if code else look.value
        opening = f'<text class="{kind}" x="{_number(x)}" y="{_number(y + 0.35 * size)}" text-anchor="{at}"'
        opening += f' style="{style}">' if style else ">"
        self._parts.append(Text(*(f"{opening}{escape(each, quote=False)}</text>" for each in both)))

    def svg(self, language: str) -> str:
        """Return the drawing as the text of an SVG file, in the colours of our pages, light and dark."""
        size = f'width="{WIDTH}" height="{_number(self.height)}"'
        paper = f'<rect {size} rx="8" stroke="none"/>'
        colours = "".join(f".{look.value} {{ --c: var(--{look.value}); }}" for look in Look)
        parts = "".join(part.read(language) for part in self._parts)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {_number(self.height)}">'
        return f"{head}<style>{palette()}{colours}{_STYLE}</style>{paper}{parts}</svg>"

    def _add(self, part: str) -> None:
        self._parts.append(Text.same(part))


@dataclass(frozen=True)
class Axis:
    """A scale from values to places.

    `low` is drawn at `start`, `high` at `end`.
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def _way(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
