"""Formulas as MathML, which browsers show without scripts and without a network."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element
from nbconvert.filters.markdown_mistune import IPythonRenderer

_LONGEST = 2_000  # characters of a formula
# As the library writes them.
_PUNCTUATION = {f"&#x{ord(sign):05X};" for sign in ".,;:!?"}
_SIGNS, _CLOSING = {f"&#x{ord(sign):05X};" for sign in "−+"}, {f"&#x{ord(sign):05X};" for sign in ")]}|!"}
_KEPT = {
    "display",
    "width",
    "displaystyle",
    "mathvariant",
    "stretchy",
    "fence",
    "form",
    "lspace",
    "rspace",
    "columnalign",
}


def to_mathml(tex: str, *, block: bool) -> str:
    """Return a formula in LaTeX as MathML. `block` tells whether it stands in a line of its own.

    A formula that cannot be converted is returned as code. Attributes that could lead anywhere, such as links, are
    dropped: students write formulas, too.
    """
    try:
        if len(tex) > _LONGEST:
            raise ValueError("too long")
        element = convert_to_element(tex, display="block" if block else "inline")
    except Exception:  # the library raises many kinds of errors for invalid LaTeX
        return f"<code>{escape(tex)}</code>"
    for each in element.iter():
        for name in [name for name in each.attrib if name not in _KEPT]:
            del each.attrib[name]
    for each in element.iter("mrow"):
        _set_spaces(each)
    # The library puts character references into the text of elements: `&#x02202;`.
    return ElementTree.tostring(element, encoding="unicode").replace("&amp;#x", "&#x")


def _set_spaces(row: ElementTree.Element) -> None:
    """Take away the spaces of browsers around punctuation in braces and behind a sign of a number.

    A name such as `sin` gets the space that the library leaves out.
    """
    before = None
    for part in list(row):
        named = before is not None and before.tag == "mi" and re.fullmatch(r"[a-z]{2,}", before.text or "")
        if named and part.tag not in ("mo", "mspace"):
            row.insert([*row].index(part), ElementTree.Element("mspace", width="0.17em"))
        only = part[0] if part.tag == "mrow" and len(part) == 1 else None
        if only is not None and only.tag == "mo" and only.text in _PUNCTUATION:
            only.tag = "mtext"
        follows_sign = before is not None and before.tag == "mo" and before.text not in _CLOSING
        if part.tag == "mo" and part.text in _SIGNS and follows_sign:
            part.set("form", "prefix")
        before = part


class MathRenderer(IPythonRenderer):
    """nbconvert's renderer of Markdown, with formulas as MathML."""

    def block_math(self, body: str) -> str:
        return to_mathml(body, block=True)

    def inline_math(self, body: str) -> str:
        return to_mathml(body, block=False)

    def latex_environment(self, name: str, body: str) -> str:
        return to_mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", block=True)


def render_markdown(source: str, **options: Any) -> str:
    """Return Markdown as HTML, with formulas as MathML. `options` are those of nbconvert's renderer."""
    from nbconvert.filters.markdown_mistune import MarkdownWithMath

    html: str = MarkdownWithMath(renderer=MathRenderer(escape=False, **options)).render(source)
    return html
