"""The plots of the class report, as SVG.

The colours follow the style of the HTML page: light, dark or for print.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ...checking.verdict import VerdictState

# Fill and text colour by state. The fills differ in lightness, too, and are readable on white and on black.
COLOURS = {
    VerdictState.PASSED: ("#1f7a6d", "#ffffff"),
    VerdictState.NOT_YET: ("#eda547", "#1b1b1b"),
    VerdictState.NOT_ATTEMPTED: ("#c9ced6", "#1b1b1b"),
    "broken": ("#a33b2f", "#ffffff"),
    "held back": ("#b0307a", "#ffffff"),
    VerdictState.OUR_ERROR: ("#7d4bb3", "#ffffff"),
    "no verdict": ("#5d6673", "#ffffff"),
}
_INK, _PAPER, _BAR = "#010203", "#040506", "#070809"  # placeholders for colours of the HTML page
_PAGE = {_INK: "var(--ink)", _PAPER: "var(--paper)", _BAR: "var(--accent)"}
_WIDTH = 9.0  # inches; the HTML page scales the plot
_NAMED = 4  # states per legend line: more would not fit


def histogram(scores: Sequence[float], maximum: float, *, across: str, up: str, says: str) -> str:
    """Return a histogram of scores as SVG. `maximum` is the highest possible score in points.

    `across` is the label of the x axis, `up` that of the y axis. `says` is the text for screen readers.
    """
    counted = bins(scores, maximum)
    with _style():
        figure = Figure(figsize=(_WIDTH, 2.7), layout="constrained")
        axes = figure.add_subplot()
        places = range(len(counted))
        bars = axes.bar(places, [count for _, count in counted], width=0.86, color=_BAR)
        axes.bar_label(bars, [str(count or "") for _, count in counted], padding=2, fontsize=9)
        axes.set_xticks(places, [label for label, _ in counted], fontsize=9)
        axes.set_yticks([])
        axes.margins(x=0.01, y=0.14)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        axes.spines[["left", "top", "right"]].set_visible(False)
        return _svg(figure, says)


def bins(scores: Sequence[float], maximum: float) -> list[tuple[str, int]]:
    """Return a pair for each bin of the histogram: the bin's label, and its number of scores.

    `maximum` is the highest possible score in points. Up to a maximum of 25 points bins are one point wide, otherwise
    wider. Scores are rounded down.
    """
    width = max(1, -(-int(maximum) // 25))
    number = int(max([maximum, *scores])) // width + 1
    counts = [0] * number
    for score in scores:
        counts[int(score) // width] += 1
    labels = [str(i * width) if width == 1 else f"{i * width}–{i * width + width - 1}" for i in range(number)]
    return list(zip(labels, counts))


def shares(rows: Sequence[tuple[str, dict[str, int]]], states: Sequence[tuple[str, str]], *, says: str) -> str:
    """Return a chart as SVG, with a stacked bar per exercise that shows the number of submissions in each state.

    `rows` holds a pair per exercise: its title, and a dict from state to number. `states` holds pairs of state and
    label. `says` is the text for screen readers.
    """
    with _style():
        titles = [textwrap.fill(title, 40) for title, _ in rows]
        lines = -(-len(states) // _NAMED)
        figure = Figure(figsize=(_WIDTH, 0.38 + 0.24 * lines + 0.38 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        left = [0] * len(rows)
        for state, called in states:
            fill, on = COLOURS[state]
            counts = [row.get(state, 0) for _, row in rows]
            bars = axes.barh(range(len(rows)), counts, 0.72, left, color=fill, edgecolor=_PAPER, label=called)
            room = 0.035 * max(sum(row.values()) for _, row in rows)
            labels = [str(count) if count >= room else "" for count in counts]
            axes.bar_label(bars, labels, label_type="center", color=on, fontsize=9)
            left = [start + count for start, count in zip(left, counts)]
        axes.set_yticks(range(len(rows)), titles)
        axes.set_xticks([])
        axes.invert_yaxis()
        axes.margins(x=0, y=0.01)
        axes.spines[:].set_visible(False)
        figure.legend(loc="outside upper left", ncols=_NAMED, frameon=False, handlelength=1, handleheight=1)
        return _svg(figure, says)


def _style() -> AbstractContextManager[None]:
    """Return a context manager that applies the matplotlib settings of the plots."""
    ours: Any = {
        "svg.fonttype": "none",  # keep text as text: searchable, and in the page's own font
        "svg.hashsalt": "autograder",
        "font.size": 10,
        "text.parse_math": False,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
    }
    return matplotlib.rc_context(ours)


def _svg(figure: Figure, says: str) -> str:
    """Return a figure as the text of an SVG element for an HTML page.

    `says` is the text for screen readers.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<(metadata|style)\b.*?</\1>", "", text, flags=re.S)  # its style would affect the whole page
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # ids repeat in every figure
    label = says.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    text = re.sub(r'<svg([^>]*?) width="[^"]*"', rf'<svg role="img" aria-label="{label}"\1', text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    for colour, name in _PAGE.items():
        text = text.replace(colour, name)
    return text
