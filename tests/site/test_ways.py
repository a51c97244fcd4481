"""Ways through the pages: the map of lessons, the contents of a page."""

from __future__ import annotations

import re

from autograder.site.headings import Heading, listed_headings
from autograder.site.lesson_map import lesson_map
from autograder.site.pages import Page


def test_the_map_leads_to_each_lesson_below_those_that_it_needs() -> None:
    pages = [
        Page(f"0{number}_x", "en", f"Lesson {number}", "", [], [], needs=needs)
        for number, needs in enumerate(["", "00", "00, 01", "02"])
    ]
    drawn = lesson_map(pages)
    assert re.findall(r'xlink:href="(\w+)\.html"', drawn) == [page.name for page in pages]
    heights = [float(y) for y in re.findall(r'<text [^>]*y="([-\d.]+)"[^>]*>0\d', drawn)]
    assert sorted(heights) == heights
    assert drawn.count('class="edge"') == 3  # 02 needs 00 through 01


def test_the_contents_of_a_page_hold_no_link_in_a_link() -> None:
    (listed,) = listed_headings(
        [Heading(2, "leaf", '<a href="01.html">Leaf</a> <code>grad</code>'), Heading(1, "top", "Top")]
    )
    assert listed == Heading(2, "leaf", "Leaf <code>grad</code>")
