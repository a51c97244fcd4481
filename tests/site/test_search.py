"""Search: a pasted message finds its page first, everyday words find the lesson; on the whole site, in Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from autograder.explained.table import EXPLANATIONS
from autograder.language import LANGUAGES
from autograder.site import build
from autograder.site.errors.pages import page_name
from autograder.site.errors.search import NAME
from support.browser import browser_page, served

pytestmark = pytest.mark.long(60)

# Written by somebody who had seen neither the search nor the words behind it.
QUERIES = json.loads((Path(__file__).parent / "queries.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site with the text of all lessons; the outputs of their cells are not needed here."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "executed", lambda *given: {})
        build.build_site(folder, tmp_path_factory.mktemp("cache"))
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with browser_page() as page:
        yield page


def as_pasted(text: str) -> dict[str, str]:
    """A message as people paste it."""
    words = text.split()
    third = len(words) // 3
    return {
        "whole": f"RuntimeError: {text}",
        "other numbers": re.sub(r"\d+", lambda found: str(int(found[0]) + 7), text),
        "in a traceback": f"  File train.py, line 12, in step, SomeError: of mine ValueError: {text}",
        "without its end": " ".join(words[: len(words) - third]),
        "without its beginning": " ".join(words[third:]),
    }


def plain(text: str) -> str:
    return " ".join(re.sub(r"\d+", "0", text).lower().split())


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pasted_message_finds_its_page_first(server: str, browser: Page, language: str) -> None:
    browser.goto(f"{server}/{language}/search.html")
    texts = {each["page"]: each["text"] for each in browser.evaluate(f"fetch('{NAME}').then(file => file.json())")}
    assert len(texts) == len(EXPLANATIONS)
    asked = [(page, how, pasted) for page, text in texts.items() for how, pasted in as_pasted(text).items()]
    found = browser.evaluate(
        """async ([file, asked]) => {
            const errors = await (await fetch(file)).json();
            return asked.map(([page, how, pasted]) => errorsLike(errors, pasted).slice(0, 3).map(each => each.page));
        }""",
        [NAME, asked],
    )
    pattern = {f"{page_name(each)}.html": each.pattern for each in EXPLANATIONS}
    missed = [
        (page, how, got)
        for (page, how, pasted), got in zip(asked, found, strict=True)
        if not any(
            each == page
            or pattern[each] == pattern[page]
            or texts[each] == texts[page]
            or plain(pasted) in plain(texts[each])
            for each in got[: 3 if how.startswith("without") else 1]  # half a message may be that of another error, too
        )
    ]
    assert missed == []


@pytest.mark.nightly(twin="tests/site/test_search.py::test_a_pasted_message_finds_its_page_first")
def test_everyday_words_find_the_lesson(server: str, browser: Page) -> None:
    missed = {}
    for asked in QUERIES:
        browser.goto(f"{server}/{asked['language']}/search.html?q={quote(asked['query'])}")
        browser.locator("#found li").first.wait_for()
        found = browser.locator("#found a").evaluate_all("links => links.slice(0, 3).map(link => link.href)")
        names = [re.sub(r".*/|\.html$", "", address) for address in found]
        if not set(names) & set(asked["pages"]):
            missed[asked["query"]] = names
    assert len(QUERIES) == 60
    assert missed == {}


@pytest.mark.nightly(twin="tests/site/test_search.py::test_a_pasted_message_finds_its_page_first")
def test_a_page_of_one_of_several_causes_is_named_by_its_cause(server: str, browser: Page) -> None:
    browser.goto(f"{server}/en/search.html?q=element%200%20of%20tensors%20does%20not%20require%20grad")
    browser.locator("#found li").first.wait_for()
    titles = browser.locator("#found a").evaluate_all("links => links.slice(0, 8).map(link => link.textContent)")
    assert len(set(titles)) == 8
    assert not any(title.startswith("RuntimeError") for title in titles)
    browser.locator("#found a").first.click()
    heading = browser.locator("h1")
    assert heading.inner_text().startswith(titles[0].split(" — ")[0])
