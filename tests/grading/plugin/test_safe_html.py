"""Students' text and outputs, which never become markup that a browser runs."""

import html
import re

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from traitlets.config import Config

from autograder.grading.plugin.safe_html import Harmless, is_plain, without_drawings
from autograder.grading.submission.limited_outputs import safe_outputs
from autograder.lessons.collection import COURSE

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<a href="javascript:alert(1)">x</a>',
    "[x](javascript:alert(1))",
    "[x](JaVaScript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](&#106;avascript:alert(1))",
    "![x](data:text/html;base64,PHNjcmlwdD4=)",
    "<svg onload=alert(1)>",
    '<div style="position:fixed;inset:0">',
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "text <!-- --> text",
    "```\ncode\n```\n<script>alert(1)</script>",
]

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="


def page(*cells) -> str:
    config = Config({"HTMLExporter": {"preprocessors": [Harmless], "template_name": "basic"}})
    return HTMLExporter(config=config).from_notebook_node(new_notebook(cells=list(cells)))[0]


@pytest.mark.parametrize("text", ATTACKS)
def test_markup_shows_as_it_was_typed(text):
    shown = page(new_markdown_cell(text))
    tags = (
        "<script",
        "<img",
        "<svg",
        "<iframe",
        "<!--",
        '<a href="javascript',
        '<a href="data',
        '<div style="position',
    )
    assert not any(tag in shown.lower() for tag in tags)
    assert re.sub(r"\W", "", html.unescape(re.sub(r"<[^<>]*>", "", shown))) == re.sub(r"\W", "", text)


def test_plain_markdown_is_left_alone():
    texts = ["$a<b$", "a `<script>` in code", "| a |\n|:-:|\n| b |", "[site](https://pytorch.org)", "[here](#there)"]
    assert all(is_plain(text) for text in texts)
    for path in sorted(COURSE.notebooks.glob("??/*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        texts = [without_drawings(cell.source) for cell in notebook.cells if cell.cell_type == "markdown"]
        assert all(map(is_plain, texts)), path


@pytest.mark.parametrize("says", ["a tangent", "[x](javascript:alert(1))", "&lt;script&gt;alert(1)&lt;/script&gt;"])
def test_a_drawing_in_a_text_shows_as_its_description(says):
    shown = page(new_markdown_cell(f'<img alt="{says}" style="width:9px" src="data:image/svg+xml;base64,PA==">'))
    assert not any(tag in shown for tag in ("<img", "<script", '<a href="java'))
    assert says.split("(")[0] in shown


SLOW_TO_RENDER = {
    "beginnings of formulas": "\\begin{a}" * 2_000,
    "brackets of formulas": "\\\\[" * 5_000,
    "a long text": "_a_" * 10_000,
}


@pytest.mark.parametrize("text", SLOW_TO_RENDER.values(), ids=SLOW_TO_RENDER)
def test_text_that_a_renderer_takes_long_for_shows_as_it_was_typed(text):
    assert "<pre>" in (shown := page(new_markdown_cell(text)))
    assert text in html.unescape(re.sub(r"<[^<>]*>", "", shown))


def test_many_texts_show_as_they_were_typed_in_the_end():
    text = "*a* " * 4_000
    shown = page(*(new_markdown_cell(text) for _ in range(15)))
    assert shown.count("<em>") == 12 * 4_000
    assert shown.count(text.strip()) == 3


SLOW_TO_CLEAN = {
    "attributes": "<p " + " ".join(f"a{i}" for i in range(20_000)) + ">",
    "an open comment": "<!--" + "-" * 10**6,
    "tags": "<b><p>" * 10_000,
}


@pytest.mark.parametrize("html", SLOW_TO_CLEAN.values(), ids=SLOW_TO_CLEAN)
def test_html_that_a_cleaner_takes_long_for_is_left_out(html):
    alone, with_text = (
        {"output_type": "display_data", "data": {"text/html": html, **more}} for more in ({}, {"text/plain": "plain"})
    )
    assert [output.get("ename") for output in safe_outputs([alone], 1)] == ["TooLong"]
    assert [output.data for output in safe_outputs([with_text], 1)] == [{"text/plain": "plain"}]


def test_html_of_a_whole_notebook_is_bounded():
    pages = [{"output_type": "display_data", "data": {"text/html": f"<p {i} {'a ' * 20_000}>b</p>"}} for i in range(40)]
    kept = safe_outputs(pages, 1)
    assert [output.output_type for output in kept] == ["display_data"] * 12 + ["error"]
    assert {output.data["text/html"] for output in kept[:-1]} == {"<p>b</p>"}


def test_a_picture_is_shown_instead_of_its_page():
    """The page of `draw` is an SVG, which is no bitmap: a page without it would be empty."""
    drawn = {"text/html": "<img src='data:image/svg+xml;base64,PA=='>", "image/png": PICTURE, "text/plain": "graph"}
    (kept,) = safe_outputs([{"output_type": "display_data", "data": drawn}], 1)
    assert set(kept.data) == {"image/png", "text/plain"}


def test_outputs_keep_text_and_pictures_and_lose_scripts():
    outputs = [
        new_output("display_data", data={"text/html": "<b>bold</b><script>alert(1)</script>", "text/plain": "plain"}),
        new_output("display_data", data={"image/svg+xml": "<svg onload='alert(2)'/>", "text/plain": "drawn"}),
        new_output("display_data", data={"application/javascript": "alert(3)", "text/plain": "script"}),
        new_output("display_data", data={"image/png": PICTURE, "text/plain": "picture"}),
        new_output("stream", name="stdout", text="<AddBackward0>"),
    ]
    shown = page(new_code_cell("1", outputs=outputs))
    assert "<b>bold</b>" in shown
    assert "<script>alert" not in shown
    assert "onload" not in shown
    assert "alert(3)" not in shown
    assert f"data:image/png;base64,{PICTURE}" in shown
    assert "&lt;AddBackward0&gt;" in shown
