"""Plots, all in the same way: picture and text, colours, words, the command itself."""

from __future__ import annotations

import itertools
import os
import re
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

import autograder
from autograder import digits, plot_differences, plot_digits, plot_jacobian, plot_memory, plot_saved
from autograder.authoring.lint import refused_stems
from autograder.language import LANGUAGES
from autograder.messages.plots import WORDS
from autograder.pictures.plots import base as plot
from autograder.session import SESSION
from support.pictures import image, shown
from support.plots import DATA, LEFT, NET, RIGHT, J, every_layer, everything, half, loop, plain, progressed, written

pytestmark = pytest.mark.long(25)

PICTURES, LABELS = (each[:20] for each in digits())
PLOTS: dict[str, Callable[[], Any]] = {
    "jacobian": lambda: plot_jacobian(J, left=LEFT, right=RIGHT),
    "jacobian_alone": lambda: plot_jacobian(lambda x: x.sin().outer(x), torch.ones(2)),
    "jacobian_large": lambda: plot_jacobian(torch.eye(40), left=torch.ones(40)),
    "accumulation": lambda: loop()[0],
    "differences": lambda: plot_differences(torch.sin, 1.0),
    "differences_exact": lambda: plot_differences(lambda x: 2 * x, torch.tensor([1.0, 2.0])),
    "digits": lambda: plot_digits(PICTURES, LABELS, {0: (LABELS + 1) % 10, 1000: LABELS}),
    "saved": lambda: plot_saved(NET, DATA, plain, half, every_layer),
    "memory": lambda: plot_memory(DATA, plain, every_layer, everything),
    "memory_wrapped": lambda: plot_memory(DATA, *[plain] * 5),
    "progress": progressed,
}


