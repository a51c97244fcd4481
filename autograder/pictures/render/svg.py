"""SVG files as elements of a page."""

from __future__ import annotations

import html
import re

_PAGE = 600  # points, 800 pixels: the width of a notebook's output on a small screen
# JupyterLab and its exports show the file as an image without a maximum width. A page with the element itself may have
# no rule for it, either. With this style, an image wider than the page shrinks instead of being cut off.
_FITS = "max-width:100%;height:auto"


def svg_element(file: str, says: str) -> str:
    """Return the `<svg>` of `file`, no wider than its page, with `says` for screen readers.

    `file` has a viewBox, and width and height in points.
    """
    label = html.escape(says, quote=True)
    element = file[file.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{label}" style="{_FITS}" ', 1)
    size = re.compile(r'(?<=\s)width="([\d.]+)pt"\s+height="[\d.]+pt"')
    return size.sub(lambda found: 'width="100%"' if float(found[1]) > _PAGE else found[0], element, count=1)
