"""`play`: what a function shows at several values."""

from __future__ import annotations

import base64
import re
from dataclasses import replace

import pytest
import torch
from matplotlib.figure import Figure

from autograder import draw, play
from autograder.language import LANGUAGES
from autograder.pictures.play import Film
from autograder.session import SESSION


def _html(film: object) -> str:
    assert isinstance(film, Film)
    return str(film._repr_mimebundle_()["text/html"])


def test_a_frame_has_what_was_printed_and_what_was_returned() -> None:
    def triple(K: int) -> int:
        print(f"<{K}>")
        return 3 * K

    film = play(triple, K=[1, 2])
    assert repr(film) == "K = 1\n<1>\n3\n\nK = 2\n<2>\n6"
    assert re.findall(r"<summary[^>]*><strong>(.*?)</strong>", _html(film)) == ["K = 1", "K = 2"]
    assert "&lt;2&gt;" in _html(film)


@pytest.mark.parametrize("language", LANGUAGES)
def test_pictures_of_the_course_and_figures_are_drawn_in_the_film_s_language(language: str) -> None:
    def graph(power: int) -> object:
        x = torch.tensor(3.0, requires_grad=True)
        return draw(x**power)

    def curve(power: int) -> Figure:
        figure = Figure(figsize=(2, 1))
        figure.add_subplot().plot([0, 1], [0, power])
        return figure

    SESSION.language = "en"
    for show in (graph, curve):
        film = play(show, power=[2, 3])
        assert isinstance(film, Film)
        html = _html(replace(film, language=language))
        drawn = re.findall(r'<img alt="([^"]*)"[^>]*base64,([^"]*)"', html)
        assert len(drawn) == 2
        assert all(b"<svg" in base64.b64decode(data) for _, data in drawn)


def test_one_argument_is_turned() -> None:
    SESSION.language = "en"
    assert "one argument, here there are 2" in repr(play(print, a=[1], b=[2]))
    assert "one argument, here there are 0" in repr(play(print))
    assert "no value of `K`" in repr(play(print, K=[]))


def test_what_the_function_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        play(lambda K: 1 / K, K=[1, 0])
