"""Markup that tries to act for whoever opens a page, made from a grammar."""

from __future__ import annotations

import html
import itertools
import random
from collections.abc import Iterator

ACT = "window.acted=1"
URLS = [
    f"javascript:{ACT}", f"JaVaScRiPt:{ACT}", f"java\tscript:{ACT}", f" javascript:{ACT}", f"vbscript:{ACT}",
    f"data:text/html,<script>top.{ACT}</script>", "data:text/html;base64,PHNjcmlwdD50b3AuYWN0ZWQ9MTwvc2NyaXB0Pg==",
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='top.acted=1'/>",
    "http://evil.test/picture.png", "//evil.test/x", "\\\\evil.test\\x", "https:evil.test/x", "evil.html", "./evil.svg",
    "/evil.xml", "..%2fevil.html", "?evil", "blob:http://instructor.test/1", "attachment:evil.html", "filesystem:x",
]  # fmt: skip
LINKS = ["href", "src", "srcset", "action", "formaction", "xlink:href", "background", "poster", "data", "ping", "cite"]
HANDLERS = [
    "onerror",
    "onload",
    "onclick",
    "onmouseover",
    "onfocus",
    "onbegin",
    "ontoggle",
    "onanimationstart",
    "oncut",
]
PLAIN = [
    'class="modal-backdrop in"', 'class="modal fade in"', 'id="comment-0"', 'id="nbgrader"', "autofocus",
    'style="position:fixed;inset:0;z-index:99999"', 'style="background:url(http://evil.test/b.png)"', "contenteditable",
    'http-equiv="refresh" content="0;url=http://evil.test/"', 'is="x-y"', 'target="_top"', 'data-toggle="modal"',
    'srcdoc="&lt;script&gt;top.acted=1&lt;/script&gt;"', 'rel="stylesheet"', 'type="image"', 'align="x;position:fixed"',
]  # fmt: skip
ELEMENTS = [
    "a", "applet", "area", "audio", "base", "body", "button", "details", "div", "embed", "font", "form", "frame", "h1",
    "iframe", "image", "img", "input", "isindex", "link", "marquee", "math", "meta", "object", "p", "picture", "portal",
    "script", "select", "source", "span", "style", "svg", "table", "td", "template", "textarea", "video", "xmp",
]  # fmt: skip
ENCODINGS = [
    lambda text: text,
    str.upper,
    lambda text: text.replace("javascript", "&#106;avascript"),
    lambda text: "".join(f"&#x{ord(c):x};" for c in text),
    lambda text: text.replace(":", "&colon;"),
    lambda text: text.replace("a", "%61", 1),
]
MARKDOWN = [
    "[x]({url})", "[x](<{url}>)", "![x]({url})", "![x](<{url}>)", "[x][1]\n\n[1]: {url}", "![x][1]\n\n[1]: <{url}>",
    "<{url}>", "[![x]({url})]({url})", "# [x]({url})", "- [x]({url})", "> ![x]({url} 't')",
    "```{url}\nx\n```", "$\\href{{{url}}}{{x}}$", "$$\\class{{modal-backdrop}}{{\\href{{{url}}}{{x}}}}$$",
    "\\begin{{equation}}\\style{{position:fixed}}{{x}}\\href{{{url}}}{{x}}\\end{{equation}}", "[x]: {url}\n\n[x]",
]  # fmt: skip
BEFORE = [
    "",
    "",
    "",
    "text ",
    "<!--",
    "`",
    "```\nx\n```\n",
    "<p title='",
    "\\",
    "<textarea>",
    "<noscript>",
    "| a |\n|---|\n| ",
]


def acting_markup(count: int, seed: int = 0) -> list[str]:
    """Return `count` different pieces of Markdown or HTML."""
    rng = random.Random(seed)
    made = dict.fromkeys(itertools.islice(_markdown(), 0, None, 3))
    while len(made) < count:
        made[_element(rng)] = None
    texts = list(made)
    rng.shuffle(texts)
    return texts[:count]


def _markdown() -> Iterator[str]:
    for form, url in itertools.product(MARKDOWN, URLS):
        for encode in ENCODINGS[:3]:
            yield form.format(url=encode(url))


def _element(rng: random.Random) -> str:
    """Return an element with up to four attributes, in or after something that a parser may take for text."""
    parts = [rng.choice(PLAIN) for _ in range(rng.randrange(3))]
    if rng.random() < 0.7:
        parts.append(f'{rng.choice(LINKS)}="{html.escape(rng.choice(ENCODINGS)(rng.choice(URLS)), quote=True)}"')
    if rng.random() < 0.5:
        parts.append(f"{rng.choice(HANDLERS)}={rng.choice(['', chr(34)])}{ACT}{chr(34) if rng.random() < 0.5 else ''}")
    name = rng.choice(ELEMENTS)
    name = rng.choice([name, name.upper(), f"{name}/", f"{name}\n", f"svg:{name}"])
    inside = rng.choice(["", ACT, f"<script>{ACT}</script>", "<img src=x onerror=window.acted=1>", "&nbsp;"])
    text = f"<{name} {' '.join(parts)}>{inside}</{name.strip('/').strip()}>"
    before = rng.choice(
        ["", "", "", "text ", "<!--", "`", "```\nx\n```\n", "<p title='", "\\", "<textarea>", "<noscript>"]
    )
    return f"{before}{text}{rng.choice(['', '-->', '`', chr(39) + '>'])}"