def open_figures() -> list[int]:
    """Return the numbers of pyplot's figures. Cells of lessons that other tests ran leave some."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot.get_fignums() if pyplot else []


NIGHTLY = pytest.mark.nightly(twin="tests/pictures/test_plots.py::test_every_plot_is_a_picture_and_a_text")


@pytest.mark.parametrize("language", [pytest.param("en", marks=NIGHTLY), "ru"])
@pytest.mark.parametrize("kind", PLOTS)
def test_every_plot_is_a_picture_and_a_text(kind: str, language: str) -> None:
    SESSION.language = language
    made = PLOTS[kind]()
    before, figures = dict(matplotlib.rcParams), open_figures()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg, png, text, metadata = shown(made)
    assert dict(matplotlib.rcParams) == before
    assert open_figures() == figures
    assert text == repr(made) == str(made)
    size = metadata["image/png"]
    assert (2 * size["width"], 2 * size["height"]) == pytest.approx(struct.unpack(">II", png[16:24]), abs=2)
    assert size["width"] <= 800
    again, _ = made._repr_mimebundle_()
    shown_as = image(again["text/html"])
    assert "max-width:100%;height:auto" in shown_as.style
    assert shown_as.alt.startswith(text.splitlines()[0])
    assert svg == shown_as.svg  # the same plot is the same picture
    cyrillic = re.compile("[а-яё]", re.I)
    assert bool(cyrillic.search(text)) == bool(cyrillic.search(" ".join(written(svg)))) == (language == "ru")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", PLOTS)
def test_nothing_that_is_written_is_cut_or_covered(kind: str, language: str) -> None:
    """Texts are apart from each other, and titles and legends from the axes, too."""
    SESSION.language = language
    made = PLOTS[kind]()
    with plot._styled():
        figure = made.figure()
        FigureCanvasAgg(figure).draw()
        renderer = figure._get_renderer()
        texts = [t for t in figure.findobj(matplotlib.text.Text) if t.get_visible() and t.get_text().strip()]
        boxes = {t: t.get_window_extent(renderer) for t in texts}
        page = figure.bbox
        ticks = [label for axes in figure.findobj(matplotlib.axes.Axes) for label in _hidden_ticks(axes)]
        words = [text for part in (figure, *figure.subfigs) for text in part.texts if text.get_text()]
        free = {repr(each): each.get_window_extent() for each in [*words, *figure.legends]}
        parts = free | {f"axes {i}": axes.get_tightbbox() for i, axes in enumerate(figure.axes)}
    drawn = [(t.get_text(), box) for t, box in boxes.items() if t not in ticks]
    assert drawn
    for said, box in drawn:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
        assert inside, said
    for (one, a), (other, b) in itertools.combinations(drawn, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert not (across > 2 and up > 2), (one, other)
    assert not [(one, other) for one in free for other in parts if one != other and free[one].overlaps(parts[other])]


def _hidden_ticks(axes: Any) -> list[Any]:
    """Labels of ticks that lie outside of the axes: matplotlib makes them and does not draw them."""
    hidden = []
    for axis, (low, high) in ((axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim()))):
        for tick in axis.get_major_ticks() + axis.get_minor_ticks():
            if not low - 1e-9 * abs(low) <= tick.get_loc() <= high + 1e-9 * abs(high):
                hidden += [tick.label1, tick.label2]
    return hidden


def test_numbers_are_written_as_the_language_does() -> None:
    wide = torch.ones(1024, 8)
    SESSION.language = "ru"
    for made in (plot_saved(NET, wide, plain), plot_memory(wide, plain)):
        whole, svg = str(made), " ".join(written(shown(made)[0]))
        for text in (whole, svg):
            assert re.search("\\d\N{NO-BREAK SPACE}\\d{3} Б", text)
            assert not re.search(r"\d,\d{3}", text)


def test_what_is_given_as_a_name_cannot_become_markup_or_a_formula() -> None:
    def way(x: torch.Tensor) -> torch.Tensor:
        return NET(x)

    way.__name__ = "<b>$a_b$ & 名前</b>"
    svg = shown(plot_memory(DATA, way))[0]
    assert way.__name__ in written(svg)
    assert way.__name__ in str(plot_saved(NET, DATA, way))


def luminance(colour: Any) -> float:
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Any, other: Any) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_style_has_contrast_on_its_own_paper_for_every_page() -> None:
    with plot._styled():
        style = dict(matplotlib.rcParams)
    paper = style["figure.facecolor"]
    assert to_rgb(paper) == to_rgb(style["axes.facecolor"])
    for key in ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor"):
        assert contrast(style[key], paper) > 7, key
    for key in ("axes.edgecolor", "xtick.color"):
        assert contrast(style[key], paper) > 3, key
    cycle = list(style["axes.prop_cycle"])
    for line in cycle:
        assert contrast(line["color"], paper) > 3.5, line
    assert len({line["linestyle"] for line in cycle}) == len({line["marker"] for line in cycle}) == len(cycle) == 4


# Machado, Oliveira and Fernandes 2009, full severity, for linear RGB.
BLIND = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_colours_of_the_cycle_differ_for_every_eye(kind: str) -> None:
    with plot._styled():
        colours = [to_rgb(line["color"]) for line in matplotlib.rcParams["axes.prop_cycle"]]

    def lab(colour: Any) -> Any:
        linear = np.array([p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in colour])
        seen = np.clip(np.array(BLIND[kind]) @ linear, 0, 1)
        to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
        xyz = np.array(to_xyz) @ seen / [0.9505, 1, 1.089]
        f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])

    for one, other in itertools.combinations(colours, 2):
        assert np.linalg.norm(lab(one) - lab(other)) > 25, (one, other)


def test_the_learners_settings_neither_change_nor_matter() -> None:
    made = plot_memory(DATA, plain)
    usual = shown(made)[0]
    with matplotlib.rc_context({"figure.facecolor": "#000000", "font.size": 30, "axes.grid": True}):
        before = dict(matplotlib.rcParams)
        assert shown(made)[0] == usual
        assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("id", WORDS)
def test_every_sentence_exists_in_both_languages(id: str) -> None:
    text = WORDS[id]
    assert text.en
    assert text.ru
    assert text.placeholders_agree()
    assert not any(stem in text.ru.lower() for stem in refused_stems())


def test_commands_are_offered_and_load_matplotlib_only_when_used() -> None:
    commands = [name for name in autograder.__all__ if name.startswith("plot_")]
    assert len(commands) == 7
    assert all(callable(getattr(autograder, name)) for name in commands)
    code = "import sys, autograder; autograder.draw; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_graded_cell_with_a_plot_says_nothing_on_stderr() -> None:
    code = (
        "import torch, autograder, sys\n"
        "autograder.plot_jacobian(torch.eye(2))._repr_mimebundle_()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=True)
    assert (ran.stdout, ran.stderr) == ("", "")
