"""An SVG file as an element of a page."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

from ...language import Text, grouped
from ...learner.records import being_graded

_PAGE = 600  # points, 800 pixels: what a notebook leaves for an output on a small screen
# JupyterLab and its exports show the file as an image without a greatest width, and a page that has the element in it
# may have no rule for it either: one wider than the page gets smaller in both, instead of cut off.
_FITS = "max-width:100%;height:auto"


def svg_element(file: str, says: str) -> str:
    """The `<svg>` of `file`, no wider than its page. `says` is for those who do not see it.

    `file` has a viewBox, and width and height in points.
    """
    label = html.escape(says, quote=True)
    element = file[file.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{label}" style="{_FITS}" ', 1)
    size = re.compile(r'(?<=\s)width="([\d.]+)pt"\s+height="[\d.]+pt"')
    return size.sub(lambda found: 'width="100%"' if float(found[1]) > _PAGE else found[0], element, count=1)


def text_is_enough() -> bool:
    """While a notebook is graded, a picture is its text: drawing takes longer than all checks, for each of a class."""
    return being_graded() == "autograde"


def sentence(words: Mapping[str, Text], id: str, language: str, parameters: Mapping[str, object]) -> str:
    """The sentence `id` of `words` in `language`, ints among its parameters written as `grouped` does.

    Raises KeyError for an id that does not exist.
    """
    said = {name: grouped(value, language) if type(value) is int else value for name, value in parameters.items()}
    return words[id].format(**said).read(language)


def error_said(error: BaseException) -> str:
    """The kind of an error and its message, if it has one, on one line."""
    return ": ".join(part for part in (type(error).__name__, " ".join(str(error).split())) if part)


def shape(sizes: Sequence[int]) -> str:
    """A shape as torch writes it."""
    return str(tuple(int(size) for size in sizes))
