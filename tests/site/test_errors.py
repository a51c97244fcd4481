"""Pages of explained errors: titles, cures that run, pictures of graphs, search; looked at in a real Chromium."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page

from autograder.explained.table import EXPLANATIONS
from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE
from autograder.site.errors.cures import cures
from autograder.site.errors.imports import with_imports
from autograder.site.errors.kept import error_runs
from autograder.site.errors.pages import error_pages, page_name
from autograder.site.errors.runs import ErrorRun
from autograder.site.errors.titles import error_message
from autograder.site.pages import TEMPLATES, lesson_page, search_page, style
from autograder.site.pages import Page as SitePage
from support.browser import barriers, browser_page, picture, served

pytestmark = pytest.mark.long(15)

BY_NAME = {each.name: each for each in EXPLANATIONS}
# One of each kind of page: a picture, one text of two causes, a warning, a program on "meta", none, no cure either.
KINDS = ("saved_value_overwritten", "no_graph", "misspelt_flag", "anomaly_traceback", "mixture_of_devices")
KINDS += ("no_gpu_here", "gpu_after_a_fork")
SEARCHED = random.Random(41).sample([each.name for each in EXPLANATIONS if each.program and not each.met], 20)
SHOWN = [each for each in EXPLANATIONS if each.name in {*KINDS, *SEARCHED}]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ErrorRun]:
    return error_runs(SHOWN, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def pages(runs: dict[str, ErrorRun]) -> dict[str, dict[str, SitePage]]:
    """Pages by language and name."""
    lessons = COURSE.read()
    return {
        language: {each.name: each for each in error_pages(SHOWN, runs, lessons, language)} for language in LANGUAGES
    }


@pytest.fixture(scope="module")
def site(pages: dict[str, dict[str, SitePage]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "site.css").write_text(style(), encoding="utf-8")
    for script in ("site.js", "search.js"):
        (folder / script).write_bytes((TEMPLATES / script).read_bytes())
    for language, made in pages.items():
        (folder / language).mkdir()
        (folder / language / "search.html").write_text(search_page(language), encoding="utf-8")
        for name, page in made.items():
            (folder / language / f"{name}.html").write_text(lesson_page(page, None, None), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "pagefind_bin", "--site", str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with browser_page() as page:
        yield page


def test_an_error_has_its_message_as_title_and_its_traceback(pages: dict[str, dict[str, SitePage]]) -> None:
    for language, made in pages.items():
        titles = set()
        for explanation in SHOWN:
            html = lesson_page(made[page_name(explanation)], None, None)
            (title,) = re.findall("<title>(.*?) · ", html)
            assert explanation.pattern.search(unescape(title).rstrip("…")) or "…" in title, title
            titles.add(title)
            shown = unescape(re.sub(r"<[^>]*>", "", html))
            assert "site-packages" not in shown.replace(".../site-packages", "")
            assert f"../{'ru' if language == 'en' else 'en'}/{page_name(explanation)}.html" in html
            assert f'href="{page_name(explanation)}.html"' in lesson_page(made["errors"], None, None)
            if explanation.program:
                assert explanation.program.splitlines()[-1] in shown
                assert re.search(r'File "program.py", line \d|^\S+\.py:\d+: \w*Warning', shown, re.M)
        assert len(titles) == len(SHOWN)  # also where torch's words are the same


def test_a_description_is_the_cause(pages: dict[str, dict[str, SitePage]]) -> None:
    html = lesson_page(pages["en"]["error-misspelt-flag"], None, None)
    (about,) = re.findall('<meta name="description" content="(.*?)">', html)
    assert unescape(about).startswith("The flag is misspelt: the assignment made a new attribute")


def test_a_picture_shows_the_graph_where_a_tensor_at_the_line_has_one(runs: dict[str, ErrorRun]) -> None:
    drawn = runs["saved_value_overwritten"].pictures
    assert re.search('alt="[^"]*backward\\(\\) will refuse at ExpBackward0', drawn["en"])
    assert re.search('alt="[^"]*[а-я]', drawn["ru"])
    assert runs["misspelt_flag"].pictures == {}


def test_a_copy_of_the_cure_is_the_mended_program(site: Path, browser: Page) -> None:
    browser.goto((site / "en/error-saved-value-overwritten.html").as_uri())
    copied = browser.evaluate(
        """() => {
            getSelection().selectAllChildren(document.querySelector(".diff"));
            return getSelection().toString();
        }"""
    )
    assert copied.splitlines() == with_imports(cures()["saved_value_overwritten"]).splitlines()


@pytest.mark.parametrize(
    ("language", "scheme", "width", "names"),
    [("en", "light", 1440, KINDS[::2]), ("ru", "dark", 390, (KINDS[0], *KINDS[1::2], ""))],
)
def test_a_page_of_each_kind_has_no_barrier(
    site: Path, browser: Page, language: str, scheme: Literal["light", "dark"], width: int, names: tuple[str, ...]
) -> None:
    browser.emulate_media(color_scheme=scheme)
    browser.set_viewport_size({"width": width, "height": 900})
    for name in names:
        file = page_name(BY_NAME[name]) if name else "errors"
        browser.goto((site / language / f"{file}.html").as_uri())
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        picture(browser, f"{language}-{file}-{scheme}")
        assert barriers(browser) == [], name


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


def test_search_finds_an_error_by_five_of_its_words(server: str, runs: dict[str, ErrorRun], browser: Page) -> None:
    messages = {name: error_message(BY_NAME[name], runs) for name in SEARCHED}
    browser.goto(f"{server}/en/search.html")
    found = browser.evaluate(
        """async queries => {
            const pagefind = await import("/pagefind/pagefind.js");
            const first = async query => (await pagefind.search(query)).results.slice(0, 3);
            const title = async result => (await result.data()).meta.title;
            return Promise.all(queries.map(async query => Promise.all((await first(query)).map(title))));
        }""",
        [" ".join(_five_words(text)) for text in messages.values()],
    )
    missed = {
        name: titles
        for name, titles in zip(SEARCHED, found)
        if not any(title.endswith(messages[name]) for title in titles)  # a cause may stand before the message
    }
    assert missed == {}


def _five_words(text: str) -> list[str]:
    known = dict.fromkeys(re.findall(r"[A-Za-z_]{2,}", text.partition(":")[2]))
    return random.Random(text).sample([*known], min(5, len(known)))


def test_search_finds_a_pasted_message_with_names_of_ones_own(server: str, browser: Page) -> None:
    pasted = (
        "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.cuda.FloatTensor [64, 10]], which is output 0 of AddmmBackward0, is at version 2; expected version 1"
    )
    browser.goto(f"{server}/ru/search.html")
    browser.get_by_role("searchbox").fill(pasted)
    browser.keyboard.press("Enter")
    found = browser.locator("#found a").first
    found.wait_for()
    assert found.inner_text().startswith(pasted[:110])


def test_search_without_a_server_says_what_to_do(site: Path, browser: Page) -> None:
    browser.goto((site / "en/search.html").as_uri())
    assert "python -m http.server" in browser.get_by_role("status").inner_text()
