"""SVG files as images of an HTML document."""

from __future__ import annotations

import base64
import html
import re

_SMALLEST = 11  # CSS pixels: nobody reads smaller letters
_PIXELS = {"pt": 4 / 3, "px": 1.0, "": 1.0}  # CSS pixels of a unit of length
_SIZE = re.compile(r'\b(width|height)="([\d.]+)(pt|px|)"')
_LETTERS = re.compile(r'\bfont-size[=:]\s*"?([\d.]+)|\bfont:\s*(?:[a-z]+\s+)*([\d.]+)px')
# A click puts a copy of the picture over the whole window, from which another click or Escape leads back. The attribute
# lmSuppressShortcuts keeps the Enter key from JupyterLab's own shortcuts.
_OPENED = "width:100vw;height:100vh;max-width:none;max-height:none;border:0;background:#f5f6f8;cursor:zoom-out"
_OPEN = (
    "const d=document.createElement('dialog'),i=this.querySelector('img').cloneNode();"
    f"d.style.cssText='box-sizing:border-box;{_OPENED}';i.style.maxHeight='none';d.append(i);"
    "d.onclick=()=>d.close();d.onclose=()=>d.remove();document.body.append(d);d.showModal();"
    "d.scrollLeft=(d.scrollWidth-d.clientWidth)/2"
)
_KEYS = "if(event.key==='Enter'){event.preventDefault();this.onclick()}"


def readable_image(file: str, says: str, style: str = "") -> str:
    """Return an SVG file as an `<img>` element that shrinks with the page, in a `<div>`.

    It shrinks only as far as its letters stay 11 CSS pixels high. Then the `<div>` scrolls. A click on it, or the Enter
    key, opens the picture over the whole window. Where no scripts run, as in a notebook that Jupyter does not trust, it
    only scrolls.
    """
    width, height = _least_size(file)
    look = f"max-width:100%;height:auto;min-width:{width}px;min-height:{height}px;{style}"
    around = f'style="overflow-x:auto;max-width:100%;cursor:zoom-in" onclick="{_OPEN}" onkeydown="{_KEYS}"'
    return f'<div tabindex="0" data-lm-suppress-shortcuts="true" {around}>{image(file, says, look)}</div>'


def _least_size(file: str) -> tuple[int, int]:
    """Return the width and height in CSS pixels at which the smallest letters of an SVG file can just be read."""
    head = file[file.index("<svg") :].partition(">")[0]
    width, height = (float(value) * _PIXELS[unit] for _, value, unit in sorted(_SIZE.findall(head), reverse=True))
    unit = width / float(re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+)', head)[1])  # type: ignore[index]
    letters = min((float(one or other) * unit for one, other in _LETTERS.findall(file)), default=_SMALLEST)
    scale = min(1.0, _SMALLEST / letters)
    return round(width * scale), round(height * scale)


def image(file: str, says: str, style: str = "max-width:100%;height:auto") -> str:
    """Return an SVG file as an `<img>` element with a data URI, as a rule at most as wide as the page.

    Notebooks keep such an element even if Jupyter does not trust them, and show an SVG output without a description.
    `says` is that description, for screen readers. `style` are the CSS declarations.
    """
    data = base64.b64encode(file[file.index("<svg") :].encode()).decode()
    alt = html.escape(says, quote=True)
    return f'<img alt="{alt}" style="{style}" src="data:image/svg+xml;base64,{data}">'
