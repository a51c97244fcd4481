"""Code, links and folds of our sentences, as HTML and plain text."""

from __future__ import annotations

import html
import re

_LINK = re.compile(r"\[((?:[^\[\]`]|`[^\[\]`]*`)+)\]\((\w+\.ipynb(?:#cell-id=[\w-]+)?)\)")


def inline(text: str) -> str:
    """Return `text` as escaped HTML with code and links.

    Code stands between backticks. A link to a notebook beside this one is [title](name.ipynb), or to a cell in it
    [title](name.ipynb#cell-id=ID). Because all else is escaped, text from an answer cannot become markup.
    """
    linked = _LINK.sub(r'<a href="\2">\1</a>', html.escape(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", linked)


def unlinked(text: str) -> str:
    """Return `text` for a terminal: a link is only its title."""
    return _LINK.sub(r"\1", text)


def folded(summary: str, text: str) -> str:
    """Return Markdown that shows `text` after a click on `summary`."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text.strip()}\n\n</details>"


def unfolded(text: str) -> str:
    """Return Markdown for a terminal, in which nothing opens: the inside of a fold stands below its summary."""
    return re.sub(r"<details>\n<summary>(.*?)</summary>\n\n(.*?)\n\n</details>", r"\1:\n\n\2", text, flags=re.S)


def aside(inside: str) -> str:
    """Return `inside` (HTML) in a box with a blue left border. Messages that are no cards use this box."""
    return div(
        inside, "border-left:4px solid rgb(25,118,210);padding:.3em 1em;margin:.3em 0;line-height:1.5;max-width:52em"
    )


def div(inside: str, style: str = "", lang: str = "") -> str:
    attributes = "".join(f' {k}="{v}"' for k, v in (("style", style), ("lang", lang)) if v)
    return f"<div{attributes}>{inside}</div>"
