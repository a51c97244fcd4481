"""The site's map for search engines: https://www.sitemaps.org/protocol.html."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from ..language import LANGUAGES

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'


def sitemap(address: str, names: Iterable[str]) -> str:
    """Return `sitemap.xml` for the pages `names` in each language. `address` is the site's, such as https://host/site."""
    base = escape(address.rstrip("/"))
    rows = [
        f"<url><loc>{base}/{language}/{escape(name)}.html</loc></url>\n" for name in names for language in LANGUAGES
    ]
    return f"{_HEAD}{''.join(rows)}</urlset>\n"
