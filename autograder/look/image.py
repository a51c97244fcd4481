"""SVG files as images of an HTML document."""

from __future__ import annotations

import base64
import html


def scrolled_image(file: str, says: str) -> str:
    """Return an SVG file as an `<img>` element at its own size, in a `<div>` that scrolls.

    Letters of a wide graph would shrink to 3 pixels on a phone. The `<div>` can be reached by the keyboard.
    """
    return f'<div style="overflow-x:auto" tabindex="0">{image(file, says, "max-width:none;height:auto")}</div>'


def image(file: str, says: str, style: str = "max-width:100%;height:auto") -> str:
    """Return an SVG file as an `<img>` element with a data URI, as a rule at most as wide as the page.

    Notebooks keep such an element even if Jupyter does not trust them, and show an SVG output without a description.
    `says` is that description, for screen readers. `style` are the CSS declarations.
    """
    data = base64.b64encode(file[file.index("<svg") :].encode()).decode()
    alt = html.escape(says, quote=True)
    return f'<img alt="{alt}" style="{style}" src="data:image/svg+xml;base64,{data}">'
