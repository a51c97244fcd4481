"""The page on what was done, in a real browser."""

import pytest

from autograder import cli
from support.browser import barriers, browser_page, picture
from support.check import check, raises, right


@pytest.mark.parametrize(("scheme", "language", "width"), [("light", "en", 1280), ("dark", "ru", 390)])
def test_everybody_can_read_the_page_on_what_was_done(scheme, language, width, own_home, tmp_path):
    check(raises)
    check(right)
    file = tmp_path / "page.html"
    assert cli.main(["progress", "--page", str(file), "--language", language]) == 0
    asked = []
    with browser_page(scheme) as page:
        page.set_viewport_size({"width": width, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        picture(page, f"{language}-record")
        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [each for each in asked if not each.startswith("file:")] == []
