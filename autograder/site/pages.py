"""Pages of the site, made with Jinja's templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pygments.formatters import HtmlFormatter

from ..language import LANGUAGES
from ..look import palette
from ..messages.site import WORDS
from .blocks import Block, inner, markdown
from .headings import Heading, listed_headings
from .publishing.addresses import NOWHERE, Addresses

TEMPLATES = Path(__file__).parent / "templates"
_LIGHT, _DARK = "default", "github-dark"  # styles of Pygments


@dataclass(frozen=True)
class Page:
    """A page in one language.

    `name` is its file name without `.html`. `title` and `about`, a line about it, are Markdown. `notebook` is the text
    of the notebook that it shows, or "". `picture` is the text of an SVG file, or "". `asked` is what people search for
    in their own words, and find here.
    """

    name: str
    language: str
    title: str
    about: str
    blocks: list[Block]
    headings: list[Heading]
    minutes: int = 0
    needs: str = ""
    notebook: str = ""
    picture: str = ""
    asked: Sequence[str] = ()

    @property
    def is_lesson(self) -> bool:
        return self.name[:2].isdigit()


@dataclass(frozen=True)
class Front:
    """The top of the first page: a film and a question.

    `film` is HTML, `question` a table of predictions, `code` the highlighted code that it is about. `lesson` is the
    page of both. Without a lesson that has a table there is none of them.
    """

    film: str
    code: str = ""
    question: Block | None = None
    lesson: Page | None = None


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["inline"] = lambda source: inner(markdown(source))
    made.filters["bare"] = plain_text
    return made


def plain_text(html: str) -> str:
    """Return HTML as plain text, for titles and descriptions."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


_ENVIRONMENT = _environment()


def lesson_page(page: Page, before: Page | None, after: Page | None, addresses: Addresses = NOWHERE) -> str:
    """Return a page as HTML, with links to the pages before and after it."""
    listed = listed_headings(page.headings)
    return _render("lesson.html", page.language, addresses, page=page, before=before, after=after, contents=listed)


def index_page(
    pages: list[Page],
    language: str,
    front: Front,
    drawn: str,
    paths: Sequence[tuple[str, str, str]],
    addresses: Addresses = NOWHERE,
) -> str:
    """Return the first page in one language, which lists `pages`.

    `drawn` is an SVG of the way through the lessons, `paths` are name, title and hours of each path.
    """
    return _render("index.html", language, addresses, pages=pages, front=front, map=drawn, paths=paths)


def search_page(language: str, addresses: Addresses = NOWHERE) -> str:
    """Return the page of search in one language."""
    return _render("search.html", language, addresses)


def door(addresses: Addresses = NOWHERE) -> str:
    """Return the page at the root of the site, which leads to both languages."""
    return _render("door.html", "en", addresses, texts=WORDS)


def sitemap(names: Sequence[str], addresses: Addresses) -> str:
    """Return the site's map for search engines. `names` are pages of each language."""
    return _render("sitemap.xml", "en", addresses, names=names)


def style() -> str:
    """Return the style sheet, with the colours of code in light and dark."""
    sheet = palette() + (TEMPLATES / "site.css").read_text(encoding="utf-8")
    light = HtmlFormatter(style=_LIGHT).get_style_defs(".highlight")
    dark = HtmlFormatter(style=_DARK).get_style_defs(".highlight")
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n{sheet}"


def _render(template: str, language: str, addresses: Addresses, **values: Any) -> str:
    words = {name: text.read(language) for name, text in WORDS.items()}
    other = next(each for each in LANGUAGES if each != language)
    common = {"language": language, "other": other, "languages": LANGUAGES, "words": words, "addresses": addresses}
    return _ENVIRONMENT.get_template(template).render(**common, **values)
