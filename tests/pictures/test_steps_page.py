"""The page of `steps` tells the same as the text."""

from __future__ import annotations

import base64
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from autograder.language import LANGUAGES
from autograder.pictures.steps import SHOWN
from autograder.session import SESSION
from support.graphs import AWKWARD
from support.steps import shown, squeezed, stepped, written


class Page(HTMLParser):
    """A page as read without scripts; every element must be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.opened: list[bool] = []
        self.pictures: list[ElementTree.Element] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "details":
            self.opened.append("open" in dict(attrs))
        if tag == "img":
            kind, _, data = (dict(attrs)["src"] or "").partition("base64,")
            assert kind == "data:image/svg+xml;"
            self.pictures.append(ElementTree.fromstring(base64.b64decode(data)))
        else:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open:
            self.words.append(data)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["names_with_markup", "hooks_and_retained_gradients", "outputs_of_unbind", "sparse"])
def test_page_and_text_tell_the_same(name: str, language: str) -> None:
    SESSION.language = language
    made = AWKWARD[name]()
    result = stepped(made)
    html, text = shown(result)
    page = Page(html)
    words = squeezed("".join(page.words))
    for line in text.splitlines():
        assert squeezed(line) in words
    assert page.opened == [True] + [False] * (len(result.run.frames) - 1)
    assert len(page.pictures) == len(result.run.frames)
    assert page.tags <= {"div", "p", "strong", "details", "summary", "ul", "li", "img", "script"}
    for frame, picture in zip(result.run.frames, page.pictures):
        name = result.graph.nodes[frame.node].name
        assert f"▶{name}" in written(picture)
        assert written(picture).count("▶") == 1
        for sent in frame.sent:
            assert squeezed(sent.after.said) in written(picture)
        if frame.landed and not frame.landed.changed:
            assert f".grad={squeezed(frame.landed.after.said)}" in written(picture)
    last = written(page.pictures[-1])
    assert "▷" not in last


def test_a_freed_graph_says_where_backward_would_stop() -> None:
    result = stepped(AWKWARD["after_backward"]())
    text = str(result)
    assert "at MulBackward0: RuntimeError: Trying to backward through the graph a second time" in text
    assert "retain_graph=True would have kept it" in text
    *before, last = Page(shown(result)[0]).pictures
    assert "✗MulBackward0" in written(last)
    assert not any("✗" in written(picture) for picture in before)


@pytest.mark.parametrize("name", ["recurrent", "thousands_of_nodes_in_a_row", "a_thicket"])
def test_of_a_large_graph_the_first_steps_are_shown(name: str) -> None:
    result = stepped(AWKWARD[name]())
    html, text = shown(result)
    page = Page(html)
    assert len(result.run.frames) > 400
    assert len(page.opened) == len(page.pictures) == SHOWN
    assert f"these are the first {SHOWN}" in text
    landed = [frame.landed for frame in result.run.frames if frame.landed]
    assert landed
    assert all(landing.after.said in text for landing in landed)
    assert len(html) < 1_000_000
