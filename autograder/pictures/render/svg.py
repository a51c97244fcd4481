"""SVG files as elements of an HTML document."""

from __future__ import annotations

import html
import re

_PAGE = 600  # points, which are 800 CSS pixels: the width of a notebook's output on a small screen
# JupyterLab and its exports show the file as an image without a maximum width. A page with the element itself may have
# no rule for it, either. With this style, an image wider than the page shrinks instead of being cut off.
_FITS = "max-width:100%;height:auto"


def svg_element(file: str, says: str) -> str:
    """Return the `<svg>` element of an SVG file, made no wider than the notebook's output.

    `says` is a description for screen readers. The file must have a viewBox, and width and height in points.
    """
    label = html.escape(says, quote=True)
    element = file[file.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{label}" style="{_FITS}" ', 1)
    size = re.compile(r'(?<=\s)width="([\d.]+)pt"\s+height="[\d.]+pt"')
    return size.sub(lambda found: 'width="100%"' if float(found[1]) > _PAGE else found[0], element, count=1)
