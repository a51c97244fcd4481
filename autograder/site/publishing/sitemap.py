"""The site's map for search engines: https://www.sitemaps.org/protocol.html."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from ...language import LANGUAGES

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)


def sitemap(address: str, names: Iterable[str]) -> str:
    """Return `sitemap.xml` for the pages `names` in each language. `address` is the site's, such as https://host/site."""
    return f"{_HEAD}{''.join(_row(escape(address), escape(name)) for name in names)}</urlset>\n"


def _row(base: str, name: str) -> str:
    """Return a page in each language, with links to the others."""
    pages = {language: f"{base}/{language}/{name}.html" for language in LANGUAGES}
    others = "".join(
        f'<xhtml:link rel="alternate" hreflang="{language}" href="{page}"/>' for language, page in pages.items()
    )
    return "".join(f"<url><loc>{page}</loc>{others}</url>\n" for page in pages.values())
