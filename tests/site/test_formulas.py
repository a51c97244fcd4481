"""Formulas as MathML: the spaces around signs."""

from __future__ import annotations

import re

import pytest

from autograder.lessons.collection import COURSE
from autograder.lessons.mathml import render_markdown, to_mathml


@pytest.mark.parametrize(
    ("tex", "marked"), [("w = -1", True), ("(-32 - 8)", True), ("a - b", False), ("(a) - b", False), ("-8", False)]
)
def test_a_minus_stands_at_its_number(tex: str, marked: bool) -> None:
    """A minus that is first in its row needs no mark: a browser takes it for a prefix."""
    (first, *_) = re.findall(r'<mo( form="prefix")?>&#x02212;</mo>', to_mathml(tex, block=False))
    assert bool(first) == marked


@pytest.mark.parametrize(("tex", "spaced"), [(r"2\sin a", True), (r"\cos(x)", False), (r"\alpha x", False)])
def test_a_name_stands_apart_from_its_argument(tex: str, spaced: bool) -> None:
    assert ("<mspace" in to_mathml(tex, block=False)) == spaced


@pytest.mark.parametrize("language", ["en", "ru"])
def test_no_sign_of_punctuation_is_set_as_an_operator(language: str) -> None:
    """Browsers put a space before an operator: a full stop behind a formula floated."""
    for lesson in COURSE.read():
        for cell in lesson.cells:
            if cell.kind == "markdown" and cell.language == language:
                shown = re.sub(r"\$([^$\n]+)\$([,.;:!?)])", r"$\1{\2}$", cell.source)
                assert not re.search(r"<mrow><mo>&#x000(2E|2C|3B|3A|21|3F);</mo></mrow>", render_markdown(shown))
